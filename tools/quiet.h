/* SPDX-License-Identifier: MIT */
/*
 * Standard output for one file alone, or for nothing: what is printed goes nowhere, and
 * descriptor 1 stays as it is, for the file and for ranks that are started.
 */
#ifndef TOOLS_QUIET_H
#define TOOLS_QUIET_H

#include <stdbool.h>

void quiet_begin(void);
bool quiet_is_on(void);

#endif
