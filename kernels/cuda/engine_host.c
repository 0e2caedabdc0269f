/* SPDX-License-Identifier: MIT */
/* An engine from open to close; see engine_host.h. */
#include "engine_host.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_BEFORE 1 /* so the first is no very old one, whose flags would have to be renewed */

static struct ring_cuda_inbox inbox_of(const struct ring_device_team *team)
{
	const bool is_deep = team->depth >= RING_INBOX_DEPTH_LEAST;
	const bool is_small = team->chunk_bytes > 0 && team->chunk_bytes < RING_INBOX_CHUNK_MOST;
	return (struct ring_cuda_inbox){
		.size = team->size,
		.depth = is_deep ? team->depth : RING_INBOX_DEPTH_LEAST,
		.chunk_bytes = is_small ? team->chunk_bytes : RING_INBOX_CHUNK_MOST,
	};
}

size_t ring_cuda_engine_inbox_bytes(const struct ring_device_team *team)
{
	const struct ring_cuda_inbox inbox = inbox_of(team);
	return team->size < 2 || team->size > RING_ENGINE_RANKS ? 0 : ring_cuda_inbox_bytes(&inbox);
}

/* What a chip's memory is at first: that, or NULL: zeros. returns an enum ring_cuda_result */
static int set(const struct ring_cuda_driver *driver, void *far, const void *near, size_t bytes)
{
	struct CUstream_st *stream;
	int result = driver->stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0);
	if (result)
		return result;
	result = near ? driver->memory_copy(far, near, bytes, stream)
		      : driver->memory_set(far, 0, bytes, stream);
	if (!result)
		result = driver->stream_synchronize(stream);
	driver->stream_destroy(stream);
	return result;
}

int ring_cuda_engine_inboxes(int number, size_t bytes, void **memory)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = ring_cuda_chip_get(number, &chip);
	if (!err)
		err = ring_device_cuda.alloc(number, bytes, memory);
	if (err)
		return err;
	int result = ring_cuda_enter(chip, &visit);
	if (!result) {
		bool passed = ring_cuda_gate_await(NULL);
		result = set(chip->driver, *memory, NULL, bytes);
		ring_cuda_gate_give(passed);
		ring_cuda_leave(chip, &visit);
	}
	err = ring_cuda_check(chip, result, "clearing inboxes");
	if (err)
		ring_device_cuda.free(*memory);
	return err;
}

struct ring_device_fifo ring_cuda_engine_fifo(const struct ring_device_team *team)
{
	const struct ring_cuda_inbox inbox = inbox_of(team);
	return (struct ring_device_fifo){.depth = inbox.depth,
					 .slot_bytes = ring_cuda_inbox_slot(&inbox)};
}

static int pin_one(struct ring_device_engine *engine, int rank, char *memory)
{
	int err = ring_device_cuda.pin(memory, engine->inbox_bytes);
	if (!err)
		engine->pinned[rank] = memory;
	return err;
}

static int pin(struct ring_device_engine *engine, const struct ring_device_team *team)
{
	int err = 0;
	if (team->wires)
		return pin_one(engine, team->rank, team->wires->memory);
	for (int rank = 0; rank < team->size && !team->far && !err; rank++)
		err = pin_one(engine, rank, team->inboxes[rank]);
	return err;
}

static void fill_in_inboxes(const struct ring_device_engine *engine, char *const *inboxes,
			    struct ring_engine_far *far)
{
	const int size = engine->size, position = engine->position;
	char *own = inboxes[engine->rank], *next = inboxes[engine->order[(position + 1) % size]];
	char *before = inboxes[engine->order[(position + size - 1) % size]];
	for (int peer = 0; peer < size; peer++) {
		far->shots.to[peer] = ring_cuda_inbox_from(inboxes[peer], engine->rank);
		far->shots.from[peer] = ring_cuda_inbox_from(own, peer);
	}
	for (int block = 0; block < RING_ENGINE_BLOCKS; block++) {
		struct ring_engine_channel *channel = &far->channels[block];
		channel->out = ring_cuda_inbox_link(&engine->inbox, own, next, block);
		channel->in = ring_cuda_inbox_link(&engine->inbox, before, own, block);
	}
}

