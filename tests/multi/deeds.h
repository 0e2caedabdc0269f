/* SPDX-License-Identifier: MIT */
/*
 * What a soak does: random collectives, with even parts and uneven ones, and random exchanges of
 * messages on random numbers, made and
 * compared bit for bit with a second computation. All ranks of a communicator choose the same deeds
 * from the same seed; each rank's memory is seen by all, so that they can share the comparing.
 */
#ifndef DEEDS_H
#define DEEDS_H

#include "tests/harness.h"
#include "tests/multi/calls.h"
#include "tests/multi/uneven.h"

#define DEED_RANKS 8
#define DEED_MESSAGES 10

/* The ranks of one communicator, and where they work. */
struct party {
	const struct harness_rank *self; /* who complains */
	struct ring_comm *comm;
	const int *order; /* position -> rank */
	int size, rank;
	unsigned char *inputs[DEED_RANKS], *outputs[DEED_RANKS]; /* of every rank */
	unsigned char *input, *output; /* where this rank's calls work: there, or ... */
	bool shared;                   /* ... in memory from ring_mem_alloc(), on all ranks */
};

/* One message of an exchange: from and to the same place in the two ranks' memory. */
struct message {
	int from, to;
	size_t count;
	enum ring_datatype type;
	size_t at;
};

struct deed {
	int message_count; /* 0: a collective */
	bool loose;        /* each message by itself, else all in a group */
	struct message messages[DEED_MESSAGES];

	struct uneven uneven; /* size 0: it is none of these */
	struct call call;
	unsigned char scalars[DEED_RANKS * ELEMENT_BYTES_MAX];
	bool in_place;
	bool special; /* some inputs are subnormal, infinite or not a number */
	size_t send_at, recv_at;
	uint64_t seed; /* of the inputs */
};

/* What a rank's counters must have grown by. */
struct tally {
	uint64_t calls, sent_bytes, received_bytes;
};

/* Chooses a deed that uses no more of the memory than bytes [begin, begin + room). */
void deed_choose(const struct party *party, uint64_t seed, size_t begin, size_t room,
		 struct deed *deed);

/* Makes up this rank's inputs. */
void deed_fill(const struct party *party, const struct deed *deed);

/* Where calls may be made: streams[count], and, as often as on each of them, none. */
struct deed_streams {
	struct ring_stream *const *streams;
	int count;
};

/*
 * Makes the calls, on streams of its choice. They are complete if there is none to choose from, unless a
 * group is open. returns 0 or 1
 */
int deed_make(const struct party *party, const struct deed *deed, struct deed_streams choice);

/* Looks at this rank's share of the results, once all ranks are done. returns 0 with its hash, or 1 */
int deed_check(const struct party *party, const struct deed *deed, uint64_t *hash);

/* Adds what ringccl.h says that the calls count. */
void deed_count(const struct party *party, const struct deed *deed, struct tally *tally);

uint64_t hash_add(uint64_t hash, const void *bytes, size_t count);

#endif
