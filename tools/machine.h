/* SPDX-License-Identifier: MIT */
/*
 * The machine of a measurement, and how much other programs used it. Times of a busy machine say
 * little, so records have both.
 */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

struct option_given;

struct machine {
	char host[64], cpu[64]; /* name and model; "unknown" */
	int cpus;               /* CPUs that this process may use */
	int online;             /* CPUs of the machine */
	double load; /* threads that ran or were ready, mean of the last minute; NAN: not known */
};

void machine_describe(struct machine *machine);

/* Cleans a machine that a peer described: its names become text that may be shown. */
void machine_clean(struct machine *machine);

/* RING_LINK, the pace of links; "": none */
const char *machine_link(void);

/* Reads --link PACE into it, for ranks of this process and of those that it starts; "" is none. */
bool machine_read_link(const struct option_given *given, void *options);

/* CPU seconds since the machine, or this process, started. NAN: not known */
struct machine_use {
	double at; /* CLOCK_MONOTONIC */
	double all, own;
};

struct machine_use machine_use_now(void);

/* A machine is busy if other programs use more than this share of its CPUs ... */
#define MACHINE_BUSY_SHARE 0.1

/* ... or if the 95th percentile of equal steps is more than this many medians. */
#define MACHINE_BUSY_SPREAD 1.5

#endif
