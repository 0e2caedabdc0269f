/* SPDX-License-Identifier: MIT */
/*
 * Memory of a GPU that other GPUs reach, and other processes: those open it by a descriptor, if it
 * was made so (mapping.h), else by the driver's handle of a whole allocation. Whatever else a
 * driver refuses, it is likely to refuse again, so it says that memory has no name, or that GPUs do
 * not reach one another, and calls go by the host.
 */
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "later.h"
#include "mapping.h"
#include "memory.h"

_Static_assert(sizeof(struct ring_cuda_handle) == sizeof(((struct ring_lent *)0)->handle),
	       "a handle has a place in what is told");

/* Says what the driver refuses, for whoever looks. */
static int refused(const struct ring_cuda_chip *chip, int result, const char *doing)
{
	int err = ring_cuda_check_at(RING_INFO, chip, result, doing);
	return err && err != RING_ENOMEM ? RING_ENOTSUP : err;
}

/* ---- lending --------------------------------------------------------------------------------- */

/* A descriptor goes with the size of what it names, which is mapped whole. */
static int describe(const struct ring_cuda_chip *chip, uint64_t bytes, struct ring_region *region)
{
	int result = ring_cuda_mapping_export(chip, region->start, &region->fd);
	if (!result)
		memcpy(region->lent.handle, &bytes, sizeof(bytes));
	return result;
}

/* Memory of pools has none. */
static int name(const struct ring_cuda_chip *chip, void *start, struct ring_region *region)
{
	struct ring_cuda_handle handle;
	int result = chip->driver->memory_handle(&handle, start);
	if (!result)
		memcpy(region->lent.handle, &handle, sizeof(handle));
	return result;
}

/* One name, so one allocation, or one mapping. returns as lend() */
static int name_region(const struct ring_cuda_chip *chip, struct ring_region *region)
{
	void *start;
	size_t bytes;
	int result = chip->driver->memory_range(&start, &bytes, region->start);
	if (result)
		return refused(chip, result, "asking where memory begins");
	region->lent.offset = (uint64_t)((char *)region->start - (char *)start);
	if (region->bytes > bytes - region->lent.offset)
		return RING_ENOTSUP;
	result = ring_cuda_mapping_is(chip, region->start) ? describe(chip, bytes, region)
							   : name(chip, start, region);
	region->lends = !result;
	return refused(chip, result, "asking for a name of memory");
}

static int lend(struct ring_region *region)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = ring_cuda_chip_get(region->chip, &chip);
	if (err)
		return err;
	int result = ring_cuda_enter(chip, &visit);
	if (result)
		return refused(chip, result, "entering the device");
	err = name_region(chip, region);
	ring_cuda_leave(chip, &visit);
	return err;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_by(const struct ring_cuda_chip *chip, const struct ring_lent *lent, int fd,
		   void **memory)
{
	struct ring_cuda_handle handle;
	uint64_t bytes;
	memcpy(&handle, lent->handle, sizeof(handle));
	memcpy(&bytes, lent->handle, sizeof(bytes));
	return fd >= 0 ? ring_cuda_mapping_import(chip, fd, bytes, memory)
		       : chip->driver->handle_open(memory, handle, RING_CUDA_IPC_LAZY_PEERS);
}

static void shut(const struct ring_cuda_chip *chip, void *memory)
{
	if (ring_cuda_mapping_is(chip, memory))
		ring_cuda_mapping_end(chip, memory);
	else
		ring_cuda_check(chip, chip->driver->handle_close(memory),
				"closing another process's memory");
}

/* How much lies there. */
static int measure(const struct ring_cuda_chip *chip, void *memory, size_t *bytes)
{
	void *start;
	size_t all;
	int result = chip->driver->memory_range(&start, &all, memory);
	if (!result)
		*bytes = all - (size_t)((char *)memory - (char *)start);
	return result;
}

/* Memory of which the driver does not say how much it is stays shut. */
static int open_and_measure(const struct ring_cuda_chip *chip, const struct ring_lent *lent, int fd,
			    void **memory, size_t *bytes)
{
	int result = open_by(chip, lent, fd, memory);
	if (result)
		return result;
	result = measure(chip, *memory, bytes);
	if (result)
		shut(chip, *memory);
	return result;
}

static int open_lent(int number, const struct ring_lent *lent, int fd, void **memory, size_t *bytes)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = ring_cuda_chip_get(number, &chip);
	if (err)
		return err;
	int result = ring_cuda_enter(chip, &visit);
	if (!result) {
		bool passed = ring_cuda_gate_await(NULL);
		result = open_and_measure(chip, lent, fd, memory, bytes);
		ring_cuda_gate_give(passed);
		ring_cuda_leave(chip, &visit);
	}
	err = refused(chip, result, "opening another process's memory");
	return fd >= 0 && result == RING_CUDA_INVALID_HANDLE ? RING_EPEER : err;
}

