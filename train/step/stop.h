/* SPDX-License-Identifier: MIT */
/*
 * Signals that ask for an orderly end after the running step. Ranks agree on that step: which
 * signals they got rides on an exchange that they make anyway.
 */
#ifndef TRAIN_STOP_H
#define TRAIN_STOP_H

#include <stdbool.h>

#define TRAIN_STOPS 4 /* SIGTERM, SIGINT, SIGHUP, SIGUSR1 */

/*
 * From now on the first of these signals only asks; a second one ends the process. Those that are
 * ignored stay so. One that speaks says on stderr what the first one does.
 */
void train_stop_listen(bool speaks);

/* 1 for the signal that this process got, 0 for the others. */
void train_stop_note(double asked[TRAIN_STOPS]);

/* The signal that was asked by, given the sums over ranks; 0: none. */
int train_stop_signal(const double asked[TRAIN_STOPS]);

#endif
