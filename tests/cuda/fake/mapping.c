/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management: physical memory, a file each, with a page behind it that says what it
 * is, so that a descriptor of it is all that another process needs; and addresses that are
 * reserved, behind those of all devices.
 */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNIT ((size_t)2 << 20)
#define PAGE 4096
#define MAGIC UINT64_C(0x434d4150)
#define RUBBISH 0xb5

/* Behind the memory in its file. */
struct label {
	uint64_t magic, bytes;
	int owner; /* as it is without CUDA_VISIBLE_DEVICES */
};

struct physical {
	uint64_t handle;
	struct label label;
	int file;
	int device;   /* of this process, which made it; -1: it was imported */
	bool exports; /* by descriptors */
	bool for_rdma;
	unsigned held;   /* by handles that were not released */
	unsigned mapped; /* so many times */
	struct physical *next;
};

struct reserved {
	char *start;
	size_t bytes;
	struct reserved *next;
};

static struct physical *physicals;
static struct reserved *reserveds; /* by address */
static size_t reserved_upto;       /* addresses are not used again before all others were */
static uint64_t handles;

/* ---- physical memory ------------------------------------------------------------------------- */

static struct physical *find_physical(uint64_t handle)
{
	struct physical *physical = physicals;
	while (physical && physical->handle != handle)
		physical = physical->next;
	return physical;
}

/* Gives it back, unless something has it yet. */
static void drop_physical(struct physical *physical)
{
	struct physical **place = &physicals;
	if (physical->held || physical->mapped)
		return;
	while (*place != physical)
		place = &(*place)->next;
	*place = physical->next;
	if (physical->device >= 0)
		fake_memory_give(physical->device, physical->label.bytes);
	close(physical->file);
	free(physical);
}

/* *handle: held. returns 0; RING_CUDA_OUT_OF_MEMORY: the file stays the caller's */
static int add_physical(const struct physical *made, uint64_t *handle)
{
	struct physical *physical = malloc(sizeof(*physical));
	if (!physical)
		return RING_CUDA_OUT_OF_MEMORY;
	*physical = *made;
	physical->handle = *handle = ++handles;
	physical->held = 1;
	physical->next = physicals;
	physicals = physical;
	return 0;
}

/* A file of that memory, full of rubbish at its start; -1: there is none. */
static int make_file(const struct label *label)
{
	static char rubbish[UNIT / 2];
	const off_t bytes = (off_t)label->bytes;
	int file = memfd_create("fake-cuda-physical", MFD_CLOEXEC);
	memset(rubbish, RUBBISH, sizeof(rubbish));
	if (file >= 0 && ftruncate(file, bytes + PAGE) == 0 &&
	    pwrite(file, rubbish, sizeof(rubbish), 0) == (ssize_t)sizeof(rubbish) &&
	    pwrite(file, label, sizeof(*label), bytes) == (ssize_t)sizeof(*label))
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

static int check_kind(const struct ring_cuda_physical *what)
{
	if (fake_settings.maps == FAKE_NO_MAPPINGS)
		return RING_CUDA_NOT_SUPPORTED;
	if (!what || what->kind != RING_CUDA_PHYSICAL_PINNED ||
	    what->site.kind != RING_CUDA_SITE_DEVICE || what->security ||
	    (what->handles & ~RING_CUDA_HANDLE_FD))
		return RING_CUDA_INVALID_VALUE;
	if (what->site.id < 0 || what->site.id >= fake_settings.devices)
		return RING_CUDA_INVALID_DEVICE;
	if (what->handles && fake_settings.maps < FAKE_MAPS_FDS)
		return RING_CUDA_NOT_SUPPORTED;
	return what->for_rdma && !fake_settings.rdma ? RING_CUDA_INVALID_VALUE : 0;
}

int cuMemGetAllocationGranularity(size_t *bytes, const struct ring_cuda_physical *what, int option)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	err = option != RING_CUDA_UNIT_LEAST ? RING_CUDA_INVALID_VALUE : check_kind(what);
	if (!err)
		*bytes = UNIT;
	return fake_end(err);
}

