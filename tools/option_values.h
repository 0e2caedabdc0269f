/* SPDX-License-Identifier: MIT */
/* One option's value, from its text to its place in the program's struct. */
#ifndef OPTION_VALUES_H
#define OPTION_VALUES_H

#include "options.h"

/* returns false after a complaint */
bool option_store(const struct option_given *given, void *options);

#endif
