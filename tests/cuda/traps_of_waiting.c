/* SPDX-License-Identifier: MIT */
/* Who waits for whom without having been asked to. */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/holdings.h"

/* With fewer hardware queues than streams, who writes the word may be behind who waits for it. */
static int share_a_queue(bool wrong)
{
	(void)wrong; /* the environment is */
	trap_hold(stage.first);
	CUDA_MUST(cuda.stream_write_value(stage.second, stage.word, 1, 0));
	return cuda.stream_synchronize(stage.first);
}

/* Streams of another priority have other hardware queues. */
static int share_a_priority(bool wrong)
{
	struct CUstream_st *stream;
	int least, greatest;
	CUDA_MUST(cuda.context_priorities(&least, &greatest));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING,
				     wrong ? least : greatest));
	trap_hold(stage.first);
	CUDA_MUST(cuda.stream_write_value(stream, stage.word, 1, 0));
	return cuda.stream_synchronize(stage.first);
}

/* Copies in one direction share queues, whatever the priority of their streams. */
static int copy_behind_a_copy(bool wrong)
{
	(void)wrong; /* the environment is */
	struct CUstream_st *stream;
	int least, greatest;
	CUDA_MUST(cuda.context_priorities(&least, &greatest));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, greatest));
	trap_hold(stage.first);
	CUDA_MUST(cuda.memory_copy(stage.pinned, stage.memory, 4, stage.first));
	CUDA_MUST(cuda.memory_copy(stage.pinned + 1, stage.memory, 4, stream));
	int err = cuda.stream_synchronize(stream);
	return err ? err : trap_finish();
}

static atomic_int who_frees;

static void *free_in_a_thread(void *unused)
{
	(void)unused;
	CUDA_MUST(cuda.context_set(stage.context));
	who_frees = gettid();
	CUDA_MUST(cuda.memory_free(stage.other));
	return NULL;
}

/* Whoever waits for the GPU inside a call keeps others from theirs, also from what he waits for. */
static int call_while_another_waits(bool wrong)
{
	pthread_t thread;
	trap_hold(stage.first);
	pthread_create(&thread, NULL, free_in_a_thread, NULL);
	while (!who_frees)
		usleep(1000);
	holdings_await_sleep(who_frees);
	if (wrong)
		CUDA_MUST(cuda.stream_write_value(stage.second, stage.word, 1, 0));
	int err = trap_finish();
	pthread_join(thread, NULL);
	return err;
}

static int launch_while_held(bool wrong)
{
	(void)wrong; /* the environment is */
	CUDA_MUST(cuda.function_load(stage.store));
	trap_hold(stage.first);
	CUDA_MUST(trap_launch(stage.store, stage.first, stage.memory, 7));
	return trap_finish();
}

static int alloc_while_held(bool wrong)
{
	void *memory;
	if (!wrong)
		CUDA_MUST(cuda.memory_alloc(&memory, 100));
	trap_hold(stage.first);
	if (wrong)
		CUDA_MUST(cuda.memory_alloc(&memory, 100));
	return trap_finish();
}

static int free_while_held(bool wrong)
{
	trap_hold(stage.first);
	if (wrong)
		CUDA_MUST(cuda.memory_free(stage.other));
	int err = trap_finish();
	if (!wrong)
		CUDA_MUST(cuda.memory_free(stage.other));
	return err;
}

static int host_alloc_while_held(bool wrong)
{
	void *memory;
	if (!wrong)
		CUDA_MUST(cuda.host_alloc(&memory, 100, 0));
	trap_hold(stage.first);
	if (wrong)
		CUDA_MUST(cuda.host_alloc(&memory, 100, 0));
	return trap_finish();
}

static int host_free_while_held(bool wrong)
{
	trap_hold(stage.first);
	if (wrong)
		CUDA_MUST(cuda.host_free(stage.pinned));
	int err = trap_finish();
	if (!wrong)
		CUDA_MUST(cuda.host_free(stage.pinned));
	return err;
}

