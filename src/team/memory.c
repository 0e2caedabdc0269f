/* SPDX-License-Identifier: MIT */
/* Allocating memory that can be shared, and lending to peers what was allocated; see memory.h. */
#include "memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "transport/sealed.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text/number.h"
#include "base/waits.h"
#include "engine/channel.h"

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

int ring_memory_choose(const char *option, const struct ring_device **device, int *chip,
		       struct ring_failure *failure)
{
	size_t length = strcspn(option, ":");
	long long number = RING_CHIP_ANY;
	*device = NULL;
	*chip = RING_CHIP_ANY;
	if (!option[0])
		return 0;
	const struct ring_device *named = find_device(option, length);
	bool numbered = option[length];
	bool right = named && !(numbered && named == &ring_device_cpu) &&
		     (!numbered || (ring_number_read(option + length + 1, false, &number) &&
				    number >= 0 && number <= INT_MAX));
	if (!right)
		return refuse_device(option, failure);
	if (named != &ring_device_cpu)
		*device = named;
	*chip = (int)number;
	return 0;
}

/* ---- what a communicator has ----------------------------------------------------------------- */

static void give_back(const struct ring_region *region)
{
	if (region->allocated && !region->device)
		munmap(region->start, region->bytes);
	ring_fd_close(region->fd);
}

static void drop(struct ring_region **link)
{
	struct ring_region *region = *link;
	*link = region->next;
	ring_region_forget(region);
	if (region->allocated && region->lends)
		region->device->lending->leave(region->start);
	give_back(region);
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

struct ring_region *ring_memory_add(struct ring_comm_memory *memory, const struct ring_region *made)
{
	struct ring_region *region = ring_region_add(made);
	if (region) {
		region->next = memory->regions;
		memory->regions = region;
	}
	return region;
}

bool ring_memory_free(struct ring_comm_memory *memory, const void *start)
{
	struct ring_region **link = &memory->regions;
	while (*link && ((*link)->start != start || !(*link)->allocated))
		link = &(*link)->next;
	bool found = *link;
	if (found)
		drop(link);
	return found;
}

bool ring_memory_forget(struct ring_comm_memory *memory, const struct ring_region *region)
{
	struct ring_region **link = &memory->regions;
	while (*link && (*link != region || region->allocated))
		link = &(*link)->next;
	bool found = *link;
	if (found)
		drop(link);
	return found;
}

/* ---- allocating it --------------------------------------------------------------------------- */

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

static int allocate(struct ring_region *made, struct ring_failure *failure)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	made->bytes = (made->bytes + page - 1) / page * page;
	int err = map_new(made);
	return err ? ring_fail(failure, err, "no %zu bytes of shared memory: %m", made->bytes) : 0;
}

/* When no peer has it open any more. */
static void free_on_device(struct ring_region *region)
{
	region->device->free(region->start);
}

/* What is so for one piece of a device's memory is so for all: once is enough. */
static void tell_private(const struct ring_region *made, const char *text)
{
	static bool told;
	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		ring_log(RING_WARN,
			 "memory of %s device %d (%s) has neither a descriptor nor a handle that "
			 "other processes open: calls on it go by memory of the host",
			 made->device->name, made->chip, text);
}

static int allocate_on_device(struct ring_region *made, struct ring_failure *failure)
{
	const struct ring_device *device = made->device;
	const char *text;
	int err = device->open(&made->chip, &text, failure);
	if (err)
		return err;
	err = device->alloc(made->chip, made->bytes, &made->start);
	if (err)
		return ring_fail(failure, err, "no %zu bytes on %s device %d (%s)", made->bytes,
				 device->name, made->chip, text);
	made->free = free_on_device;
	if (device->lending && device->lending->lend(made) == RING_ENOTSUP)
		tell_private(made, text);
	return 0;
}

int ring_memory_allocate(struct ring_comm_memory *memory, size_t bytes, int chip, void **start,
			 struct ring_failure *failure)
{
	const struct ring_device *device = memory->device;
	struct ring_region made = {.bytes = bytes,
				   .device = device,
				   .chip = device ? chip : RING_CHIP_ANY,
				   .allocated = true,
				   .fd = -1};
	int err = (device ? allocate_on_device : allocate)(&made, failure);
	if (err)
		return err;
	if (!ring_memory_add(memory, &made)) {
		if (made.free)
			made.free(&made);
		give_back(&made);
		return ring_fail(failure, RING_ENOMEM, "no memory");
	}
	*start = made.start;
	return 0;
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

int ring_memory_lend(struct ring_comm_memory *memory, const struct ring_channel *mesh,
		     struct ring_region *region)
{
	int err = note(memory, region);
	for (int r = 0; r < mesh->route_count && !err; r++) {
		struct ring_link *out = mesh->routes[r].out;
		if (out)
			err = ring_link_share(out, region);
	}
	return err;
}

/* Tells all peers to let go. returns whether one may have a device's memory open nevertheless */
static bool recall(const struct ring_channel *mesh, const struct ring_region *region)
{
	bool is_open = false;
	for (int r = 0; r < mesh->route_count; r++) {
		struct ring_link *out = mesh->routes[r].out;
		if (!out)
			continue;
		ring_link_forget(out, region->number);
		is_open = is_open || (region->lends && ring_link_lends(out, region->number));
	}
	return is_open;
}

void ring_memory_recall_freed(struct ring_comm_memory *memory, const struct ring_channel *mesh,
			      uint64_t epoch)
{
	int kept = 0;
	memory->leaves = false;
	for (int i = 0; i < memory->lent_count; i++) {
		struct ring_region *region = memory->lent[i];
		bool known = ring_region_is_known(region);
		bool leaves = !known && recall(mesh, region);
		if (known || leaves)
			memory->lent[kept++] = region;
		else
			ring_region_release(region);
		memory->leaves = memory->leaves || leaves;
	}
	memory->lent_count = kept;
	memory->lent_epoch = epoch;
}

/* returns how many regions of devices peers may have open yet */
static int recall_devices(const struct ring_comm_memory *memory, const struct ring_channel *mesh)
{
	int open = 0;
	for (int i = 0; i < memory->lent_count; i++)
		open += memory->lent[i]->lends && recall(mesh, memory->lent[i]);
	return open;
}

/* Freeing what a peer has open is undefined: whatever it is at, it may come back to it. */
static void leave_open(const struct ring_comm_memory *memory, const struct ring_channel *mesh)
{
	for (int i = 0; i < memory->lent_count; i++) {
		struct ring_region *region = memory->lent[i];
		if (!region->lends || !recall(mesh, region))
			continue;
		ring_log(RING_WARN,
			 "%zu bytes of %s device %d %s: a rank that has them open does not let go",
			 region->bytes, region->device->name, region->chip,
			 region->allocated ? "stay allocated" : "must not be freed");
		region->free = NULL;
	}
}

/* returns how many peers' memory may be open here yet */
static int part(const struct ring_channel *mesh)
{
	int open = 0;
	for (int r = 0; r < mesh->route_count; r++)
		open += mesh->routes[r].in && !ring_link_part(mesh->routes[r].in);
	return open;
}

void ring_memory_part(struct ring_comm_memory *memory, const struct ring_channel *mesh,
		      uint64_t until_ms)
{
	while (part(mesh) + recall_devices(memory, mesh) > 0 && ring_clock_ms() < until_ms)
		nanosleep(&(struct timespec){.tv_nsec = RING_BUFFERS_LOOK_NS}, NULL);
	leave_open(memory, mesh);
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
