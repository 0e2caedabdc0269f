/* SPDX-License-Identifier: MIT */
/*
 * The machine that a measurement is of: what it is, and whether other programs used it meanwhile. Times of a busy
 * machine say little, so records name both.
 */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H

#include <stddef.h>

struct machine {
	char host[64], cpu[64]; /* name and model; "unknown" */
	int cpus;               /* that this process may use */
	int online;             /* of the machine */
	double load; /* how many threads ran or wanted to, mean of the last minute; NAN: not known */
};

void machine_describe(struct machine *machine);

/* One that a peer described: its names become text that may be shown. */
void machine_clean(struct machine *machine);

/* What RING_LINK makes of the links; "" if they are as fast as they are. */
const char *machine_link(void);

/* CPU seconds since the machine, or this process, began. NAN: not known */
struct machine_use {
	double at; /* CLOCK_MONOTONIC */
	double all, own;
};

struct machine_use machine_use_now(void);

/* The CPUs that are taken for busy: a tenth of the machine's. */
#define MACHINE_BUSY_SHARE 0.1

/* A 95th percentile beyond so many medians is a busy machine's, too. */
#define MACHINE_BUSY_SPREAD 1.5

#endif