static struct ring_engine_link link_of(const struct ring_device_fifo *fifo)
{
	return (struct ring_engine_link){.head = fifo->head,
					 .flags = fifo->flags,
					 .slots = fifo->slots,
					 .depth = fifo->depth,
					 .slot_bytes = fifo->slot_bytes};
}

static void fill_in(const struct ring_device_engine *engine, const struct ring_device_team *team,
		    struct ring_engine_far *far)
{
	const struct ring_device_wires *wires = team->wires;
	memset(far, 0, sizeof(*far));
	if (!wires)
		fill_in_inboxes(engine, team->inboxes, far);
	for (int block = 0; block < RING_ENGINE_BLOCKS; block++) {
		struct ring_engine_channel *channel = &far->channels[block];
		if (wires) {
			channel->out = link_of(&wires->to_next[block]);
			channel->in = link_of(&wires->from_before[block]);
		}
		channel->number = CALLS_BEFORE;
		far->shots.calls[block] = CALLS_BEFORE;
	}
}

static void clear(struct ring_engine_near *near)
{
	memset(near, 0, sizeof(*near));
	for (int block = 0; block < RING_ENGINE_BLOCKS; block++)
		near->report.numbers[block] = near->report.ended[block] = CALLS_BEFORE;
}

static int furnish(struct ring_device_engine *engine, const struct ring_device_team *team)
{
	const struct ring_cuda_driver *driver = engine->chip->driver;
	void *near = NULL, *far = NULL;
	if (!ring_cuda_pulse_start(engine->chip->pulse))
		return RING_CUDA_OUT_OF_MEMORY;
	int result = driver->host_alloc(&near, sizeof(*engine->near),
					RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED);
	if (!result)
		clear(near);
	engine->near = near;
	if (!result)
		result = driver->memory_alloc(&far, sizeof(*engine->far));
	engine->far = far;
	if (!result)
		result = driver->event_create(&engine->last, RING_CUDA_EVENT_NO_TIMING);
	if (!result)
		result = driver->event_create(&engine->last_captured, RING_CUDA_EVENT_NO_TIMING);
	if (result)
		return result;
	fill_in(engine, team, &engine->near->first);
	return set(driver, engine->far, &engine->near->first, sizeof(*engine->far));
}

bool ring_cuda_engine_all_have(const void *numbers, uint64_t number)
{
	const uint64_t *of_block = numbers;
	int block = 0;
	while (block < RING_ENGINE_BLOCKS &&
	       __atomic_load_n(&of_block[block], __ATOMIC_ACQUIRE) >= number)
		block++;
	return block == RING_ENGINE_BLOCKS;
}

static const struct ring_device_engine *waiting(const struct ring_cuda_waiter *waiter)
{
	return (const struct ring_device_engine *)waiter;
}

/*
 * A call has not ended, on a GPU that works. Though it is stopped, its kernel may be yet to begin:
 * in one shot that reads its input before it sees so.
 */
static bool uses(const struct ring_cuda_waiter *waiter)
{
	const struct ring_device_engine *engine = waiting(waiter);
	const uint64_t asked = __atomic_load_n(&engine->asked, __ATOMIC_RELAXED);
	return !ring_cuda_engine_all_have(engine->near->report.ended, asked) &&
	       !ring_cuda_pulse_of(engine->chip->pulse);
}

/* Nor is it to. */
static bool waits(const struct ring_cuda_waiter *waiter)
{
	return uses(waiter) &&
	       !__atomic_load_n(&waiting(waiter)->near->report.stop, __ATOMIC_RELAXED);
}

static void unfurnish(const struct ring_device_engine *engine)
{
	const struct ring_cuda_driver *driver = engine->chip->driver;
	if (engine->last)
		driver->event_destroy(engine->last);
	if (engine->last_captured)
		driver->event_destroy(engine->last_captured);
	if (engine->far)
		driver->memory_free(engine->far);
	if (engine->near)
		driver->host_free(engine->near);
}