static int pin_while_held(bool wrong)
{
	char *memory = calloc(1, 100);
	if (!wrong)
		CUDA_MUST(cuda.host_register(memory, 100, 0));
	trap_hold(stage.first);
	if (wrong)
		CUDA_MUST(cuda.host_register(memory, 100, 0));
	int err = trap_finish();
	CUDA_MUST(cuda.host_unregister(memory));
	free(memory);
	return err;
}

static int enable_a_peer_while_held(bool wrong)
{
	struct CUctx_st *context;
	CUDA_MUST(cuda.primary_retain(&context, 1));
	if (!wrong)
		CUDA_MUST(cuda.context_enable_peer(context, 0));
	trap_hold(stage.first);
	if (wrong)
		CUDA_MUST(cuda.context_enable_peer(context, 0));
	return trap_finish();
}

/* A kernel is loaded when it is first launched. */
static int load_while_held(bool wrong)
{
	int registers;
	if (!wrong)
		CUDA_MUST(cuda.function_attribute(&registers, RING_CUDA_REGISTERS, stage.store));
	trap_hold(stage.first);
	CUDA_MUST(trap_launch(stage.store, stage.second, stage.memory, 7));
	return trap_finish();
}

/* "Async" is for pinned memory. */
static int copy_pageable_while_held(bool wrong)
{
	static char pageable[100];
	trap_hold(stage.first);
	CUDA_MUST(cuda.memory_copy(wrong ? pageable : (char *)stage.pinned, stage.memory,
				   sizeof(pageable), stage.first));
	return trap_finish();
}

/* A stream that was not made as non-blocking and the legacy stream wait for each other. */
static int use_the_legacy_stream(bool wrong)
{
	struct CUstream_st *stream;
	CUDA_MUST(cuda.stream_create(&stream, wrong ? 0 : RING_CUDA_STREAM_NON_BLOCKING, 0));
	trap_hold(stream);
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 1, NULL));
	CUDA_MUST(cuda.stream_synchronize(NULL));
	return trap_finish();
}

/* The other way round; also for a thread's own default stream. */
static int hold_the_legacy_stream(bool wrong)
{
	trap_hold(NULL);
	struct CUstream_st *stream = wrong ? RING_CUDA_STREAM_PER_THREAD : stage.second;
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 1, stream));
	CUDA_MUST(cuda.stream_synchronize(stream));
	return trap_finish();
}

static atomic_int begun, flag;

static void wait_for_flag(void *unused)
{
	(void)unused;
	atomic_store(&begun, 1);
	while (!atomic_load(&flag))
		usleep(1000);
}

static void raise_flag(void *unused)
{
	(void)unused;
	atomic_store(&flag, 1);
}

/* All host functions share a thread. */
static int wait_in_a_host_function(bool wrong)
{
	CUDA_MUST(cuda.stream_host_function(wrong ? stage.first : stage.second,
					    wrong ? wait_for_flag : raise_flag, NULL));
	while (!atomic_load(wrong ? &begun : &flag))
		usleep(1000);
	CUDA_MUST(cuda.stream_host_function(wrong ? stage.second : stage.first,
					    wrong ? raise_flag : wait_for_flag, NULL));
	return cuda.stream_synchronize(stage.first);
}

static void take_a_moment(void *unused)
{
	(void)unused;
	usleep(60000);
}

/* All of it takes longer than patience lasts, and each job much less; or the last one never ends. */
static int have_much_to_do(bool wrong)
{
	for (int jobs = 30; jobs > 0; jobs--)
		CUDA_MUST(cuda.stream_host_function(
			stage.first, wrong && jobs == 1 ? wait_for_flag : take_a_moment, NULL));
	CUDA_MUST(cuda.memory_copy(stage.pinned, stage.memory, 4, stage.first));
	return cuda.stream_synchronize(stage.first);
}

/* So much can be given and not done yet; giving more waits. */
static int fill_a_queue(bool wrong)
{
	trap_hold(stage.first);
	for (int jobs = wrong ? 1100 : 900; jobs > 0; jobs--)
		CUDA_MUST(cuda.memory_set(stage.memory, 1, 1, stage.first));
	return trap_finish();
}

