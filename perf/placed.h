/* SPDX-License-Identifier: MIT */
/*
 * Memory for calls, with guard zones around it, and one call placed in it: out of place or in
 * place.
 */
#ifndef PERF_PLACED_H
#define PERF_PLACED_H

#include "perf/calls/call.h"
#include "perf/calls/memory.h"
#include "team.h"

struct perf_buffer {
	struct perf_memory memory; /* guard zones included */
	unsigned char *data;       /* the address for calls, page aligned */
	unsigned char *mirror;     /* the address for the host */
	size_t capacity;           /* bytes of data */
};

enum perf_place { PERF_OUT_OF_PLACE, PERF_IN_PLACE, PERF_PLACES };

/* The buffers of one call at one place. */
struct perf_placed {
	const struct perf_call *call;
	enum perf_place place;
	struct perf_buffer *buffers;   /* input and output; in place, both are in the output */
	unsigned char *send, *recv;    /* in place, NULL if the rank has no input or no result */
	unsigned char *input, *result; /* the same places for the host, in mirrors */
	size_t send_bytes, recv_bytes;
};

/* comm and device as for perf_memory_map. returns 0; RING_ENOMEM; RING_ESYSTEM */
int perf_buffer_map(struct perf_buffer *buffer, struct ring_comm *comm, struct perf_device *device,
		    size_t bytes);
void perf_buffer_unmap(struct perf_buffer *buffer);

struct perf_placed perf_place(const struct perf_call *call, enum perf_place place,
			      struct perf_buffer buffers[2], int rank);

/* Makes `calls` calls; they are complete when it returns 0, else team->error says why. */
int perf_placed_run(struct perf_team *team, const struct perf_placed *placed, int calls);

/*
 * Copies between the mirrors and the device; nothing to do for the host's memory. push: vectors and
 * guard zones, to the device; pull: back; push_input: the input alone. All return 0, or a RING_E...
 * with team->error.
 */
int perf_placed_push(struct perf_team *team, const struct perf_placed *placed);
int perf_placed_pull(struct perf_team *team, const struct perf_placed *placed);
int perf_placed_push_input(struct perf_team *team, const struct perf_placed *placed);

/* Writes the guard zones around the call's vectors, in the mirrors: push them. */
void perf_placed_guard(const struct perf_placed *placed);

/* How many bytes of the guard zones have changed: pull them first. */
uint64_t perf_placed_changed(const struct perf_placed *placed);

#endif
