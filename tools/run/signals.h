/* SPDX-License-Identifier: MIT */
/*
 * Which signals a launcher handles, and how. A signal that was ignored or blocked when the launcher
 * was started, by nohup or by a shell that started it in the background, stays so, for the launcher
 * and for the ranks.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* All are passed on to the ranks. What else they do: */
enum signal_effect {
	SIGNAL_ENDS,   /* end the job                                     */
	SIGNAL_PASSES, /* nothing: the ranks decide what it means          */
	SIGNAL_STOPS,  /* stop the launcher, until SIGCONT                  */
};

struct signals {
	int fd;             /* signalfd, not blocking                  */
	sigset_t before;    /* the mask that was inherited              */
	bool child_ignored; /* SIGCHLD was ignored, so that no child could be reaped */
};

/* Begins to handle these signals and SIGCHLD. returns 0, or errno */
int signals_open(struct signals *signals);

enum signal_effect signal_effect(int signal);

/* Stops this process as the signal would; returns when it goes on. */
void signals_stop_self(void);

/* In a child: restores the state that the launcher inherited. */
void signals_restore(const struct signals *signals);

void signals_close(struct signals *signals);

#endif