/* A wait is for the record before it, and for none if there was none. */
static int record_after_the_wait(bool wrong)
{
	if (wrong)
		CUDA_MUST(cuda.stream_wait_event(stage.second, stage.event, 0));
	trap_hold(stage.first);
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 4, stage.first));
	CUDA_MUST(cuda.event_record(stage.event, stage.first));
	if (!wrong)
		CUDA_MUST(cuda.stream_wait_event(stage.second, stage.event, 0));
	CUDA_MUST(cuda.memory_copy(stage.pinned, stage.memory, 4, stage.second));
	if (wrong)
		CUDA_MUST(cuda.stream_synchronize(stage.second));
	CUDA_MUST(trap_finish());
	return *stage.pinned == 0x01010101 ? 0 : TRAP_STALE;
}

/* A call that has returned has only asked for the work. */
static int read_before_it_is_done(bool wrong)
{
	trap_hold(stage.first);
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 4, stage.first));
	CUDA_MUST(cuda.memory_copy(stage.pinned, stage.memory, 4, stage.first));
	if (!wrong)
		CUDA_MUST(trap_finish());
	int err = *stage.pinned == 0x01010101 ? 0 : TRAP_STALE;
	CUDA_MUST(trap_finish());
	return err;
}

const struct trap traps_of_waiting[] = {
	{.name = "two streams share a hardware queue",
	 .run = share_a_queue,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "CUDA_DEVICE_MAX_CONNECTIONS=1"},
	{.name = "two streams of one priority share a hardware queue",
	 .run = share_a_priority,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "CUDA_DEVICE_MAX_CONNECTIONS=1",
	 .right_env = "CUDA_DEVICE_MAX_CONNECTIONS=1"},
	{.name = "two copies share a hardware queue",
	 .run = copy_behind_a_copy,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "CUDA_DEVICE_MAX_COPY_CONNECTIONS=1"},
	{.name = "a thread that waits has the context's lock",
	 .run = call_while_another_waits,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "RING_FAKE_CUDA_LOCKS=1",
	 .right_env = "RING_FAKE_CUDA_LOCKS=1"},
	{.name = "launches wait for their kernels",
	 .run = launch_while_held,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "CUDA_LAUNCH_BLOCKING=1"},
	{.name = "memory is allocated while a stream waits",
	 .run = alloc_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "memory is freed while a stream waits",
	 .run = free_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "host memory is allocated while a stream waits",
	 .run = host_alloc_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "host memory is freed while a stream waits",
	 .run = host_free_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "memory is pinned while a stream waits",
	 .run = pin_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "another device is let reach while a stream waits",
	 .run = enable_a_peer_while_held,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2",
	 .is_stricter = true},
	{.name = "a kernel is loaded while a stream waits",
	 .run = load_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "kernels are loaded with their module",
	 .run = load_while_held,
	 .comes_to = 0,
	 .wrong_env = "CUDA_MODULE_LOADING=EAGER"},
	{.name = "pageable memory is copied to in a stream that waits",
	 .run = copy_pageable_while_held,
	 .comes_to = TRAP_HANGS},
	{.name = "the legacy stream comes behind one that waits",
	 .run = use_the_legacy_stream,
	 .comes_to = TRAP_HANGS},
	{.name = "a stream comes behind the legacy one, which waits",
	 .run = hold_the_legacy_stream,
	 .comes_to = TRAP_HANGS},
	{.name = "a host function waits for another",
	 .run = wait_in_a_host_function,
	 .comes_to = TRAP_HANGS},
	{.name = "much work is no hang",
	 .run = have_much_to_do,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "RING_FAKE_CUDA_PATIENCE_MS=1000",
	 .right_env = "RING_FAKE_CUDA_PATIENCE_MS=1000"},
	{.name = "a queue is full", .run = fill_a_queue, .comes_to = TRAP_HANGS, .is_stricter = true},
	{.name = "an event is recorded after the wait for it",
	 .run = record_after_the_wait,
	 .comes_to = TRAP_STALE},
	{.name = "a result is read before it is there",
	 .run = read_before_it_is_done,
	 .comes_to = TRAP_STALE},
	{.name = NULL},
};
