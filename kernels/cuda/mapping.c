/* SPDX-License-Identifier: MIT */
/* Physical memory and addresses of GPUs, brought together; see mapping.h. */
#include "mapping.h"

#include "base/fd.h"
#include "base/log.h"

/* ---- made and ended -------------------------------------------------------------------------- */

/* RDMA devices of the program's may move it, as they may other memory of the chip. */
static struct ring_cuda_physical kind_of(const struct ring_cuda_chip *chip)
{
	return (struct ring_cuda_physical){.kind = RING_CUDA_PHYSICAL_PINNED,
					   .handles = RING_CUDA_HANDLE_FD,
					   .site = {RING_CUDA_SITE_DEVICE, chip->device},
					   .for_rdma = ring_cuda_chip_can(chip,
									  RING_CUDA_MAPS_FOR_RDMA)};
}

static int let(const struct ring_cuda_chip *chip, void *start, size_t bytes)
{
	const struct ring_cuda_access access = {{RING_CUDA_SITE_DEVICE, chip->device},
						RING_CUDA_READ_AND_WRITE};
	return chip->driver->addresses_open(start, bytes, &access, 1);
}

/* Gives physical memory addresses, at which nobody reaches it yet. */
static int place(const struct ring_cuda_driver *driver, uint64_t physical, size_t bytes,
		 void **start)
{
	int result = driver->addresses_reserve(start, bytes, 0, NULL, 0);
	if (result)
		return result;
	result = driver->addresses_map(*start, bytes, 0, physical, 0);
	if (result)
		driver->addresses_free(*start, bytes);
	return result;
}

static void displace(const struct ring_cuda_driver *driver, void *start, size_t bytes)
{
	driver->addresses_unmap(start, bytes);
	driver->addresses_free(start, bytes);
}

/* Lets the chip's jobs reach what was placed there. */
static int give(const struct ring_cuda_chip *chip, void *start, size_t bytes, void **memory)
{
	int result = let(chip, start, bytes);
	if (result)
		displace(chip->driver, start, bytes);
	else
		*memory = start;
	return result;
}

/* It lives on while it is mapped. */
int ring_cuda_mapping_make(const struct ring_cuda_chip *chip, size_t bytes, void **memory)
{
	const struct ring_cuda_physical kind = kind_of(chip);
	const size_t whole = (bytes + chip->unit - 1) / chip->unit * chip->unit;
	uint64_t physical;
	void *start;
	int result = chip->driver->physical_create(&physical, whole, &kind, 0);
	if (result)
		return result;
	result = place(chip->driver, physical, whole, &start);
	chip->driver->physical_release(physical);
	return result ? result : give(chip, start, whole, memory);
}

/*
 * Why a driver imports no descriptor may be its own affair, as in a sandbox; but where it has one,
 * and calls the size invalid that was told, that was a lie.
 */
static int blame(int result)
{
	return result == RING_CUDA_INVALID_VALUE ? RING_CUDA_INVALID_HANDLE : result;
}

int ring_cuda_mapping_import(const struct ring_cuda_chip *chip, int fd, size_t bytes, void **memory)
{
	uint64_t physical;
	void *start;
	int result = chip->driver->physical_import(&physical, (void *)(intptr_t)fd,
						   RING_CUDA_HANDLE_FD);
	if (result)
		return result == RING_CUDA_INVALID_HANDLE ? RING_CUDA_NOT_SUPPORTED : result;
	result = place(chip->driver, physical, bytes, &start);
	chip->driver->physical_release(physical);
	return result ? blame(result) : give(chip, start, bytes, memory);
}

void ring_cuda_mapping_end(const struct ring_cuda_chip *chip, void *memory)
{
	const struct ring_cuda_driver *driver = chip->driver;
	void *start;
	size_t bytes;
	int result = driver->memory_range(&start, &bytes, memory);
	if (!result)
		result = driver->addresses_unmap(start, bytes);
	if (!result)
		result = driver->addresses_free(start, bytes);
	ring_cuda_check(chip, result, "unmapping memory");
}

/* ---- asked about ----------------------------------------------------------------------------- */

bool ring_cuda_mapping_is(const struct ring_cuda_chip *chip, const void *memory)
{
	uint64_t physical;
	if (chip->driver->physical_retain(&physical, (void *)memory))
		return false;
	chip->driver->physical_release(physical);
	return true;
}

int ring_cuda_mapping_export(const struct ring_cuda_chip *chip, const void *memory, int *fd)
{
	uint64_t physical;
	int made;
	int result = chip->driver->physical_retain(&physical, (void *)memory);
	if (result)
		return result;
	result = chip->driver->physical_export(&made, physical, RING_CUDA_HANDLE_FD, 0);
	chip->driver->physical_release(physical);
	if (result)
		return result;
	*fd = ring_fd_take(made);
	return *fd < 0 ? RING_CUDA_OUT_OF_MEMORY : RING_CUDA_OK;
}

int ring_cuda_mapping_let(const struct ring_cuda_chip *chip, const void *memory)
{
	void *start;
	size_t bytes;
	int result = chip->driver->memory_range(&start, &bytes, (void *)memory);
	return result ? result : let(chip, start, bytes);
}

/* ---- tried ----------------------------------------------------------------------------------- */

/* As two processes do; one may import its own, too. */
static int make_and_share(const struct ring_cuda_chip *chip)
{
	void *memory, *again;
	int fd;
	int result = ring_cuda_mapping_make(chip, chip->unit, &memory);
	if (result)
		return result;
	result = ring_cuda_mapping_export(chip, memory, &fd);
	if (!result) {
		result = ring_cuda_mapping_import(chip, fd, chip->unit, &again);
		ring_fd_close(fd);
	}
	if (!result)
		ring_cuda_mapping_end(chip, again);
	ring_cuda_mapping_end(chip, memory);
	return result;
}

static int try(struct ring_cuda_chip *chip)
{
	const struct ring_cuda_physical kind = kind_of(chip);
	int result = chip->driver->physical_unit(&chip->unit, &kind, RING_CUDA_UNIT_LEAST);
	return result ? result : make_and_share(chip);
}

/* What a device says that it can is still refused in some containers and virtual machines. */
void ring_cuda_mapping_try(struct ring_cuda_chip *chip)
{
	if (!ring_cuda_chip_can(chip, RING_CUDA_MAPS) ||
	    !ring_cuda_chip_can(chip, RING_CUDA_HAS_FDS)) {
		ring_log(RING_INFO, "%s has no memory with descriptors, perhaps with handles",
			 chip->text);
		return;
	}
	int result = try(chip);
	if (result)
		chip->unit = 0;
	ring_cuda_check_at(RING_INFO, chip, result,
			   "giving memory a descriptor, instead of a handle,");
}
