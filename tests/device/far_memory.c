/* SPDX-License-Identifier: MIT */
/* Memory that is mapped twice; see far.h. */
#include "far_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ringccl.h"

#define ARENA_BYTES ((size_t)4 << 30) /* given out once; what is freed takes no memory any more */

struct range {
	uintptr_t begin;
	size_t bytes;
	struct range *next;
};

/* A process has its own, from its beginning to its end. */
static struct {
	char *outside; /* as the host sees it */
	char *inside;
	size_t used;
} arena;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *blocks, *pinned;

static __attribute__((noreturn)) void die(const char *what, const void *memory, size_t bytes)
{
	fprintf(stderr, "far device: %s: %zu bytes at %p\n", what, bytes, memory);
	abort();
}

static void *map(int fd, int access)
{
	void *memory = mmap(NULL, ARENA_BYTES, access, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED)
		die("no place", NULL, ARENA_BYTES);
	return memory;
}

static void open_arena(void)
{
	int fd = memfd_create("far", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)ARENA_BYTES))
		die("no memory", NULL, ARENA_BYTES);
	arena.outside = map(fd, PROT_NONE);
	arena.inside = map(fd, PROT_READ | PROT_WRITE);
	arena.used = 0;
	close(fd);
}

static bool holds(const struct range *range, const void *memory, size_t bytes)
{
	uintptr_t at = (uintptr_t)memory;
	return at >= range->begin && at + bytes <= range->begin + range->bytes;
}

/* The link to the range in which all of it lies. */
static struct range **find(struct range **ranges, const void *memory, size_t bytes)
{
	while (*ranges && !holds(*ranges, memory, bytes))
		ranges = &(*ranges)->next;
	return ranges;
}

static void add(struct range **ranges, const void *memory, size_t bytes)
{
	struct range *range = malloc(sizeof(*range));
	*range = (struct range){(uintptr_t)memory, bytes, *ranges};
	*ranges = range;
}

static size_t drop(struct range **link)
{
	struct range *range = *link;
	size_t bytes = range->bytes;
	*link = range->next;
	free(range);
	return bytes;
}

/* A child has no device threads, and would share the parent's memory. */
static void begin_child(void)
{
	munmap(arena.outside, ARENA_BYTES);
	munmap(arena.inside, ARENA_BYTES);
	while (blocks)
		drop(&blocks);
	while (pinned)
		drop(&pinned);
	pthread_mutex_init(&lock, NULL);
	open_arena();
}

static __attribute__((constructor)) void begin(void)
{
	open_arena();
	pthread_atfork(NULL, NULL, begin_child);
}

bool far_owns(const void *memory)
{
	return (uintptr_t)memory - (uintptr_t)arena.outside < ARENA_BYTES;
}

bool far_has(const void *memory, size_t bytes)
{
	pthread_mutex_lock(&lock);
	bool has = *find(&blocks, memory, bytes);
	pthread_mutex_unlock(&lock);
	return has;
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (bytes + page - 1) / page * page;
}

/* Between two blocks there is a page that is none. */
int far_alloc(int chip, size_t bytes, void **memory)
{
	(void)chip;
	size_t room = whole_pages(bytes + 1) + whole_pages(1);
	pthread_mutex_lock(&lock);
	bool fits = arena.used + room <= ARENA_BYTES;
	if (fits) {
		*memory = arena.outside + arena.used;
		arena.used += room;
		add(&blocks, *memory, bytes);
	}
	pthread_mutex_unlock(&lock);
	return fits ? 0 : RING_ENOMEM;
}

void far_free(void *memory)
{
	pthread_mutex_lock(&lock);
	struct range **block = find(&blocks, memory, 0);
	if (!*block || (*block)->begin != (uintptr_t)memory)
		die("freed what is no block", memory, 0);
	size_t bytes = drop(block);
	madvise(arena.inside + ((char *)memory - arena.outside), whole_pages(bytes + 1),
		MADV_REMOVE);
	pthread_mutex_unlock(&lock);
}

int far_pin(void *memory, size_t bytes)
{
	if (bytes == 0 || ((uintptr_t)memory | bytes) % whole_pages(1) != 0)
		die("pinned what is no whole pages", memory, bytes);
	pthread_mutex_lock(&lock);
	for (const struct range *range = pinned; range; range = range->next)
		if ((uintptr_t)memory < range->begin + range->bytes &&
		    range->begin < (uintptr_t)memory + bytes)
			die("pinned twice", memory, bytes);
	add(&pinned, memory, bytes);
	pthread_mutex_unlock(&lock);
	return 0;
}

void far_unpin(void *memory, size_t bytes)
{
	pthread_mutex_lock(&lock);
	struct range **range = find(&pinned, memory, bytes);
	if (!*range || (*range)->begin != (uintptr_t)memory || (*range)->bytes != bytes)
		die("unpinned what is not pinned so", memory, bytes);
	drop(range);
	pthread_mutex_unlock(&lock);
}

int far_host_alloc(size_t bytes, void **memory)
{
	void *made = aligned_alloc(whole_pages(1), whole_pages(bytes));
	if (!made)
		return RING_ENOMEM;
	*memory = made;
	return far_pin(made, whole_pages(bytes));
}

void far_host_free(void *memory)
{
	if (!memory)
		return;
	pthread_mutex_lock(&lock);
	struct range **range = find(&pinned, memory, 1);
	if (!*range || (*range)->begin != (uintptr_t)memory)
		die("freed what it has not made", memory, 0);
	drop(range);
	pthread_mutex_unlock(&lock);
	free(memory);
}

void *far_reach(const void *memory, size_t bytes)
{
	char *reached = (char *)memory;
	pthread_mutex_lock(&lock);
	if (far_owns(memory)) {
		if (!*find(&blocks, memory, bytes))
			die("reached for what is freed, or none of its memory", memory, bytes);
		reached = arena.inside + (reached - arena.outside);
	} else if (bytes > 0 && !*find(&pinned, memory, bytes)) {
		die("reached for host memory that is not pinned", memory, bytes);
	}
	pthread_mutex_unlock(&lock);
	return reached;
}