static int create(uint64_t *handle, size_t bytes, const struct ring_cuda_physical *what)
{
	struct physical made = {.device = what->site.id,
				.exports = what->handles,
				.for_rdma = what->for_rdma};
	made.label = (struct label){MAGIC, bytes, fake_settings.visible[made.device]};
	if (!fake_memory_take(made.device, bytes))
		return RING_CUDA_OUT_OF_MEMORY;
	made.file = make_file(&made.label);
	int err = made.file < 0 ? RING_CUDA_OUT_OF_MEMORY : add_physical(&made, handle);
	if (err && made.file >= 0)
		close(made.file);
	if (err)
		fake_memory_give(made.device, bytes);
	return err;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const struct ring_cuda_physical *what,
		uint64_t flags)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	err = check_kind(what);
	if (!err && (flags || !bytes || bytes % UNIT))
		err = RING_CUDA_INVALID_VALUE;
	return fake_end(err ? err : create(handle, bytes, what));
}

int cuMemRelease(uint64_t handle)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	struct physical *physical = find_physical(handle);
	if (!physical || !physical->held)
		return fake_end(RING_CUDA_INVALID_VALUE);
	physical->held--;
	drop_physical(physical);
	return fake_end(0);
}

int cuMemRetainAllocationHandle(uint64_t *handle, void *memory)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	struct fake_range range;
	if (!fake_memory_find(memory, &range) || range.kind != FAKE_MAPPED_MEMORY)
		return fake_end(RING_CUDA_INVALID_VALUE);
	find_physical(range.physical)->held++;
	*handle = range.physical;
	return fake_end(0);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int cuMemExportToShareableHandle(void *shared, uint64_t handle, int kind, uint64_t flags)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	const struct physical *physical = find_physical(handle);
	if (!physical || !physical->exports || kind != RING_CUDA_HANDLE_FD || flags)
		return fake_end(RING_CUDA_INVALID_VALUE);
	int fd = fcntl(physical->file, F_DUPFD, 0); /* whether it lives on behind exec() is open */
	if (fd < 0)
		return fake_end(RING_CUDA_OUT_OF_MEMORY);
	memcpy(shared, &fd, sizeof(fd));
	return fake_end(0);
}

/* Of whatever file it is. */
static bool read_label(int fd, struct label *label)
{
	off_t end = lseek(fd, 0, SEEK_END);
	return end > PAGE && pread(fd, label, sizeof(*label), end - PAGE) == sizeof(*label) &&
	       label->magic == MAGIC && label->bytes == (uint64_t)end - PAGE;
}

int cuMemImportFromShareableHandle(uint64_t *handle, void *shared, int kind)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	struct physical made = {.device = -1, .exports = true};
	int fd = (int)(intptr_t)shared;
	if (fake_settings.maps < FAKE_MAPS_FDS)
		return fake_end(RING_CUDA_NOT_SUPPORTED);
	if (kind != RING_CUDA_HANDLE_FD || !read_label(fd, &made.label))
		return fake_end(RING_CUDA_INVALID_VALUE);
	made.file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = made.file < 0 ? RING_CUDA_OUT_OF_MEMORY : add_physical(&made, handle);
	if (err && made.file >= 0)
		close(made.file);
	return fake_end(err);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static struct reserved *find_reserved(const char *start, size_t bytes)
{
	struct reserved *reserved = reserveds;
	while (reserved && (start < reserved->start ||
			    (size_t)(start - reserved->start) + bytes > reserved->bytes))
		reserved = reserved->next;
	return reserved;
}

/* The first of them behind a place where so many are free; there is room behind each reservation. */
static char *find_addresses(char *from, const char *end, size_t bytes, struct reserved ***place)
{
	*place = &reserveds;
	for (struct reserved *next = reserveds; next; next = next->next) {
		if (next->start >= from && (size_t)(next->start - from) > bytes)
			break;
		if (next->start + next->bytes + UNIT > from)
			from = next->start + next->bytes + UNIT;
		*place = &next->next;
	}
	return from < end && bytes < (size_t)(end - from) ? from : NULL;
}

