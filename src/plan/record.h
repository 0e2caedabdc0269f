/* SPDX-License-Identifier: MIT */
/*
 * The entry record: what a rank says it is about to do, sent ahead of every call's data. Ranks
 * whose records are equal byte for byte do the same thing; nothing of a call lands in the user's
 * memory before that is known.
 */
#ifndef RING_RECORD_H
#define RING_RECORD_H

#include <stddef.h>
#include <string.h>

#include "plan.h"
#include "ringccl.h"

#define RING_RECORD_TEXT 160

/*
 * 32 bytes, no padding, compared with memcmp. It travels as it lies in memory; a rank of the other
 * byte order is refused at creation.
 *
 * A message of one rank to another opens with one too: {kind SEND, the message's number on its
 * link, count, type, root: the receiver}.
 *
 * Where all ranks know all of uneven parts, count is their sum, and root a number made of all of
 * them. Where each knows its own, count is 0, but on a link: there it is what ring_plan_on_edge()
 * says at either end.
 */
struct ring_record {
	uint32_t magic; /* RING_RECORD_MAGIC */
	int16_t kind, type, op;
	int16_t memory; /* where the buffers lie: 0, the host's; else a device's number ... */
	int32_t root;
	uint64_t sequence; /* number of the collective in its communicator, from 1 */
	uint64_t count;
};

#define RING_RECORD_MAGIC 0x33304752u
#define RING_RECORD_DEVICE 0xf   /* the bits of that number */
#define RING_RECORD_KERNEL 0x100 /* ... and this, if the device itself carries it out, ... */
#define RING_RECORD_GRAPH 0x200  /* ... and this, if it does so whenever a graph is launched */
#define RING_RECORD_MIXED 0x400  /* told to neighbours: the communicator is mixed (mixed.h) */
#define RING_RECORD_LINKS 0x800  /* a barrier that makes links for streams of that device */

/* A message that opens a call: the record, and a small payload behind it. */
struct ring_opening {
	struct ring_record record;
	unsigned char payload[RING_OPENING_BYTES];
};

/* Where a rank's buffers lie, for ranks that reach into them; it differs between ranks. */
struct ring_whereabouts {
	uint64_t input, output; /* offset in its region, or the address of private memory */
	uint32_t input_region, output_region;
	uint32_t cpu; /* the rank's */
	uint32_t unused;
};

/* Instead of a region's number: */
#define RING_REGION_PRIVATE 0         /* memory that is not from ring_mem_alloc() */
#define RING_REGION_UNUSED UINT32_MAX /* the rank has no such buffer in this call */

/* A pre-multiplied sum in a record: its handle and scalar differ between ranks. */
#define RING_OP_PREMUL_SUM 16

/* A function of the program in a record; nobody can tell whether ranks have the same one. */
#define RING_OP_FUNCTION 15

/* type, op and root are -1 where the kind has none. */
static inline struct ring_record ring_record_make(enum ring_kind kind, uint64_t sequence,
						  uint64_t count, int type, int op, int root)
{
	return (struct ring_record){.magic = RING_RECORD_MAGIC,
				    .kind = (int16_t)kind,
				    .type = (int16_t)type,
				    .op = (int16_t)op,
				    .root = root,
				    .sequence = sequence,
				    .count = count};
}

/* True if a record that was sent, at any address, is the same. */
static inline bool ring_record_equals(const void *sent, const struct ring_record *record)
{
	return memcmp(sent, record, sizeof(*record)) == 0;
}

/* True if both calls differ in their numbers only, so that they have the same plans. */
static inline bool ring_record_repeats(const struct ring_record *record,
				       const struct ring_record *last)
{
	return memcmp(record, last, offsetof(struct ring_record, sequence)) == 0 &&
	       record->count == last->count;
}

/* True if two ranks make the same call by the host, but not in the same memory. */
static inline bool ring_record_differs_in_memory(const struct ring_record *a,
						 const struct ring_record *b)
{
	struct ring_record same = *a;
	same.memory = b->memory;
	return a->memory != b->memory && ring_record_equals(&same, b) &&
	       !((a->memory | b->memory) &
		 (RING_RECORD_KERNEL | RING_RECORD_GRAPH | RING_RECORD_LINKS));
}

/*
 * True if a neighbour that waits in `theirs` is in another call of that number than this rank, or
 * knows that the communicator is mixed, and this rank does not. Once it does, neighbours that do
 * not yet differ in memory; and one that is in a later call has completed this one.
 */
static inline bool ring_record_contradicts(const struct ring_record *theirs,
					   const struct ring_record *mine)
{
	const int16_t mixed = mine->memory & RING_RECORD_MIXED;
	struct ring_record told = *theirs;
	if (theirs->memory & RING_RECORD_MIXED && !mixed)
		return theirs->sequence <= mine->sequence;
	told.memory |= mixed;
	return theirs->sequence == mine->sequence && !ring_record_equals(&told, mine) &&
	       !(mixed && ring_record_differs_in_memory(&told, mine));
}

/* False if it cannot be a record of any rank. */
bool ring_record_is_valid(const struct ring_record *record);

/*
 * "call 17: all_reduce of 1024 float, sum", or "send of 1024 float to rank 3"; text has
 * RING_RECORD_TEXT bytes. Returns text.
 */
const char *ring_record_format(const struct ring_record *record, char *text);

/* Adds what a record on the link with `peer` tells: ", 5 elements with rank 3". */
void ring_record_add_parts(const struct ring_record *record, int peer, char *text);

/* The number that stands for all of counts[size]; other counts have another one, but for chance. */
int32_t ring_record_parts(const uint64_t counts[], int size);

/* Who carries it out, behind where its memory is; "" if that goes without saying. */
static inline const char *ring_record_by_kernel(const struct ring_record *record)
{
	if (record->memory & RING_RECORD_GRAPH)
		return ", by a kernel of a graph";
	return record->memory & RING_RECORD_KERNEL ? ", by a kernel" : "";
}

const char *ring_kind_name(enum ring_kind kind);

#endif
