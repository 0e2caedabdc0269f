/* SPDX-License-Identifier: MIT */
/*
 * Memory of devices, and memory of the host that devices reach. All ranges are in one list, sorted
 * by address.
 *
 *	far    the addresses that users know: no access at all, device after device
 *	near   the same memory, for the threads of the queues: far + a constant
 *
 * Physical memory that is mapped lies behind those of all devices, where addresses are reserved.
 *
 * Behind each range there is room that belongs to nobody, and addresses are not used again before
 * all others were: what reaches beyond its memory, or into freed memory, finds nothing there. Memory of
 * other processes has such addresses too, and a place of its own.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define SPACE FAKE_SPACE
#define SPACES FAKE_SPACES
#define RUBBISH 0xb5
#define RUBBISH_BYTES ((size_t)1 << 20)

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* inside fake_lock */
static struct fake_range *ranges;
static size_t nranges, room;
static char *far, *near; /* NULL: there are no devices' ranges */
static char *lies;       /* what devices find where others' memory should be; NULL: not yet */
static int file = -1;
static size_t next[FAKE_DEVICES], used[FAKE_DEVICES];

/* ---- the list -------------------------------------------------------------------------------- */

/* The first range that ends behind the address. */
static size_t find_place(const char *address)
{
	size_t low = 0, high = nranges;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ranges[middle].base + ranges[middle].bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool fake_memory_find(const void *address, struct fake_range *range)
{
	pthread_rwlock_rdlock(&lock);
	size_t i = find_place(address);
	bool found = i < nranges && ranges[i].base <= (const char *)address;
	if (found)
		*range = ranges[i];
	pthread_rwlock_unlock(&lock);
	return found;
}

static bool is_free(const char *address, size_t bytes)
{
	size_t i = find_place(address);
	return i == nranges || ranges[i].base >= address + bytes;
}

/* What is pinned are pages. */
static bool has_room(const struct fake_range *range)
{
	const size_t before = (uintptr_t)range->base % PAGE;
	if (range->kind != FAKE_REGISTERED_MEMORY)
		return is_free(range->base, range->bytes);
	return is_free(range->base - before, (before + range->bytes + PAGE - 1) / PAGE * PAGE);
}

/* With the list locked. */
static int insert(const struct fake_range *range)
{
	if (!has_room(range))
		return RING_CUDA_ALREADY_REGISTERED;
	if (nranges == room) {
		void *more = realloc(ranges, (2 * room + 16) * sizeof(*ranges));
		if (!more)
			return RING_CUDA_OUT_OF_MEMORY;
		ranges = more;
		room = 2 * room + 16;
	}
	size_t i = find_place(range->base);
	memmove(&ranges[i + 1], &ranges[i], (nranges - i) * sizeof(*ranges));
	ranges[i] = *range;
	nranges++;
	return 0;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Gives back what the memory takes, and forgets the range. */
static void end_range(size_t i)
{
	struct fake_range range = ranges[i];
	size_t bytes = whole_pages(range.bytes);
	nranges--;
	memmove(&ranges[i], &ranges[i + 1], (nranges - i) * sizeof(*ranges));
	if (range.kind == FAKE_PINNED_MEMORY)
		munmap(range.base, bytes);
	if (range.kind == FAKE_IMPORTED_MEMORY || range.kind == FAKE_MAPPED_MEMORY)
		munmap(range.place, bytes);
	if (range.kind != FAKE_DEVICE_MEMORY && range.kind != FAKE_MANAGED_MEMORY)
		return;
	fake_ipc_forget(range.id);
	madvise(range.place, bytes, MADV_REMOVE);
	mprotect(range.place, bytes, PROT_NONE);
	mprotect(range.base, bytes, PROT_NONE);
	used[range.context->device] -= bytes;
}

/* ---- addresses of devices -------------------------------------------------------------------- */

bool fake_memory_is_far(const void *address)
{
	const char *at = address;
	pthread_rwlock_rdlock(&lock);
	bool is = far && at >= far && at < far + SPACES;
	pthread_rwlock_unlock(&lock);
	return is;
}

static char *map(int fd)
{
	char *at = mmap(NULL, SPACES, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	madvise(at, SPACES, MADV_DONTFORK); /* a child's driver would work on its parent's memory */
	madvise(at, SPACES, MADV_DONTDUMP);
	return at;
}

static void make_spaces(void)
{
	int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
	if (fd < 0)
		return;
	if (ftruncate(fd, (off_t)(SPACES + FAKE_TABLE_BYTES)) == 0) {
		far = map(fd);
		near = far ? map(fd) : NULL;
	}
	if (far && !near) {
		munmap(far, SPACES);
		far = NULL;
	}
	if (far)
		file = fd;
	else
		close(fd);
}

static void end_spaces(void)
{
	if (far)
		munmap(far, SPACES);
	if (near)
		munmap(near, SPACES);
	if (lies)
		munmap(lies, SPACE);
	fake_ipc_end_table();
	if (file >= 0)
		close(file);
	far = near = lies = NULL;
	file = -1;
	memset(next, 0, sizeof(next));
	free(ranges);
	ranges = NULL;
	room = 0;
}

/* Addresses with nothing in them, behind those that were used last. */
static char *find_addresses(int device, size_t bytes)
{
	char *space = far + (size_t)device * SPACE;
	for (int turn = 0; turn < 2; turn++) {
		size_t at = turn == 0 ? next[device] : 0;
		while (at + bytes <= SPACE) {
			if (is_free(space + at, bytes)) {
				next[device] = at + bytes;
				return space + at;
			}
			const struct fake_range *in = &ranges[find_place(space + at)];
			at = (size_t)(in->base - space) + whole_pages(in->bytes) + PAGE;
		}
	}
	return NULL;
}

static int make_addresses(struct fake_range *range)
{
	size_t pages = whole_pages(range->bytes);
	if (!far)
		make_spaces();
	range->base = far && pages <= SPACE ? find_addresses(range->context->device, pages + PAGE)
					    : NULL;
	return range->base ? insert(range) : RING_CUDA_OUT_OF_MEMORY;
}

static int make_far(struct fake_range *range)
{
	int device = range->context->device;
	size_t pages = whole_pages(range->bytes);
	if (!far)
		make_spaces();
	if (!far || pages > SPACE || used[device] + pages > fake_settings.memory_bytes)
		return RING_CUDA_OUT_OF_MEMORY;
	char *base = find_addresses(device, pages + PAGE);
	if (!base)
		return RING_CUDA_OUT_OF_MEMORY;
	range->base = base;
	range->place = near + (base - far);
	int err = insert(range);
	if (err)
		return err;
	used[device] += pages;
	mprotect(range->place, pages, PROT_READ | PROT_WRITE);
	if (range->kind == FAKE_MANAGED_MEMORY)
		mprotect(base, pages, PROT_READ | PROT_WRITE);
	memset(range->place, RUBBISH, range->bytes < RUBBISH_BYTES ? range->bytes : RUBBISH_BYTES);
	return 0;
}

int fake_memory_add(struct fake_range *range)
{
	static uint64_t ids;
	pthread_rwlock_wrlock(&lock);
	range->id = ++ids;
	int err;
	if (range->base)
		err = insert(range);
	else
		err = range->kind == FAKE_IMPORTED_MEMORY ? make_addresses(range) : make_far(range);
	pthread_rwlock_unlock(&lock);
	return err;
}

void fake_memory_remove(const void *base)
{
	pthread_rwlock_wrlock(&lock);
	size_t i = find_place(base);
	if (i < nranges && ranges[i].base == base)
		end_range(i);
	pthread_rwlock_unlock(&lock);
}

size_t fake_memory_used(const struct CUctx_st *context)
{
	return used[context->device];
}

void fake_memory_open(const void *base, unsigned devices)
{
	pthread_rwlock_wrlock(&lock);
	ranges[find_place(base)].open = devices;
	pthread_rwlock_unlock(&lock);
}

bool fake_memory_take(int device, size_t bytes)
{
	pthread_rwlock_wrlock(&lock);
	bool fits = bytes <= fake_settings.memory_bytes - used[device];
	if (fits)
		used[device] += bytes;
	pthread_rwlock_unlock(&lock);
	return fits;
}

void fake_memory_give(int device, size_t bytes)
{
	pthread_rwlock_wrlock(&lock);
	used[device] -= bytes;
	pthread_rwlock_unlock(&lock);
}

char *fake_memory_reservable(void)
{
	pthread_rwlock_wrlock(&lock);
	if (!far)
		make_spaces();
	char *first = far ? far + FAKE_DEVICES * SPACE : NULL;
	pthread_rwlock_unlock(&lock);
	return first;
}

/* ---- who reaches what ------------------------------------------------------------------------ */

/* Other bytes than those, at the same place whenever they are looked at. */
static char *lie_about(const struct fake_range *range)
{
	pthread_rwlock_wrlock(&lock);
	if (!lies) {
		void *at = mmap(NULL, SPACE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		lies = at == MAP_FAILED ? NULL : at;
	}
	char *lie = lies ? lies + (size_t)(range->base - far) % SPACE : NULL;
	pthread_rwlock_unlock(&lock);
	return lie;
}

bool fake_memory_is_open(const struct CUctx_st *context, struct fake_range *range,
			 enum fake_access access)
{
	switch (range->kind) {
	case FAKE_DEVICE_MEMORY:
		if (!context->reaches[range->context->device])
			return false;
		break;
	case FAKE_IMPORTED_MEMORY:
		if (context != range->context)
			return false;
		break;
	case FAKE_MAPPED_MEMORY:
		if (!(range->open >> context->device & 1))
			return false;
		break;
	default:
		return true;
	}
	int here = fake_settings.visible[context->device];
	if ((fake_settings.lies & access) && fake_settings.lied_to[here] && range->owner != here)
		range->place = lie_about(range);
	return range->place;
}

int fake_memory_file(void)
{
	return file;
}

uint64_t fake_memory_offset(const struct fake_range *range)
{
	return (uint64_t)(range->base - far);
}

static void *place(const struct fake_range *range, const void *address, size_t bytes)
{
	size_t offset = (size_t)((const char *)address - range->base);
	return bytes <= range->bytes - offset ? range->place + offset : NULL;
}

void *fake_memory_place(const void *address, size_t bytes)
{
	struct fake_range range;
	if (!fake_memory_find(address, &range))
		return fake_memory_is_far(address) ? NULL : (void *)address;
	bool closed = range.kind == FAKE_MAPPED_MEMORY && !range.open;
	return closed ? NULL : place(&range, address, bytes);
}

void *fake_memory_reach(const struct CUctx_st *context, const void *address, size_t bytes,
			enum fake_access access)
{
	struct fake_range range;
	if (!fake_memory_find(address, &range) || !fake_memory_is_open(context, &range, access))
		return NULL;
	return place(&range, address, bytes);
}

void fake_memory_end(struct CUctx_st *context)
{
	pthread_rwlock_wrlock(&lock);
	for (size_t i = nranges; i-- > 0;)
		if (ranges[i].context == context && ranges[i].kind != FAKE_MAPPED_MEMORY)
			end_range(i);
	if (!nranges && !fake_mappings_are_there())
		end_spaces();
	pthread_rwlock_unlock(&lock);
}
