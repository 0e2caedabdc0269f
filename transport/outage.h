/* SPDX-License-Identifier: MIT */
/*
 * How long a TCP connection may get no answer before its other end is lost. The kernel probes an
 * idle connection. While bytes are under way it gives up only after a quarter of an hour, so the
 * owner looks now and then and judges: what was sent is not acknowledged, and was sent again in
 * vain.
 *
 * A shut window says that the other end lives but does not read: it is busy, or stopped.
 * TCP_USER_TIMEOUT also counts that time, so it does not help.
 */
#ifndef RING_OUTAGE_H
#define RING_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel tells of a connection. */
struct ring_sight {
	uint64_t acked;    /* bytes that the other end has acknowledged */
	uint32_t tries;    /* packets that were sent again, probes that got no answer */
	uint32_t heard_ms; /* since any packet came */
	bool under_way;    /* bytes that the kernel has are not acknowledged */
	bool shut;         /* the other end has no room for them */
};

/* What was seen so far; all zero at first. */
struct ring_outage {
	uint64_t acked; /* at the last look */
	bool shut;
	uint64_t looked_ms; /* when that was */
	uint64_t since_ms;  /* without an acknowledgement; 0: nothing is amiss */
	uint64_t over_ms;   /* when that was found too long; 0: it is not */
	/* when something was found to be sent again after that; 0: nothing was */
	uint64_t tried_ms;
	uint32_t tries; /* at the last look before over_ms */
};

/*
 * Has the kernel probe the connection while it is idle, and send again at least every second, or
 * more rarely if lost_ms is long: an interruption ends only when something is sent again. An outage
 * shorter than lost_ms ends nothing; a longer one ends an idle connection at most 2 s later.
 */
void ring_outage_bear(int fd, int lost_ms);

/* The same for bytes under way, of connections that never fill and that nobody looks at. */
void ring_outage_limit(int fd, int lost_ms);

/* Asks the kernel. False if it does not tell: no TCP connection, or a kernel before 4.6. */
bool ring_outage_look(int fd, struct ring_sight *sight);

/*
 * Adds what was seen just now. True if the other end could not be reached for lost_ms; it is told
 * within 2 s.
 */
bool ring_outage_judge(struct ring_outage *outage, const struct ring_sight *sight, int lost_ms,
		       uint64_t now_ms);

/* Whether a connection ended with this errno because the other end could not be reached. */
bool ring_outage_is_cause(int cause);

#endif