static int reserve(char **start, size_t bytes)
{
	struct reserved **place, *made;
	char *first = fake_memory_reservable();
	if (!first)
		return RING_CUDA_OUT_OF_MEMORY;
	const char *end = first + FAKE_SPACE;
	first += -(uintptr_t)first % UNIT;
	char *at = find_addresses(first + reserved_upto, end, bytes, &place);
	if (!at)
		at = find_addresses(first, end, bytes, &place);
	made = at ? malloc(sizeof(*made)) : NULL;
	if (!made)
		return RING_CUDA_OUT_OF_MEMORY;
	*made = (struct reserved){at, bytes, *place};
	*place = made;
	reserved_upto = (size_t)(at - first) + bytes + UNIT;
	*start = at;
	return 0;
}

int cuMemAddressReserve(void **start, size_t bytes, size_t alignment, void *wish, uint64_t flags)
{
	(void)wish;
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	char *at;
	if (fake_settings.maps == FAKE_NO_MAPPINGS)
		return fake_end(RING_CUDA_NOT_SUPPORTED);
	if (!bytes || bytes % PAGE || alignment > UNIT || (alignment & (alignment - 1)) || flags)
		return fake_end(RING_CUDA_INVALID_VALUE);
	err = reserve(&at, (bytes + UNIT - 1) / UNIT * UNIT);
	if (!err)
		*start = at;
	return fake_end(err);
}

/* The first mapped range that ends behind an address; false: none begins before the end. */
static bool find_mapped(const char *address, const char *end, struct fake_range *range)
{
	while (address < end && !fake_memory_find(address, range))
		address += UNIT;
	return address < end;
}

int cuMemAddressFree(void *start, size_t bytes)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	struct fake_range range;
	struct reserved **place = &reserveds;
	while (*place && (*place)->start != start)
		place = &(*place)->next;
	struct reserved *reserved = *place;
	if (!reserved || reserved->bytes != (bytes + UNIT - 1) / UNIT * UNIT ||
	    find_mapped(start, (char *)start + bytes, &range))
		return fake_end(RING_CUDA_INVALID_VALUE);
	*place = reserved->next;
	free(reserved);
	return fake_end(0);
}

void fake_mapping_reserved(const struct fake_range *range, char **start, size_t *bytes)
{
	const struct reserved *reserved = find_reserved(range->base, range->bytes);
	*start = reserved->start;
	*bytes = reserved->bytes;
}

bool fake_mappings_are_there(void)
{
	return reserveds;
}

/* ---- physical memory at addresses ------------------------------------------------------------ */

/* The context of its device, or any where its device is not visible. */
static struct CUctx_st *context_of(const struct physical *physical)
{
	for (int device = 0; device < fake_settings.devices; device++)
		if (fake_settings.visible[device] == physical->label.owner)
			return &fake_contexts[device];
	return &fake_contexts[0];
}

static int map(char *start, struct physical *physical)
{
	const size_t bytes = physical->label.bytes;
	struct fake_range range = {.base = start,
				   .bytes = bytes,
				   .kind = FAKE_MAPPED_MEMORY,
				   .context = context_of(physical),
				   .owner = physical->label.owner,
				   .physical = physical->handle,
				   .for_rdma = physical->for_rdma};
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, physical->file, 0);
	if (at == MAP_FAILED)
		return RING_CUDA_OUT_OF_MEMORY;
	madvise(at, bytes, MADV_DONTFORK);
	range.place = at;
	int err = fake_memory_add(&range);
	if (err)
		munmap(at, bytes);
	else
		physical->mapped++;
	return err == RING_CUDA_ALREADY_REGISTERED ? RING_CUDA_INVALID_VALUE : err;
}

int cuMemMap(void *start, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	struct physical *physical = find_physical(handle);
	if (!physical || bytes != physical->label.bytes || offset || flags ||
	    (uintptr_t)start % UNIT || !find_reserved(start, bytes))
		return fake_end(RING_CUDA_INVALID_VALUE);
	return fake_end(map(start, physical));
}