/* To be closed when no stream waits. */
struct opened {
	struct ring_cuda_later base;
	const struct ring_cuda_chip *chip;
	void *memory;
};

static void close_now(const struct ring_cuda_chip *chip, void *memory)
{
	struct ring_cuda_visit visit;
	if (ring_cuda_enter(chip, &visit))
		return; /* it is gone with the context */
	shut(chip, memory);
	ring_cuda_leave(chip, &visit);
}

static int to_close; /* of all chips */

static void end_opened(struct ring_cuda_later *base)
{
	struct opened *opened = (struct opened *)base;
	close_now(opened->chip, opened->memory);
	free(opened);
	__atomic_fetch_sub(&to_close, 1, __ATOMIC_RELEASE); /* pairs with: has_closed */
}

static void close_lent(int number, void *memory)
{
	const struct ring_cuda_chip *chip;
	if (ring_cuda_chip_get(number, &chip))
		return;
	struct opened *opened = malloc(sizeof(*opened));
	if (!opened) {
		close_now(chip, memory);
		return;
	}
	*opened = (struct opened){.base = {.end = end_opened}, .chip = chip, .memory = memory};
	__atomic_fetch_add(&to_close, 1, __ATOMIC_RELAXED);
	ring_cuda_later(&opened->base);
}

/* Memory of other chips counts as well: it only makes this later. */
static bool has_closed(int number)
{
	(void)number;
	ring_cuda_catch_up();
	return __atomic_load_n(&to_close, __ATOMIC_ACQUIRE) == 0; /* pairs with: end_opened */
}

/* ---- from chip to chip ----------------------------------------------------------------------- */

/* All other memory of a chip is reached at once. */
static int enable(const struct ring_cuda_chip *chip, const struct ring_cuda_chip *peer)
{
	int result = chip->driver->context_enable_peer(peer->context, 0);
	return result == RING_CUDA_PEER_ALREADY_ENABLED ? RING_CUDA_OK : result;
}

static int let(const struct ring_cuda_chip *chip, const struct ring_cuda_chip *peer,
	       const void *memory)
{
	struct ring_cuda_visit visit;
	int can = 0;
	int result = chip->driver->device_reaches(&can, chip->device, peer->device);
	if (result || !can)
		return result ? result : RING_CUDA_NO_PEER_ACCESS;
	result = ring_cuda_enter(chip, &visit);
	if (result)
		return result;
	bool passed = ring_cuda_gate_await(NULL);
	result = ring_cuda_mapping_is(chip, memory) ? ring_cuda_mapping_let(chip, memory)
						    : enable(chip, peer);
	ring_cuda_gate_give(passed);
	ring_cuda_leave(chip, &visit);
	return result;
}

static int reach(int number, const void *memory)
{
	const struct ring_cuda_chip *chip, *peer;
	int device = number;
	int err = ring_cuda_chip_get(number, &chip);
	if (err)
		return err;
	int result = chip->driver->pointer_attribute(&device, RING_CUDA_POINTER_DEVICE, memory);
	if (result || device == number)
		return refused(chip, result, "asking which device has memory");
	err = ring_cuda_chip_get(device, &peer);
	return err ? err : refused(chip, let(chip, peer, memory), "reaching another device");
}

/* PCIe has no atomic operations for GPUs to use on one another's memory; NVLink has. */
static enum ring_distance distance(int number, const void *memory)
{
	const struct ring_cuda_chip *chip;
	int device, peer, is_link = 0;
	if (ring_cuda_chip_get(number, &chip) ||
	    chip->driver->pointer_attribute(&device, RING_CUDA_POINTER_DEVICE, memory))
		return RING_DISTANCE_BUS;
	if (device == number)
		return RING_DISTANCE_NONE;
	bool known = !chip->driver->device_get(&peer, device) &&
		     !chip->driver->device_peer_attribute(&is_link, RING_CUDA_PEER_ATOMICS,
							  chip->device, peer);
	return known && is_link ? RING_DISTANCE_LINK : RING_DISTANCE_BUS;
}

const struct ring_device_lending ring_cuda_lending = {
	.lend = lend,
	.open = open_lent,
	.close = close_lent,
	.has_closed = has_closed,
	.leave = ring_cuda_memory_leave,
	.reach = reach,
	.distance = distance,
};
