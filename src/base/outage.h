/* SPDX-License-Identifier: MIT */
/*
 * How long a TCP connection may get no answer before its other end is lost. The kernel probes a
 * connection on which nothing is under way. One on which something is, it gives a quarter of an
 * hour; so its owner looks at it now and then and judges: what was sent is not acknowledged, and
 * was sent again in vain.
 *
 * A window that is shut says that the other end lives and does not read: it is busy, or stopped. So
 * TCP_USER_TIMEOUT is no help, which counts that time, too.
 */
#ifndef RING_OUTAGE_H
#define RING_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#define RING_OUTAGE_LOOK_MS 250  /* from one look to the next ... */
#define RING_OUTAGE_HURRY_MS 100 /* ... once the time is over, and the last try is waited for */

/* What the kernel tells of a connection. */
struct ring_sight {
	uint64_t acked;    /* bytes that the other end has acknowledged */
	uint32_t tries;    /* packets that were sent again, probes that got no answer */
	uint32_t heard_ms; /* since any packet came */
	bool under_way;    /* bytes were given to the kernel that are not acknowledged ... */
	bool shut;         /* ... for which the other end has no room */
};

/* What was seen so far; all zero at first. */
struct ring_outage {
	uint64_t acked; /* at the last look ... */
	bool shut;
	uint64_t looked_ms; /* ... which was then */
	uint64_t since_ms;  /* nothing was acknowledged since then; 0: nothing is amiss */
	uint64_t over_ms;   /* when that was found to have lasted too long; 0: it has not */
	/* when it was found that after that something was sent again; 0: it was not */
	uint64_t tried_ms;
	uint32_t tries; /* before that */
};

/*
 * Has the kernel probe the connection whenever it is idle, and send again at least every second (or
 * more, if much patience is asked for), as an interruption is over no sooner than something is sent
 * again. An outage shorter than lost_ms ends nothing; a longer one ends an idle connection at most
 * 2 s later.
 */
void ring_outage_bear(int fd, int lost_ms);

/*
 * For connections that never fill, and that nobody looks at: the kernel counts what is under way
 * likewise.
 */
void ring_outage_limit(int fd, int lost_ms);

/* Asks the kernel. False if it does not tell: no TCP connection, or a kernel before 4.6. */
bool ring_outage_look(int fd, struct ring_sight *sight);

/*
 * Adds what was seen just now. True if the other end could not be reached for lost_ms, at most 2 s
 * after they are over.
 */
bool ring_outage_judge(struct ring_outage *outage, const struct ring_sight *sight, int lost_ms,
		       uint64_t now_ms);

/* Whether errno says that the other end could not be reached, by which a connection has ended. */
bool ring_outage_is_cause(int cause);

#endif
