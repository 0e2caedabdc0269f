/* SPDX-License-Identifier: MIT */
/* Allocating memory that can be shared, and registering memory that cannot. Local calls. */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../transport/sealed.h"
#include "comm.h"
#include "fd.h"

static void drop(struct ring_region **link)
{
	struct ring_region *region = *link;
	*link = region->next;
	if (region->fd >= 0) {
		munmap(region->memory, region->bytes);
		ring_fd_close(region->fd);
	}
	free(region);
}

void ring_regions_free(struct ring_region **regions)
{
	while (*regions)
		drop(regions);
}

size_t ring_regions_allocated(const struct ring_region *regions)
{
	size_t bytes = 0;
	for (; regions; regions = regions->next)
		bytes += regions->fd >= 0 ? regions->bytes : 0;
	return bytes;
}

static struct ring_region *add(struct ring_comm *comm, void *memory, size_t bytes, int fd)
{
	struct ring_region *region = malloc(sizeof(*region));
	if (!region)
		return NULL;
	*region = (struct ring_region){memory, bytes, fd, comm->regions};
	comm->regions = region;
	return region;
}

static bool is_ours(const struct ring_comm *comm)
{
	return comm && comm->fork_generation == ring_fork_generation();
}

static int allocate(struct ring_comm *comm, size_t bytes, void **memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (bytes == 0 || bytes > PTRDIFF_MAX - page)
		return ring_comm_refuse(comm, RING_EINVAL, "ring_mem_alloc: %zu bytes", bytes);
	void *made;
	int fd;
	bytes = (bytes + page - 1) / page * page;
	int err = ring_sealed_create("ringccl-memory", bytes, &fd, &made);
	if (err)
		return ring_comm_refuse(comm, err,
					"ring_mem_alloc: no %zu bytes of shared memory: %m", bytes);
	if (!add(comm, made, bytes, fd)) {
		munmap(made, bytes);
		ring_fd_close(fd);
		return ring_comm_refuse(comm, RING_ENOMEM, "ring_mem_alloc: no memory");
	}
	*memory = made;
	return 0;
}

int ring_mem_alloc(struct ring_comm *comm, size_t bytes, void **memory)
{
	if (!is_ours(comm))
		return RING_EINVAL;
	return memory ? allocate(comm, bytes, memory)
		      : ring_comm_refuse(comm, RING_EINVAL, "ring_mem_alloc: memory is NULL");
}

int ring_mem_free(struct ring_comm *comm, void *memory)
{
	if (!is_ours(comm))
		return RING_EINVAL;
	struct ring_region **link = &comm->regions;
	while (*link && ((*link)->memory != memory || (*link)->fd < 0))
		link = &(*link)->next;
	if (!*link)
		return ring_comm_refuse(comm, RING_EINVAL,
					"ring_mem_free: %p is not from this communicator's "
					"ring_mem_alloc",
					memory);
	drop(link);
	return 0;
}

/* Asks the kernel, which refuses ranges with holes; what else it tells is not wanted. */
static bool is_mapped(const void *memory, size_t bytes)
{
	unsigned char resident[1024];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), most = sizeof(resident) * page;
	uintptr_t at = (uintptr_t)memory / page * page;
	uintptr_t end = (uintptr_t)memory + bytes;
	bool mapped = end > at;
	while (mapped && at < end) {
		uintptr_t part = end - at < most ? end - at : most;
		mapped = mincore((void *)at, part, resident) == 0;
		at += part;
	}
	return mapped;
}

int ring_mem_register(struct ring_comm *comm, void *memory, size_t bytes,
		      struct ring_region **region)
{
	if (!is_ours(comm))
		return RING_EINVAL;
	if (!region || !memory || bytes == 0 || !is_mapped(memory, bytes))
		return ring_comm_refuse(comm, RING_EINVAL,
					"ring_mem_register: %zu bytes at %p are not memory", bytes,
					memory);
	struct ring_region *made = add(comm, memory, bytes, -1);
	if (!made)
		return ring_comm_refuse(comm, RING_ENOMEM, "ring_mem_register: no memory");
	*region = made;
	return 0;
}

int ring_mem_deregister(struct ring_comm *comm, struct ring_region *region)
{
	if (!is_ours(comm))
		return RING_EINVAL;
	struct ring_region **link = &comm->regions;
	while (*link && (*link != region || region->fd >= 0))
		link = &(*link)->next;
	if (!*link)
		return ring_comm_refuse(comm, RING_EINVAL,
					"ring_mem_deregister: no such region is registered here");
	drop(link);
	return 0;
}
