/* SPDX-License-Identifier: MIT */
/*
 * What a pointer points to. Of memory that the driver knows nothing of, as of freed memory, one
 * attribute is an error; several at once are all zero, and that is none.
 */
#include "fake.h"

#include <string.h>

enum { DEVICE_POINTER = 3, HOST_POINTER = 4, MAPPED = 13 };

/* The size of a value, 0: unknown. */
static size_t value_bytes(int attribute)
{
	switch (attribute) {
	case RING_CUDA_POINTER_CONTEXT:
	case RING_CUDA_POINTER_RANGE_START:
	case RING_CUDA_POINTER_RANGE_BYTES:
	case DEVICE_POINTER:
	case HOST_POINTER:
	case RING_CUDA_POINTER_ID:
		return 8;
	case RING_CUDA_POINTER_KIND:
	case RING_CUDA_POINTER_DEVICE:
		return 4;
	case RING_CUDA_POINTER_MANAGED:
	case CUDA_POINTER_FOR_RDMA:
	case MAPPED:
		return 1;
	default:
		return 0;
	}
}

static uint64_t value_of(int attribute, const void *memory, const struct fake_range *range)
{
	bool apart = range->kind == FAKE_DEVICE_MEMORY || range->kind == FAKE_IMPORTED_MEMORY ||
		     range->kind == FAKE_MAPPED_MEMORY;
	bool far = apart || range->kind == FAKE_MANAGED_MEMORY;
	char *start = range->base;
	size_t bytes = range->bytes;
	if (range->kind == FAKE_MAPPED_MEMORY)
		fake_mapping_reserved(range, &start, &bytes);
	switch (attribute) {
	case RING_CUDA_POINTER_CONTEXT:
		return (uintptr_t)range->context;
	case RING_CUDA_POINTER_RANGE_START:
		return (uintptr_t)start;
	case RING_CUDA_POINTER_ID:
		return range->id;
	case RING_CUDA_POINTER_RANGE_BYTES:
		return bytes;
	case DEVICE_POINTER:
		return (uintptr_t)memory;
	case HOST_POINTER:
		return apart ? 0 : (uintptr_t)memory;
	case RING_CUDA_POINTER_KIND:
		return far ? RING_CUDA_MEMORY_DEVICE : RING_CUDA_MEMORY_HOST;
	case RING_CUDA_POINTER_DEVICE:
		return (uint64_t)range->context->device;
	case RING_CUDA_POINTER_MANAGED:
		return range->kind == FAKE_MANAGED_MEMORY;
	case CUDA_POINTER_FOR_RDMA:
		return range->kind == FAKE_MAPPED_MEMORY ? range->for_rdma
							 : range->kind == FAKE_DEVICE_MEMORY;
	default:
		return 1; /* it is mapped */
	}
}

int cuPointerGetAttribute(void *value, int attribute, const void *memory)
{
	int err = fake_begin(__func__, FAKE_ASKS);
	if (err)
		return err;
	struct fake_range range;
	size_t bytes = value_bytes(attribute);
	if (!bytes || !fake_memory_find(memory, &range))
		return fake_end(RING_CUDA_INVALID_VALUE);
	uint64_t is = value_of(attribute, memory, &range);
	memcpy(value, &is, bytes); /* little-endian, as all hosts of the real one */
	return fake_end(0);
}

int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, const void *memory)
{
	int err = fake_begin(__func__, FAKE_ASKS);
	if (err)
		return err;
	struct fake_range range;
	bool known = fake_memory_find(memory, &range);
	for (unsigned i = 0; i < count; i++) {
		size_t bytes = value_bytes(attributes[i]);
		uint64_t is = known ? value_of(attributes[i], memory, &range) : 0;
		if (!bytes)
			return fake_end(RING_CUDA_INVALID_VALUE);
		memcpy(values[i], &is, bytes);
	}
	return fake_end(0);
}