/* Whether mappings cover all of it, each whole. `open`: to whom any of them is. */
static bool is_mapped(const char *start, size_t bytes, unsigned *open)
{
	const char *end = start + bytes;
	struct fake_range range;
	for (*open = 0; start < end; start += range.bytes) {
		if (!fake_memory_find(start, &range) || range.kind != FAKE_MAPPED_MEMORY ||
		    range.base != start || range.bytes > (size_t)(end - start))
			return false;
		*open |= range.open;
	}
	return true;
}

/* Waits until those devices have done what they were given. */
static int await(unsigned devices, const char *function)
{
	int err = 0;
	for (int device = 0; device < FAKE_DEVICES && !err; device++)
		if (devices >> device & 1 && fake_contexts[device].retained)
			err = fake_context_await(&fake_contexts[device], function);
	return err;
}

static void unmap(const struct fake_range *range)
{
	struct physical *physical = find_physical(range->physical);
	fake_memory_remove(range->base);
	physical->mapped--;
	drop_physical(physical);
}

int cuMemUnmap(void *start, size_t bytes)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	unsigned open;
	struct fake_range range;
	if (!bytes || !is_mapped(start, bytes, &open))
		return fake_end(RING_CUDA_INVALID_VALUE);
	err = fake_settings.frees_wait ? await(open, __func__) : 0;
	char *end = (char *)start + bytes;
	for (char *at = start; !err && at < end && fake_memory_find(at, &range); at += range.bytes)
		unmap(&range);
	return fake_end(err);
}

/* Which device that is, as one bit; 0: it cannot reach the range. */
static unsigned device_of(const struct ring_cuda_access *access, const struct fake_range *range)
{
	const int device = access->site.id;
	if (access->site.kind != RING_CUDA_SITE_DEVICE || device < 0 ||
	    device >= fake_settings.devices)
		return 0;
	const int here = fake_settings.visible[device];
	return here == range->owner || fake_peers(here, range->owner) ? 1u << device : 0;
}

static int open_range(const struct fake_range *range, const struct ring_cuda_access *access,
		      size_t count)
{
	unsigned open = range->open;
	for (size_t i = 0; i < count; i++) {
		const unsigned device = device_of(&access[i], range);
		if (!device)
			return RING_CUDA_INVALID_DEVICE;
		if (access[i].flags && access[i].flags != RING_CUDA_READ_AND_WRITE)
			return RING_CUDA_INVALID_VALUE;
		open = access[i].flags ? open | device : open & ~device;
	}
	fake_memory_open(range->base, open);
	return 0;
}

int cuMemSetAccess(void *start, size_t bytes, const struct ring_cuda_access *access, size_t count)
{
	int err = fake_begin(__func__, FAKE_SAFE);
	if (err)
		return err;
	unsigned open;
	struct fake_range range;
	if (!bytes || !is_mapped(start, bytes, &open))
		return fake_end(RING_CUDA_INVALID_VALUE);
	err = await(open, __func__);
	char *end = (char *)start + bytes;
	for (char *at = start; !err && at < end && fake_memory_find(at, &range); at += range.bytes)
		err = open_range(&range, access, count);
	return fake_end(err);
}

/* ---- in the end ------------------------------------------------------------------------------ */

void fake_mappings_end(void)
{
	struct fake_range range;
	for (struct reserved *reserved; (reserved = reserveds);) {
		while (find_mapped(reserved->start, reserved->start + reserved->bytes, &range))
			unmap(&range);
		reserveds = reserved->next;
		free(reserved);
	}
	for (struct physical *physical; (physical = physicals);) {
		physical->held = 0;
		drop_physical(physical);
	}
	reserved_upto = 0;
}

void fake_mappings_exit(void)
{
	int memory = 0, addresses = 0;
	for (const struct physical *physical = physicals; physical; physical = physical->next)
		memory++;
	for (const struct reserved *reserved = reserveds; reserved; reserved = reserved->next)
		addresses++;
	if (!fake_settings.left || memory + addresses == 0)
		return;
	fprintf(stderr,
		"fake CUDA driver: %d pieces of physical memory and %d of addresses are left\n",
		memory, addresses);
	abort();
}
