/* SPDX-License-Identifier: MIT */
/*
 * Which signals a launcher hears, and what it does about each. What was ignored or blocked when it
 * was started, by nohup or by a shell that started it in the background, stays this way, for the
 * launcher and for the ranks.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* All are passed on to the ranks. */
enum signal_effect {
	SIGNAL_ENDS,   /* ... and end the job                             */
	SIGNAL_PASSES, /* ... which decide what it means                   */
	SIGNAL_STOPS,  /* ... and then stop the launcher, until SIGCONT     */
};

struct signals {
	int fd;             /* signalfd, not blocking                  */
	sigset_t before;    /* the mask that was inherited              */
	bool child_ignored; /* SIGCHLD was; then nobody could be reaped */
};

/* Begins to hear them, and SIGCHLD. returns 0, or errno */
int signals_open(struct signals *signals);

enum signal_effect signal_effect(int signal);

/* Stops this process as the signal would have, if that can stop it; returns when it goes on. */
void signals_stop_self(void);

/* In a child: gives it what we inherited ourselves. */
void signals_restore(const struct signals *signals);

void signals_close(struct signals *signals);

#endif
