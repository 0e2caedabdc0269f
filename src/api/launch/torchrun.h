/* SPDX-License-Identifier: MIT */
/* What torchrun tells a rank, as pure functions; torchrun.c acts on it. */
#ifndef RING_LAUNCH_TORCHRUN_H
#define RING_LAUNCH_TORCHRUN_H

#include "meet/describe.h"
#include "launch.h"
#include "served.h"

/* Texts lie in the environment. */
struct ring_torchrun {
	int rank, size;
	const char *store; /* the port of torchrun's store, as text */
	const char *run;   /* the job's name, "" if it is not said */
	struct ring_served served;
};

int ring_torchrun_read(struct ring_torchrun *job, const struct ring_launcher *launcher,
		       struct ring_failure *failure);

/*
 * The identity of the call-th communicator (from 0) of the job; the root is the caller's to set.
 * secret: RING_SECRET, or ""
 */
void ring_torchrun_identify(const struct ring_torchrun *job, unsigned call, const char *secret,
			    struct ring_identity *identity);

#endif
