/* SPDX-License-Identifier: MIT */
/*
 * Making, pinning and freeing memory. All of it waits until the context has done what it was given:
 * whoever calls this while a stream waits for him waits for ever.
 */
#include "fake.h"

#include <sys/mman.h>

#define PAGE 4096

#define KIND(kind) (1u << (kind))

static int add(const char *function, struct fake_range *range)
{
	range->context = fake_current();
	range->owner = fake_settings.visible[range->context->device];
	int err = range->bytes ? fake_context_await(range->context, function)
			       : RING_CUDA_INVALID_VALUE;
	return err ? err : fake_memory_add(range);
}

/* Memory that begins there, of one of those kinds; of what is found the context is waited for. */
static int free_memory(const char *function, void *memory, unsigned kinds, int otherwise)
{
	int err = fake_begin(function, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	struct fake_range range;
	if (!fake_memory_find(memory, &range) || range.base != memory || !(KIND(range.kind) & kinds))
		return fake_end(otherwise);
	if (fake_ipc_is_open(&range))
		return fake_end(RING_CUDA_INVALID_VALUE);
	err = fake_settings.frees_wait ? fake_context_await(range.context, function) : 0;
	if (!err)
		fake_memory_remove(memory);
	return fake_end(err);
}

/* ---- of devices ------------------------------------------------------------------------------ */

static int alloc(const char *function, void **memory, size_t bytes, enum fake_kind kind, bool pooled)
{
	int err = fake_begin(function, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	struct fake_range range = {.bytes = bytes, .kind = kind, .pooled = pooled};
	err = add(function, &range);
	if (!err)
		*memory = range.base;
	return fake_end(err);
}

int cuMemAlloc_v2(void **memory, size_t bytes)
{
	return alloc(__func__, memory, bytes, FAKE_DEVICE_MEMORY, false);
}

/* It is there at once, and cuMemFree frees it. */
int cuMemAllocAsync(void **memory, size_t bytes, struct CUstream_st *stream)
{
	(void)stream;
	return alloc(__func__, memory, bytes, FAKE_DEVICE_MEMORY, true);
}

int cuMemAllocManaged(void **memory, size_t bytes, unsigned flags)
{
	(void)flags;
	return alloc(__func__, memory, bytes, FAKE_MANAGED_MEMORY, false);
}

int cuMemFree_v2(void *memory)
{
	return free_memory(__func__, memory, KIND(FAKE_DEVICE_MEMORY) | KIND(FAKE_MANAGED_MEMORY),
			   RING_CUDA_INVALID_VALUE);
}

int cuMemGetInfo_v2(size_t *free, size_t *total)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	*total = fake_settings.memory_bytes;
	*free = *total - fake_memory_used(fake_current());
	return fake_end(0);
}

int cuMemGetAddressRange_v2(void **base, size_t *bytes, void *memory)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct fake_range range;
	if (!fake_memory_find(memory, &range) || range.kind == FAKE_REGISTERED_MEMORY)
		return fake_end(RING_CUDA_NOT_FOUND);
	if (base)
		*base = range.base;
	if (bytes)
		*bytes = range.bytes;
	return fake_end(0);
}

/* ---- of the host ----------------------------------------------------------------------------- */

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	(void)flags; /* addresses are the same for all */
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
	if (!bytes || pages < bytes)
		return fake_end(RING_CUDA_INVALID_VALUE);
	void *at = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return fake_end(RING_CUDA_OUT_OF_MEMORY);
	struct fake_range range = {
		.base = at, .place = at, .bytes = bytes, .kind = FAKE_PINNED_MEMORY};
	err = add(__func__, &range);
	if (err)
		munmap(at, pages);
	else
		*memory = at;
	return fake_end(err);
}

int cuMemFreeHost(void *memory)
{
	return free_memory(__func__, memory, KIND(FAKE_PINNED_MEMORY), RING_CUDA_INVALID_VALUE);
}

/* Whether all of its pages are there. */
static bool is_mapped(const void *memory, size_t bytes)
{
	unsigned char resident[256];
	size_t start = (uintptr_t)memory % PAGE;
	const char *page = (const char *)memory - start;
	for (size_t left = start + bytes; left;) {
		size_t length = left < sizeof(resident) * PAGE ? left : sizeof(resident) * PAGE;
		if (mincore((void *)page, length, resident))
			return false;
		page += length;
		left -= length;
	}
	return true;
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
	(void)flags;
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	if (!fake_settings.pins)
		return fake_end(RING_CUDA_NOT_SUPPORTED);
	if (!memory || fake_memory_is_far(memory) || !is_mapped(memory, bytes))
		return fake_end(RING_CUDA_INVALID_VALUE);
	struct fake_range range = {
		.base = memory, .place = memory, .bytes = bytes, .kind = FAKE_REGISTERED_MEMORY};
	return fake_end(add(__func__, &range));
}

int cuMemHostUnregister(void *memory)
{
	return free_memory(__func__, memory, KIND(FAKE_REGISTERED_MEMORY), RING_CUDA_NOT_REGISTERED);
}

int cuMemHostGetDevicePointer_v2(void **address, void *memory, unsigned flags)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct fake_range range;
	if (flags || !fake_memory_find(memory, &range) || range.kind == FAKE_DEVICE_MEMORY ||
	    range.kind == FAKE_MAPPED_MEMORY)
		return fake_end(RING_CUDA_INVALID_VALUE);
	*address = memory;
	return fake_end(0);
}
