/* SPDX-License-Identifier: MIT */
/*
 * The pace of a rank whose links are slowed down: the chosen speed, and the two wires that all its
 * links share, like a network card. All that the rank sends leaves through one, all that it
 * receives comes through the other, one message after the other, whichever thread moves its link.
 * paced.h holds messages back accordingly.
 */
#ifndef RING_PACE_H
#define RING_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flag.h"

struct ring_pace_speed {
	uint64_t latency_ns;
	double bytes_per_second; /* 0: bytes take no time */
};

struct ring_pace {
	struct ring_pace_speed speed;
	struct ring_counter out_free_ns, in_free_ns; /* CLOCK_MONOTONIC: when each is free */
	/* a sleeper wakes this long before a message is due, and then looks */
	uint64_t early_ns;
};

/*
 * Reads "1GB/s,20us": a bandwidth in B/s or bit/s, with K, M or G for thousands, then perhaps a
 * latency in ns, us or ms. False if the text is anything else, or out of bounds: 1 B/s to 1000
 * GB/s, at most 10 s.
 */
bool ring_pace_read(const char *text, struct ring_pace_speed *speed);

/* Nanoseconds that bytes take at a rate. */
uint64_t ring_pace_duration(size_t bytes, double bytes_per_second);

/* Sends bytes that are ready at now_ns through the wire. Returns when it has taken the last. */
uint64_t ring_pace_leave(struct ring_pace *pace, uint64_t now_ns, size_t bytes);

/* They did not leave: takes back what it returned, unless the wire has taken more since. */
void ring_pace_take_back(struct ring_pace *pace, uint64_t taken_ns, size_t bytes);

/* Receives bytes of which the last is here at last_ns, if the wire is free. Returns when it is. */
uint64_t ring_pace_enter(struct ring_pace *pace, uint64_t last_ns, size_t bytes);

#endif
