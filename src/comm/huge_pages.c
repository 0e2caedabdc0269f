/* SPDX-License-Identifier: MIT */
/* Counting what is reached into, and asking the kernel to move it; see huge_pages.h. */
#include "huge_pages.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define PAGES_MOST 512 /* of 4 KiB in a huge one */

/*
 * Huge pages per call: for each call the kernel first waits for all CPUs, but the other ranks wait
 * until it returns.
 */
#define AT_ONCE 16
#define FORBIDDEN UINT64_MAX

/* Asked for a page, the kernel would move it even where huge pages are forbidden. */
static bool is_forbidden(void)
{
	char setting[64] = "";
	FILE *file = ring_fd_file("/sys/kernel/mm/transparent_hugepage/enabled");
	if (!file)
		return true;
	bool read = fgets(setting, sizeof(setting), file);
	fclose(file);
	return !read || strstr(setting, "[never]");
}

/* Whether all pages of a huge one are in use, so that it takes no more memory than they do. */
static bool is_in_use(uintptr_t huge)
{
	unsigned char resident[PAGES_MOST];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = RING_HUGE_PAGE / page;
	if (pages > PAGES_MOST || mincore((void *)huge, RING_HUGE_PAGE, resident) != 0)
		return false;
	for (size_t i = 0; i < pages; i++)
		if (!(resident[i] & 1))
			return false;
	return true;
}

static uintptr_t end_of(const struct ring_reached_buffer *buffer)
{
	return buffer->begin + buffer->bytes;
}

static struct ring_reached_buffer *find(struct ring_huge_pages *pages, uintptr_t begin)
{
	struct ring_reached_buffer *buffer = pages->seen;
	for (; buffer < pages->seen + RING_HUGE_PAGES_SEEN; buffer++)
		if (buffer->begin == begin)
			return buffer;
	buffer = &pages->seen[pages->next++ % RING_HUGE_PAGES_SEEN];
	*buffer = (struct ring_reached_buffer){
		.begin = begin,
		.done = begin / RING_HUGE_PAGE * RING_HUGE_PAGE,
	};
	return buffer;
}

/* Whether the rest of the buffer is moved now. */
static bool is_worth_it(const struct ring_huge_pages *pages,
			const struct ring_reached_buffer *buffer)
{
	const uint64_t left = (end_of(buffer) - buffer->done - 1) / RING_HUGE_PAGE + 1;
	if (pages->takes_ns == FORBIDDEN)
		return false;
	if (buffer->calls >= RING_HUGE_PAGES_CALLS &&
	    left * pages->takes_ns <= RING_HUGE_PAGES_SOON_NS)
		return true;
	return buffer->saved_ns > 0 && (uint64_t)buffer->saved_ns / left >= pages->takes_ns;
}

/* How many of the next huge pages are in use as a whole. */
static uintptr_t count_in_use(const struct ring_reached_buffer *buffer)
{
	uintptr_t count = 0;
	while (count < AT_ONCE && buffer->done + count * RING_HUGE_PAGE < end_of(buffer) &&
	       is_in_use(buffer->done + count * RING_HUGE_PAGE))
		count++;
	return count;
}

/* Moves the next pages. Pages that cannot be moved, or are in use elsewhere in the kernel, stay. */
static void move(struct ring_huge_pages *pages, struct ring_reached_buffer *buffer)
{
	const uint64_t begin_ns = ring_clock_ns();
	const uintptr_t count = count_in_use(buffer);
	bool moved = count > 0 &&
		     madvise((void *)buffer->done, count * RING_HUGE_PAGE, MADV_COLLAPSE) == 0;
	const uint64_t took_ns = ring_clock_ns() - begin_ns;
	buffer->done += (count > 0 ? count : 1) * RING_HUGE_PAGE;
	buffer->saved_ns -= (int64_t)took_ns;
	if (moved)
		pages->takes_ns = took_ns / count;
}

void ring_huge_pages_note(struct ring_huge_pages *pages, const void *buffer, size_t bytes)
{
	struct ring_reached_buffer *reached = find(pages, (uintptr_t)buffer);
	reached->bytes = bytes > reached->bytes ? bytes : reached->bytes;
	reached->calls++;
	reached->saved_ns += (int64_t)(bytes * RING_HUGE_PAGE_SAVES_NS / RING_HUGE_PAGE);
	if (pages->takes_ns == 0)
		pages->takes_ns = is_forbidden() ? FORBIDDEN : RING_HUGE_PAGE_TAKES_NS;
	while (reached->done < end_of(reached) && is_worth_it(pages, reached))
		move(pages, reached);
}
