/* SPDX-License-Identifier: MIT */
/* The files of a run, before the run. */
#ifndef TRAIN_FILES_H
#define TRAIN_FILES_H

#include <stdbool.h>

#include "options.h"

/*
 * Whether what rank 0 is to write can be written, and what it will compare with can be read: hours later it would
 * be too late. The folder for checkpoints is made. returns false with a sentence on stderr
 */
bool train_files_check(const struct train_options *options);

#endif
