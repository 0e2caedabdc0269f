/* SPDX-License-Identifier: MIT */
/* Who reaches which address. */
#include "trap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int touch_it(bool wrong)
{
	if (wrong)
		memset(stage.memory, 1, 4);
	else
		CUDA_MUST(cuda.memory_set(stage.memory, 1, 4, stage.second));
	return trap_look(stage.memory) == 0x01010101 ? 0 : TRAP_STALE;
}

/* A system call does not fault, it gives EFAULT. */
static int write_it(bool wrong)
{
	int ends[2];
	if (pipe(ends))
		return TRAP_STALE;
	ssize_t sent = write(ends[1], wrong ? stage.memory : (char *)stage.pinned, 4);
	int err = sent == 4 ? 0 : errno == EFAULT ? TRAP_FAULTS : TRAP_STALE;
	close(ends[0]);
	close(ends[1]);
	return err;
}

static int copy_what_was_freed(bool wrong)
{
	if (wrong)
		CUDA_MUST(cuda.memory_free(stage.other));
	return cuda.memory_copy(stage.pinned, stage.other, 4, stage.first);
}

static int free_twice(bool wrong)
{
	CUDA_MUST(cuda.memory_free(stage.other));
	return wrong ? cuda.memory_free(stage.other) : 0;
}

static int store_to_what_was_freed(bool wrong)
{
	if (wrong)
		CUDA_MUST(cuda.memory_free(stage.other));
	CUDA_MUST(trap_launch(stage.store, stage.first, stage.other, 1));
	return trap_finish();
}

/* Freeing may wait for the kernel, or not. */
static int free_what_is_stored_to(bool wrong)
{
	CUDA_MUST(cuda.function_load(stage.store));
	trap_hold(stage.first);
	CUDA_MUST(trap_launch(stage.store, stage.first, stage.other, 1));
	int err = wrong ? 0 : trap_finish();
	if (!err)
		err = cuda.memory_free(stage.other);
	return err ? err : trap_finish();
}

static int store_beyond_the_end(bool wrong)
{
	char *at = stage.memory + TRAP_BYTES - (wrong ? 0 : 4);
	CUDA_MUST(trap_launch(stage.store, stage.first, at, 1));
	return trap_finish();
}

static int copy_beyond_the_end(bool wrong)
{
	return cuda.memory_copy(stage.other, stage.memory, TRAP_BYTES + wrong, stage.first);
}

static int store_to_pageable(bool wrong)
{
	static uint32_t pageable;
	CUDA_MUST(trap_launch(stage.store, stage.first, wrong ? &pageable : stage.pinned, 1));
	return trap_finish();
}

static int store_misaligned(bool wrong)
{
	CUDA_MUST(trap_launch(stage.store_wide, stage.first, stage.memory + (wrong ? 4 : 16), 1));
	return trap_finish();
}

/* Memory of device 0, seen from device 1. */
static int store_to_another_device(bool wrong)
{
	struct CUctx_st *context;
	struct CUmod_st *module;
	struct CUfunc_st *store;
	struct CUstream_st *stream;
	CUDA_MUST(cuda.primary_retain(&context, 1));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.module_load(&module, trap_image));
	CUDA_MUST(cuda.module_function(&store, module, "trap_store"));
	if (!wrong)
		CUDA_MUST(cuda.context_enable_peer(stage.context, 0));
	CUDA_MUST(trap_launch(store, stream, stage.memory, 9));
	int err = cuda.stream_synchronize(stream);
	if (err)
		return err;
	CUDA_MUST(cuda.context_set(stage.context));
	return trap_look(stage.memory) == 9 ? 0 : TRAP_STALE;
}

static int store_to_another_device_rightly(bool wrong)
{
	(void)wrong;
	return store_to_another_device(false);
}

static int enable_peers(bool wrong)
{
	struct CUctx_st *context;
	int can = -1;
	CUDA_MUST(cuda.primary_retain(&context, 1));
	CUDA_MUST(cuda.device_reaches(&can, 0, 1));
	if (can == wrong)
		return TRAP_STALE;
	return cuda.context_enable_peer(context, 0);
}

/* What other processes are to open is a whole allocation of a device. */
static int name_it(bool wrong)
{
	struct ring_cuda_handle handle;
	return cuda.memory_handle(&handle, wrong ? (void *)stage.pinned : stage.memory);
}

static int name_its_middle(bool wrong)
{
	struct ring_cuda_handle handle;
	return cuda.memory_handle(&handle, stage.memory + (wrong ? 4096 : 0));
}

/* A process has its own memory already. */
static int open_own_memory(bool wrong)
{
	struct ring_cuda_handle handle;
	void *memory = stage.memory;
	CUDA_MUST(cuda.memory_handle(&handle, stage.memory));
	int err = wrong ? cuda.handle_open(&memory, handle, RING_CUDA_IPC_LAZY_PEERS) : 0;
	return err ? err : trap_look(memory) == 0 ? 0 : TRAP_STALE;
}

static int close_own_memory(bool wrong)
{
	return wrong ? cuda.handle_close(stage.memory) : cuda.memory_free(stage.memory);
}