static struct ring_device_engine *closing(const struct ring_cuda_later *later)
{
	return (struct ring_device_engine *)((char *)(uintptr_t)later -
					     offsetof(struct ring_device_engine, closing));
}

/* Its kernels have ended, or never will. */
static bool may_end(const struct ring_cuda_later *later)
{
	const struct ring_device_engine *engine = closing(later);
	return !engine->near ||
	       ring_cuda_engine_all_have(engine->near->report.ended, engine->launched) ||
	       ring_cuda_pulse_of(engine->chip->pulse);
}

/* In a context that has failed nothing is left to be freed. */
static void end(struct ring_cuda_later *later)
{
	struct ring_device_engine *engine = closing(later);
	struct ring_cuda_visit visit;
	ring_cuda_waiter_remove(&engine->waiter);
	if (!ring_cuda_enter(engine->chip, &visit)) {
		unfurnish(engine);
		ring_cuda_leave(engine->chip, &visit);
	}
	for (int rank = 0; rank < engine->size; rank++)
		if (engine->pinned[rank])
			ring_device_cuda.unpin(engine->pinned[rank], engine->inbox_bytes);
	free(engine);
}

void ring_cuda_engine_stop(struct ring_device_engine *engine)
{
	/* pairs with: ring_engine_is_stopped */
	__atomic_exchange_n(&engine->near->report.stop, 1, __ATOMIC_SEQ_CST);
}

void ring_cuda_engine_close(struct ring_device_engine *engine)
{
	if (!engine)
		return;
	ring_cuda_tell_cancel(&engine->telling);
	if (engine->near)
		ring_cuda_engine_stop(engine);
	ring_cuda_later(&engine->closing);
}

static struct ring_device_engine *make(const struct ring_cuda_chip *chip,
				       const struct ring_device_team *team)
{
	struct ring_device_engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return NULL;
	engine->chip = engine->telling.chip = chip;
	engine->waiter.waits = waits;
	engine->waiter.uses = uses;
	engine->waiter.chip = chip;
	engine->closing.may_end = may_end;
	engine->closing.end = end;
	engine->size = team->size;
	engine->rank = team->rank;
	engine->in_order = team->in_order;
	engine->inbox = inbox_of(team);
	engine->wired = team->wires;
	engine->inbox_bytes = team->wires ? team->wires->bytes : team->inbox_bytes;
	engine->launched = engine->asked = engine->shots = CALLS_BEFORE;
	for (int position = 0; position < team->size; position++) {
		engine->order[position] = team->order[position];
		if (team->order[position] == team->rank)
			engine->position = position;
	}
	return engine;
}

/* A kernel waits for as long as another rank is late. */
static int check_time(const struct ring_cuda_chip *chip)
{
	if (!chip->ends_kernels)
		return 0;
	ring_log(RING_WARN,
		 "%s ends kernels that run for some seconds, as it drives a display: none of them "
		 "can wait for other ranks",
		 chip->text);
	return RING_ENOTSUP;
}

int ring_cuda_engine_open(int number, const struct ring_device_team *team,
			  struct ring_device_engine **opened)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = ring_cuda_chip_find(number, &chip, NULL);
	if (!err)
		err = check_time(chip);
	if (err)
		return err;
	struct ring_device_engine *engine = make(chip, team);
	if (!engine)
		return RING_ENOMEM;
	err = pin(engine, team);
	int result = err ? RING_CUDA_OK : ring_cuda_enter(chip, &visit);
	if (!err && !result) {
		bool passed = ring_cuda_gate_await(NULL);
		result = furnish(engine, team);
		ring_cuda_gate_give(passed);
		ring_cuda_leave(chip, &visit);
	}
	if (!err)
		err = ring_cuda_check(chip, result, "making room for calls on streams");
	if (err) {
		ring_cuda_engine_close(engine);
		return err;
	}
	engine->telling.are_there = ring_cuda_engine_all_have;
	engine->telling.words = engine->near->report.ended;
	ring_cuda_waiter_add(&engine->waiter);
	*opened = engine;
	return 0;
}
