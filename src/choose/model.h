/* SPDX-License-Identifier: MIT */
/*
 * The cost model: the time of a call by an algorithm, from its work (work.h) and a few numbers of
 * this machine. All ranks compute it alike, in whole numbers, so all choose alike.
 *
 *	time = call + hops * hop + exchanges * sheet + what the busiest rank works + wire
 *
 * where every rank has a CPU. Where ranks take turns on fewer CPUs, their work adds up, and a rank
 * that waited must get a CPU again, once for each wait and at each hop:
 *
 *	time = call + queue + hops * hop + (hops + exchanges) * turn
 *	       + (waits * turn + what a rank works) * ranks of a CPU + wire
 *
 * of an average rank. A rank works messages * message + sheets * sheet + touched * touch + moved *
 * move + reaches * reach + fetched * fetch. In chains and trees a rank begins once its first chunk
 * has come: its time on the wire, and where all have CPUs its copying, come first.
 *
 * Work and wire add up only where a rank has nothing to do but wait for a message: for the first of
 * each step. Beside the others it works, and the longer of both counts. A ring whose blocks are
 * longer than a chunk goes around in rounds, in which chunks follow one another; so a step of a
 * round takes the longest of its wire, its work, and a hop with the wire and the work of its first
 * chunk.
 *
 * Source: the latency, overhead and gap of Culler et al. 1993, "LogP: Towards a Realistic Model of
 * Parallel Computation", with bytes as in Alexandrov et al. 1995, "LogGP".
 */
#ifndef RING_MODEL_H
#define RING_MODEL_H

#include "work.h"

/*
 * X(name, unit, what it is): picoseconds each, or for 1024 bytes. A number that a path does not use
 * is 0.
 */
#define RING_MODEL_NUMBERS(X)                                                                      \
	X(call, RING_EACH, "a call, whatever it is")                                               \
	X(queue, RING_EACH, "a call, where ranks take turns")                                      \
	X(hop, RING_EACH, "a message until its receiver sees it")                                  \
	X(turn, RING_EACH, "a rank that waited until it goes on, where ranks take turns")          \
	X(message, RING_EACH, "a message at either end")                                           \
	X(sheet, RING_EACH, "a board until others see it, or to read")                             \
	X(reach, RING_EACH, "a call of the system that reaches into a peer's memory")              \
	X(touch, RING_BYTES, "bytes that are read or written")                                     \
	X(move, RING_BYTES, "bytes that sockets take or give")                                     \
	X(fetch, RING_BYTES, "bytes that the system copies from or to a peer's memory")            \
	X(wire, RING_BYTES, "bytes on the way")

enum ring_unit { RING_EACH, RING_BYTES };

struct ring_model {
#define RING_MODEL_MEMBER(name, unit, what) uint64_t name;
	RING_MODEL_NUMBERS(RING_MODEL_MEMBER)
#undef RING_MODEL_MEMBER
};

/* The same as a list, in the order of the struct. */
#define RING_MODEL_COUNT ((int)(sizeof(struct ring_model) / sizeof(uint64_t)))
struct ring_model_number {
	const char *name, *what;
	enum ring_unit unit;
};
extern const struct ring_model_number ring_model_numbers[RING_MODEL_COUNT];

static inline void ring_model_set(struct ring_model *model, int number, uint64_t value)
{
	((uint64_t *)model)[number] = value;
}

static inline uint64_t ring_model_get(const struct ring_model *model, int number)
{
	return ((const uint64_t *)model)[number];
}

/* Of the host's memory; section.h has those of devices'. */
extern const struct ring_model ring_model_built_in[RING_PATHS];

/* Ranks that take turns on a CPU, in 1024ths; at most RING_TURNS_NONE: each has one. */
#define RING_TURNS_NONE 1024

/*
 * How often a call takes each of the model's numbers: the products add up to its time. Bytes are in
 * 1024ths. Of many ranks only four are asked, unless few of them work.
 *
 * params  a plan of any position; order, root and workers are not looked at
 */
struct ring_factors {
	uint64_t of[RING_MODEL_COUNT];
};
struct ring_factors ring_model_factors(const struct ring_model *model,
				       const struct ring_plan_params *params,
				       enum ring_memory memory, int turns);

/* Picoseconds; a time that overflows is the longest there is. */
uint64_t ring_model_time(const struct ring_model *model, const struct ring_factors *factors);

/* "0.316us" or "34.9GB/s", or "0". Returns text. */
#define RING_MODEL_TEXT 24
const char *ring_model_write(int number, uint64_t value, char text[RING_MODEL_TEXT]);

/* False if the text is not such a number. */
bool ring_model_read(int number, const char *text, uint64_t *value);

#endif
