/* SPDX-License-Identifier: MIT */
/*
 * Allocating memory that can be shared, registering memory that cannot, both local calls; and
 * lending to peers what was allocated.
 */
#include "memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/sealed.h"
#include "comm.h"
#include "base/fd.h"
#include "base/number.h"

/* ---- which device ---------------------------------------------------------------------------- */

static const struct ring_device *find_device(const char *name, size_t length)
{
	const struct ring_device *const *device = ring_devices;
	while (*device && (strncmp((*device)->name, name, length) != 0 || (*device)->name[length]))
		device++;
	return *device;
}

static int refuse_device(const char *text, struct ring_failure *failure)
{
	char names[128] = "";
	for (int i = 1; ring_devices[i]; i++) {
		const char *name = ring_devices[i]->name;
		size_t used = strlen(names);
		snprintf(names + used, sizeof(names) - used, ", \"%s\", \"%s:0\" and so on", name,
			 name);
	}
	return ring_fail(failure, RING_EINVAL,
			 "options.device, or RING_DEVICE, is \"%s\", but this library has \"%s\"%s",
			 text, ring_devices[0]->name, names);
}

int ring_memory_choose(struct ring_comm *comm, struct ring_failure *failure)
{
	const char *text = comm->team.config.device;
	size_t length = strcspn(text, ":");
	long long chip = RING_CHIP_ANY;
	comm->caller.chip = RING_CHIP_ANY;
	if (!text[0])
		return 0;
	const struct ring_device *device = find_device(text, length);
	bool numbered = text[length];
	bool right = device && !(numbered && device == &ring_device_cpu) &&
		     (!numbered || (ring_number_read(text + length + 1, false, &chip) &&
				    chip >= 0 && chip <= INT_MAX));
	if (!right)
		return refuse_device(text, failure);
	if (device != &ring_device_cpu)
		comm->caller.device = comm->memory.device = device;
	comm->caller.chip = (int)chip;
	return 0;
}

/* ---- what a communicator has ----------------------------------------------------------------- */

static void drop(struct ring_region **link)
{
	struct ring_region *region = *link;
	*link = region->next;
	ring_region_forget(region);
	if (region->allocated && region->device)
		region->device->free(region->start);
	else if (region->allocated)
		munmap(region->start, region->bytes);
	ring_fd_close(region->fd);
	ring_region_release(region);
}

void ring_memory_close(struct ring_comm_memory *memory)
{
	while (memory->regions)
		drop(&memory->regions);
	for (int i = 0; i < memory->lent_count; i++)
		ring_region_release(memory->lent[i]);
	free(memory->lent);
	*memory = (struct ring_comm_memory){0};
}

size_t ring_memory_allocated(const struct ring_comm_memory *memory)
{
	size_t bytes = 0;
	for (const struct ring_region *region = memory->regions; region; region = region->next)
		bytes += region->allocated ? region->bytes : 0;
	return bytes;
}

/* returns NULL: no memory */
static struct ring_region *add(struct ring_comm *comm, const struct ring_region *made)
{
	struct ring_region *region = ring_region_add(made);
	if (region) {
		region->next = comm->memory.regions;
		comm->memory.regions = region;
	}
	return region;
}

/* ---- lending it ------------------------------------------------------------------------------ */

/* Notes a region that peers are told of. returns 0; RING_ENOMEM; RING_ENOTSUP: it is private now */
static int note(struct ring_comm_memory *memory, struct ring_region *region)
{
	for (int i = 0; i < memory->lent_count; i++)
		if (memory->lent[i] == region)
			return 0;
	if (memory->lent_count == memory->lent_room) {
		int room = 2 * memory->lent_room + 8;
		struct ring_region **larger = realloc(memory->lent, (size_t)room * sizeof(*larger));
		if (!larger)
			return RING_ENOMEM;
		memory->lent = larger;
		memory->lent_room = room;
	}
	if (!ring_region_hold(region))
		return RING_ENOTSUP;
	memory->lent[memory->lent_count++] = region;
	return 0;
}

int ring_memory_lend(struct ring_comm *comm, struct ring_region *region)
{
	const struct ring_channel *mesh = &comm->links.channels[0];
	int err = note(&comm->memory, region);
	for (int r = 0; r < mesh->route_count && !err; r++) {
		struct ring_link *out = mesh->routes[r].out;
		if (out)
			err = ring_link_share(out, region);
	}
	return err;
}

static void recall(struct ring_comm *comm, struct ring_region *region)
{
	const struct ring_channel *mesh = &comm->links.channels[0];
	for (int r = 0; r < mesh->route_count; r++) {
		struct ring_link *out = mesh->routes[r].out;
		if (out)
			ring_link_forget(out, region->number);
	}
	ring_region_release(region);
}

