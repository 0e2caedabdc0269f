/* SPDX-License-Identifier: MIT */
/*
 * Maps buffers with guard zones, places calls in them, makes those calls, and checks the guard
 * zones.
 */
#include "placed.h"

#include <stdio.h>
#include <string.h>

#define GUARD_BYTES 4096
#define GUARD_VALUE 0xa5

int perf_buffer_map(struct perf_buffer *buffer, struct ring_comm *comm, struct perf_device *device,
		    size_t bytes)
{
	size_t pages = (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
	int err = perf_memory_map(&buffer->memory, comm, device, pages + 2 * GUARD_BYTES);
	if (err)
		return err;
	buffer->data = buffer->memory.place + GUARD_BYTES;
	buffer->mirror = buffer->memory.mirror + GUARD_BYTES;
	buffer->capacity = pages;
	memset(buffer->memory.mirror, GUARD_VALUE, buffer->memory.bytes);
	return perf_memory_push(&buffer->memory, 0, buffer->memory.bytes);
}

void perf_buffer_unmap(struct perf_buffer *buffer)
{
	perf_memory_unmap(&buffer->memory);
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
		/* Where both are empty, the addresses say whose memory the call is about. */
		const bool is_empty = placed.send_bytes == 0 && placed.recv_bytes == 0;
		if (placed.send_bytes == 0 && !is_empty)
			placed.send = NULL;
		if (placed.recv_bytes == 0 && !is_empty)
			placed.recv = NULL;
	}
	const struct perf_buffer *of_input = &buffers[place == PERF_IN_PLACE];
	if (placed.send)
		placed.input = of_input->mirror + (placed.send - of_input->data);
	if (placed.recv)
		placed.result = buffers[1].mirror + (placed.recv - buffers[1].data);
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

/* Bytes of the call's vector and of both guard zones. */
static size_t guarded_bytes(const struct perf_placed *placed)
{
	return placed->call->bytes + 2 * GUARD_BYTES;
}

int perf_placed_push(struct perf_team *team, const struct perf_placed *placed)
{
	int err = 0;
	for (int i = 0; i < 2 && !err; i++)
		err = perf_memory_push(&placed->buffers[i].memory, 0, guarded_bytes(placed));
	return perf_team_failed(team, err, "copying buffers to the device");
}

int perf_placed_push_input(struct perf_team *team, const struct perf_placed *placed)
{
	const struct perf_memory *memory = &placed->buffers[placed->place == PERF_IN_PLACE].memory;
	int err = perf_memory_push(memory, (size_t)(placed->send - memory->place),
				   placed->send_bytes);
	return perf_team_failed(team, err, "copying an input to the device");
}

int perf_placed_pull(struct perf_team *team, const struct perf_placed *placed)
{
	int err = 0;
	for (int i = 0; i < 2 && !err; i++)
		err = perf_memory_pull(&placed->buffers[i].memory, 0, guarded_bytes(placed));
	return perf_team_failed(team, err, "copying buffers from the device");
}

void perf_placed_guard(const struct perf_placed *placed)
{
	for (int i = 0; i < 2; i++) {
		unsigned char *vector = placed->buffers[i].mirror;
		memset(vector - GUARD_BYTES, GUARD_VALUE, GUARD_BYTES);
		memset(vector + placed->call->bytes, GUARD_VALUE, GUARD_BYTES);
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
		const unsigned char *vector = placed->buffers[i].mirror;
		changed += count_changed(vector - GUARD_BYTES);
		changed += count_changed(vector + placed->call->bytes);
	}
	return changed;
}