/* What a library must ask before it takes a pointer. */
static int ask_what_it_is(bool wrong)
{
	static char pageable;
	unsigned kind = 0;
	return cuda.pointer_attribute(&kind, RING_CUDA_POINTER_KIND,
				      wrong ? &pageable : (void *)stage.memory);
}

static int ask_what_freed_memory_is(bool wrong)
{
	unsigned kind = 0;
	if (wrong)
		CUDA_MUST(cuda.memory_free(stage.other));
	return cuda.pointer_attribute(&kind, RING_CUDA_POINTER_KIND, stage.other);
}

static int pin_twice(bool wrong)
{
	char *memory = calloc(1, 100);
	CUDA_MUST(cuda.host_register(memory, 100, 0));
	int err = wrong ? cuda.host_register(memory + 50, 10, 0) : 0;
	CUDA_MUST(cuda.host_unregister(memory));
	free(memory);
	return err;
}

/* What is pinned are pages. */
static int pin_beside(bool wrong)
{
	char *memory = aligned_alloc(4096, 2 * 4096);
	CUDA_MUST(cuda.host_register(memory, 100, 0));
	char *beside = memory + (wrong ? 200 : 4096);
	int err = cuda.host_register(beside, 100, 0);
	if (!err)
		CUDA_MUST(cuda.host_unregister(beside));
	CUDA_MUST(cuda.host_unregister(memory));
	free(memory);
	return err;
}

static int allocate_too_much(bool wrong)
{
	void *memory;
	return cuda.memory_alloc(&memory, (size_t)(wrong ? 9 : 7) << 20);
}

const struct trap traps_of_memory[] = {
	{.name = "the host touches device memory", .run = touch_it, .comes_to = TRAP_FAULTS},
	{.name = "a system call is given device memory", .run = write_it, .comes_to = TRAP_FAULTS},
	{.name = "freed memory is copied",
	 .run = copy_what_was_freed,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "memory is freed twice", .run = free_twice, .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "a kernel stores to freed memory",
	 .run = store_to_what_was_freed,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS,
	 .is_stricter = true},
	{.name = "memory is freed to which a kernel is to store",
	 .run = free_what_is_stored_to,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS,
	 .wrong_env = "RING_FAKE_CUDA_FREES_WAIT=0",
	 .right_env = "RING_FAKE_CUDA_FREES_WAIT=0"},
	{.name = "a kernel stores beyond the end",
	 .run = store_beyond_the_end,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS,
	 .is_stricter = true},
	{.name = "a copy goes beyond the end",
	 .run = copy_beyond_the_end,
	 .comes_to = RING_CUDA_INVALID_VALUE,
	 .is_stricter = true},
	{.name = "a kernel stores to pageable memory",
	 .run = store_to_pageable,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS},
	{.name = "16 bytes are stored to an odd place",
	 .run = store_misaligned,
	 .comes_to = RING_CUDA_MISALIGNED_ADDRESS},
	{.name = "a kernel stores to another device's memory",
	 .run = store_to_another_device,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "devices that do not reach one another",
	 .run = enable_peers,
	 .comes_to = CUDA_PEER_ACCESS_UNSUPPORTED,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2 RING_FAKE_CUDA_PEERS=0",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "two devices that do not reach one another",
	 .run = enable_peers,
	 .comes_to = CUDA_PEER_ACCESS_UNSUPPORTED,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=3 RING_FAKE_CUDA_APART=0-1",
	 .right_env = "RING_FAKE_CUDA_DEVICES=3 RING_FAKE_CUDA_APART=0-2,1-2"},
	{.name = "devices that only say that they reach one another",
	 .run = store_to_another_device_rightly,
	 .comes_to = TRAP_STALE,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2 RING_FAKE_CUDA_PEERS=2",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "memory of the host is to have a handle",
	 .run = name_it,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "the middle of memory is to have a handle",
	 .run = name_its_middle,
	 .comes_to = RING_CUDA_INVALID_VALUE,
	 .is_stricter = true},
	{.name = "a process opens its own memory",
	 .run = open_own_memory,
	 .comes_to = RING_CUDA_INVALID_CONTEXT},
	{.name = "memory is closed that was not opened",
	 .run = close_own_memory,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "a pageable pointer is asked about",
	 .run = ask_what_it_is,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "a freed pointer is asked about",
	 .run = ask_what_freed_memory_is,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "memory is pinned twice", .run = pin_twice, .comes_to = RING_CUDA_ALREADY_REGISTERED},
	{.name = "two ranges of a page are pinned",
	 .run = pin_beside,
	 .comes_to = RING_CUDA_ALREADY_REGISTERED,
	 .is_stricter = true},
	{.name = "more memory than there is",
	 .run = allocate_too_much,
	 .comes_to = RING_CUDA_OUT_OF_MEMORY,
	 .wrong_env = "RING_FAKE_CUDA_MEMORY_MB=8",
	 .right_env = "RING_FAKE_CUDA_MEMORY_MB=8"},
	{.name = NULL},
};
