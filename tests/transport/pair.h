/* SPDX-License-Identifier: MIT */
/* Both ends of one link in a test, over the kind of connection that its transport wants. */
#ifndef RING_TEST_PAIR_H
#define RING_TEST_PAIR_H

#include "transport/paced.h"

enum { SENDER, RECEIVER };

/* A way to make pairs: a transport, or a test's decoration of one. */
struct pair_kind {
	const char *name;
	const struct ring_transport *transport; /* NULL: the late transport */
	bool faulty; /* both ends behind a faulty link in its late mode */
	bool paced;  /* both ends paced, fast enough for tests of many messages */
};

struct pair {
	struct ring_bell bells[2];
	struct ring_link *ends[2];
	struct ring_pace paces[2];
};

/* Connected, non-blocking sockets: TCP over loopback or AF_UNIX. False if there are none. */
bool pair_sockets(enum ring_lane lane, int fds[2]);

/* What one end is opened with; sizes as given, ranks 0 (sender) and 1. */
struct ring_link_params pair_params(struct pair *pair, int end, int fd, unsigned depth,
				    size_t slot_bytes);

/* Makes the bells; ends are NULL. */
bool pair_init(struct pair *pair);

/* Opens one end of a kind that has a transport, not behind a faulty link. Returns 0 or the error. */
int pair_open_end(struct pair *pair, const struct pair_kind *kind, int end,
		  const struct ring_link_params *params);

/* Finishes both opened ends in this thread, those with RING_EAGAIN. Returns 0 or an error. */
int pair_finish(struct pair *pair, int errs[2]);

/* Opens and finishes both ends, in this thread. Returns 0 or the error. */
int pair_open(struct pair *pair, const struct pair_kind *kind, unsigned depth, size_t slot_bytes,
	      uint64_t seed);

/* Closes an end; NULL is allowed and left behind. */
void pair_close_end(struct pair *pair, int end);

/* Closes what is open, bells included. */
void pair_close(struct pair *pair);

#endif
