/* SPDX-License-Identifier: MIT */
/* What ranks warn of in the log. */
#ifndef SAID_H
#define SAID_H

#include "tests/harness.h"

/*
 * Runs the team, and counts the warnings of all its ranks that have these words. returns 0 if all
 * were content and there were as many as wanted
 */
int said_run(struct harness *team, const char *words, int wanted);

#endif