/* Regions have changed since the last look at which lent ones live. Not inlined: that is rare. */
__attribute__((noinline)) static void look_at_lent(struct ring_comm *comm, uint64_t epoch)
{
	struct ring_comm_memory *memory = &comm->memory;
	int kept = 0;
	for (int i = 0; i < memory->lent_count; i++) {
		if (ring_region_is_known(memory->lent[i]))
			memory->lent[kept++] = memory->lent[i];
		else
			recall(comm, memory->lent[i]);
	}
	memory->lent_count = kept;
	memory->lent_epoch = epoch;
}

void ring_memory_recall(struct ring_comm *comm)
{
	uint64_t epoch = ring_region_epoch();
	if (comm->memory.lent_epoch != epoch)
		look_at_lent(comm, epoch);
}

int ring_memory_take_back(struct ring_region *region, const void *start, size_t bytes)
{
	size_t page = ring_sealed_memory(1);
	size_t offset = (uintptr_t)start - (uintptr_t)region->start;
	size_t first = offset / page * page;
	if (!ring_region_withdraw(region))
		return RING_ENOTSUP;
	return ring_sealed_keep(region->fd, first, ring_sealed_memory(offset + bytes) - first,
				(char *)region->start + first);
}

/* ---- ringccl.h ------------------------------------------------------------------------------- */

/* Memory that peers can map; where the system has none, ordinary memory, which is slower. */
static int map_new(struct ring_region *made)
{
	int err = ring_sealed_create("ringccl-memory", made->bytes, &made->fd, &made->start);
	if (err != RING_ENOTSUP)
		return err;
	made->start = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	return made->start == MAP_FAILED ? RING_ENOMEM : 0;
}

static int allocate(struct ring_comm *comm, size_t bytes, void **memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring_region made = {.bytes = (bytes + page - 1) / page * page,
				   .chip = RING_CHIP_ANY,
				   .allocated = true,
				   .fd = -1};
	int err = map_new(&made);
	if (err)
		return ring_comm_refuse(&comm->failure, err,
					"ring_mem_alloc: no %zu bytes of shared memory: %m",
					made.bytes);
	if (!add(comm, &made)) {
		munmap(made.start, made.bytes);
		ring_fd_close(made.fd);
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, "ring_mem_alloc: no memory");
	}
	*memory = made.start;
	return 0;
}

static int allocate_on_device(struct ring_comm *comm, size_t bytes, void **memory)
{
	const struct ring_device *device = comm->memory.device;
	struct ring_region made = {.bytes = bytes,
				   .device = device,
				   .chip = comm->caller.chip,
				   .allocated = true,
				   .fd = -1};
	struct ring_failure failure = {0};
	const char *text;
	int err = device->open(&made.chip, &text, &failure);
	if (err)
		return ring_comm_refuse(&comm->failure, err, "ring_mem_alloc: %s", failure.text);
	err = device->alloc(made.chip, bytes, &made.start);
	if (err)
		return ring_comm_refuse(&comm->failure, err,
					"ring_mem_alloc: no %zu bytes on %s device %d (%s)", bytes,
					device->name, made.chip, text);
	if (!add(comm, &made)) {
		device->free(made.start);
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, "ring_mem_alloc: no memory");
	}
	*memory = made.start;
	return 0;
}

int ring_mem_alloc(struct ring_comm *comm, size_t bytes, void **memory)
{
	int err = ring_comm_check(comm, "ring_mem_alloc");
	if (err)
		return err;
	if (!memory)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"ring_mem_alloc: memory is NULL");
	if (bytes == 0 || bytes > PTRDIFF_MAX - (size_t)sysconf(_SC_PAGESIZE))
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_mem_alloc: %zu bytes",
					bytes);
	return (comm->memory.device ? allocate_on_device : allocate)(comm, bytes, memory);
}

int ring_mem_free(struct ring_comm *comm, void *memory)
{
	int err = ring_comm_check(comm, "ring_mem_free");
	if (err)
		return err;
	struct ring_region **link = &comm->memory.regions;
	while (*link && ((*link)->start != memory || !(*link)->allocated))
		link = &(*link)->next;
	if (!*link)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"ring_mem_free: %p is not from this communicator's "
					"ring_mem_alloc",
					memory);
	drop(link);
	/* While calls run, the thread that runs them tells the peers, after this call. */
	if (pthread_mutex_trylock(&comm->run.lock) == 0) {
		ring_memory_recall(comm);
		pthread_mutex_unlock(&comm->run.lock);
	}
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
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"ring_mem_register: %zu bytes at %p are not memory", bytes,
					memory);
	struct ring_region *made = add(comm, &(struct ring_region){.start = memory,
								   .bytes = bytes,
								   .device = host ? NULL : device,
								   .chip = RING_CHIP_ANY,
								   .fd = -1});
	if (!made)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, "ring_mem_register: no memory");
	*region = made;
	return 0;
}

int ring_mem_deregister(struct ring_comm *comm, struct ring_region *region)
{
	int err = ring_comm_check(comm, "ring_mem_deregister");
	if (err)
		return err;
	struct ring_region **link = &comm->memory.regions;
	while (*link && (*link != region || region->allocated))
		link = &(*link)->next;
	if (!*link)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"ring_mem_deregister: no such region is registered here");
	drop(link);
	return 0;
}
