/* SPDX-License-Identifier: MIT */
/* Allocating memory that can be shared, and registering memory that there is: local calls. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "comm/comm.h"

int ring_mem_alloc(struct ring_comm *comm, size_t bytes, void **memory)
{
	struct ring_failure failure = {0};
	int err = ring_comm_check(comm, "ring_mem_alloc");
	if (err)
		return err;
	if (!memory)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_mem_alloc",
					"memory is NULL");
	if (bytes == 0 || bytes > PTRDIFF_MAX - (size_t)sysconf(_SC_PAGESIZE))
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_mem_alloc", "%zu bytes",
					bytes);
	err = ring_memory_allocate(&comm->memory, bytes, comm->caller.chip, memory, &failure);
	return err ? ring_comm_refuse(&comm->failure, err, "ring_mem_alloc", "%s", failure.text) : 0;
}

/* That memory is gone. While calls run, the thread that runs them does it, after this call. */
static void tell_peers(struct ring_comm *comm)
{
	if (pthread_mutex_trylock(&comm->run.lock) != 0)
		return;
	ring_memory_recall(&comm->memory, &comm->links.channels[0]);
	pthread_mutex_unlock(&comm->run.lock);
}

int ring_mem_free(struct ring_comm *comm, void *memory)
{
	int err = ring_comm_check(comm, "ring_mem_free");
	if (err)
		return err;
	if (!ring_memory_free(&comm->memory, memory))
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_mem_free",
					"%p is not from this communicator's "
					"ring_mem_alloc",
					memory);
	tell_peers(comm);
	return 0;
}

/* Asks the kernel, which refuses ranges with holes; the rest of its answer is not used. */
static bool is_mapped(const void *memory, size_t bytes)
{
	unsigned char resident[1024];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), most = sizeof(resident) * page;
	uintptr_t at = (uintptr_t)memory / page * page;
	uintptr_t end = (uintptr_t)memory + bytes;
	bool mapped = end > (uintptr_t)memory; /* else it goes beyond the last address */
	while (mapped && at < end) {
		uintptr_t part = end - at < most ? end - at : most;
		mapped = mincore((void *)at, part, resident) == 0;
		at += part;
	}
	return mapped;
}

/* Where a device's memory lies, and its name, if any. returns 0; RING_EINVAL, RING_ESYSTEM */
static int describe_far(struct ring_comm *comm, struct ring_region *there)
{
	const struct ring_device *device = there->device;
	struct ring_memory_sort sort = {.chip = RING_CHIP_ANY};
	struct ring_failure failure = {0};
	int err = device->look(there->start, there->bytes, &sort, &failure);
	if (err)
		return ring_comm_refuse(&comm->failure, err, "ring_mem_register", "memory %s",
					failure.text);
	there->chip = sort.chip;
	if (!device->lending)
		return 0;
	if (device->lending->lend(there))
		ring_log(RING_WARN,
			 "rank %d: ring_mem_register: %zu bytes of %s device %d have no name by "
			 "which other processes open them, as memory of pools (cudaMallocAsync) "
			 "or of several allocations: calls on them go by memory of the host",
			 comm->team.rank, there->bytes, device->name, sort.chip);
	return 0;
}

int ring_mem_register(struct ring_comm *comm, void *memory, size_t bytes,
		      struct ring_region **region)
{
	int err = ring_comm_check(comm, "ring_mem_register");
	if (err)
		return err;
	const struct ring_device *device = memory ? ring_device_of(memory) : &ring_device_cpu;
	bool host = device == &ring_device_cpu;
	bool known = memory && bytes > 0 && (!host || is_mapped(memory, bytes));
	if (!region || !known)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_mem_register",
					"%zu bytes at %p are not memory", bytes, memory);
	struct ring_region there = {.start = memory,
				    .bytes = bytes,
				    .device = host ? NULL : device,
				    .chip = RING_CHIP_ANY,
				    .fd = -1};
	err = host ? 0 : describe_far(comm, &there);
	if (err)
		return err;
	struct ring_region *made = ring_memory_add(&comm->memory, &there);
	if (!made) {
		ring_fd_close(there.fd);
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, "ring_mem_register",
					"no memory");
	}
	*region = made;
	return 0;
}

int ring_mem_deregister(struct ring_comm *comm, struct ring_region *region)
{
	int err = ring_comm_check(comm, "ring_mem_deregister");
	if (err)
		return err;
	if (!ring_memory_forget(&comm->memory, region))
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_mem_deregister",
					"no such region is registered here");
	tell_peers(comm);
	return 0;
}
