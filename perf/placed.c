/* SPDX-License-Identifier: MIT */
/*
 * Mapping buffers, placing calls in them, making those calls, and watching the guard zones.
 */
#include "placed.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD_BYTES 4096
#define GUARD_VALUE 0xa5

static int map(struct ring_comm *comm, size_t bytes, void **memory)
{
	if (comm)
		return ring_mem_alloc(comm, bytes, memory);
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *memory == MAP_FAILED ? RING_ENOMEM : 0;
}

int perf_buffer_map(struct perf_buffer *buffer, struct ring_comm *comm, size_t bytes)
{
	size_t pages = (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
	void *base;
	int err = map(comm, pages + 2 * GUARD_BYTES, &base);
	if (err)
		return err;
	buffer->comm = comm;
	buffer->base = base;
	buffer->data = buffer->base + GUARD_BYTES;
	buffer->capacity = pages;
	memset(buffer->base, GUARD_VALUE, pages + 2 * GUARD_BYTES);
	return 0;
}

void perf_buffer_unmap(struct perf_buffer *buffer)
{
	if (buffer->base && buffer->comm)
		ring_mem_free(buffer->comm, buffer->base);
	else if (buffer->base)
		munmap(buffer->base, buffer->capacity + 2 * GUARD_BYTES);
	*buffer = (struct perf_buffer){0};
}

struct perf_placed perf_place(const struct perf_call *call, enum perf_place place,
			      struct perf_buffer buffers[2], int rank)
{
	struct perf_placed placed = {
		.call = call,
		.place = place,
		.buffers = buffers,
		.send = buffers[0].data,
		.recv = buffers[1].data,
		.send_bytes = perf_call_send_bytes(call, rank),
		.recv_bytes = perf_call_recv_bytes(call, rank),
	};
	if (place == PERF_IN_PLACE) {
		placed.send = buffers[1].data + perf_call_send_offset(call, rank);
		placed.recv = buffers[1].data + perf_call_recv_offset(call, rank);
		if (placed.send_bytes == 0)
			placed.send = NULL;
		if (placed.recv_bytes == 0)
			placed.recv = NULL;
	}
	return placed;
}

static void describe(const struct perf_placed *placed, char *text, size_t bytes)
{
	const struct perf_call *call = placed->call;
	snprintf(text, bytes, "%s of %zu bytes, %s", call->collective->name, call->bytes,
		 placed->place == PERF_IN_PLACE ? "in place" : "out of place");
}

int perf_placed_run(struct perf_team *team, const struct perf_placed *placed, int calls)
{
	const struct perf_call *call = placed->call;
	int err = 0;
	for (int i = 0; i < calls && !err; i++)
		err = call->collective->run(team->comm, call, placed->send, placed->recv,
					    team->stream);
	if (!err && team->stream)
		err = ring_stream_wait(team->stream, ring_stream_position(team->stream));
	if (err) {
		char doing[96];
		describe(placed, doing, sizeof(doing));
		perf_team_failed(team, err, doing);
	}
	return err;
}

void perf_placed_guard(const struct perf_placed *placed)
{
	for (int i = 0; i < 2; i++) {
		struct perf_buffer *buffer = &placed->buffers[i];
		memset(buffer->base, GUARD_VALUE, GUARD_BYTES);
		memset(buffer->data + placed->call->bytes, GUARD_VALUE, GUARD_BYTES);
	}
}

static uint64_t count_changed(const unsigned char *guard)
{
	uint64_t changed = 0;
	for (int i = 0; i < GUARD_BYTES; i++)
		changed += guard[i] != GUARD_VALUE;
	return changed;
}

uint64_t perf_placed_changed(const struct perf_placed *placed)
{
	uint64_t changed = 0;
	for (int i = 0; i < 2; i++) {
		const struct perf_buffer *buffer = &placed->buffers[i];
		changed += count_changed(buffer->base);
		changed += count_changed(buffer->data + placed->call->bytes);
	}
	return changed;
}
