/* SPDX-License-Identifier: MIT */
/* Checks the files of a run before it begins. */
#ifndef TRAIN_FILES_H
#define TRAIN_FILES_H

#include <stdbool.h>

#include "train/step/options.h"

/*
 * Whether rank 0 can write the files that the run will write, and read those that it will compare
 * with. Makes the folder for checkpoints. returns false with a sentence on stderr
 */
bool train_files_check(const struct train_options *options);

#endif
