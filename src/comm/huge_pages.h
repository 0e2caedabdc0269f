/* SPDX-License-Identifier: MIT */
/*
 * Private memory that peers copy from and to: for each of them the kernel looks up page after page,
 * which takes as long as copying itself, unless the page is a huge one. So buffers that calls come
 * back to are moved to huge pages.
 *
 * That is done where it costs no memory, as all of the huge page is in use already; where the
 * system has huge pages for those who ask (not "never" in
 * /sys/kernel/mm/transparent_hugepage/enabled, Linux 6.1); and not to memory whose owner does not
 * want it (MADV_NOHUGEPAGE). Nobody sees it but by the time that calls take.
 */
#ifndef RING_HUGE_PAGES_H
#define RING_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#define RING_HUGE_PAGE ((uintptr_t)2 << 20)

/* What a huge page saves each time that as many bytes are copied. (30 to 70 us.) */
#define RING_HUGE_PAGE_SAVES_NS UINT64_C(40000)

/*
 * What moving one should take, as long as none was moved. (In a virtual machine that gives
 * free memory back to its host, 0.7 ms with 2 ranks on its 2 CPUs, 1.1 with 4, and 2 to 14 with 8.)
 */
#define RING_HUGE_PAGE_TAKES_NS UINT64_C(4000000)

/*
 * What should take no longer than this is moved in the third call, before it has paid: it is soon
 * over. (25 MiB to all of 4 ranks, calls 6 to 15, once it has paid -> in the third call: 13 -> 8.0
 * ms.)
 */
#define RING_HUGE_PAGES_SOON_NS UINT64_C(100000000)
#define RING_HUGE_PAGES_CALLS 3

#define RING_HUGE_PAGES_SEEN 16

/* A buffer of calls. */
struct ring_reached_buffer {
	uintptr_t begin;
	size_t bytes;     /* of the longest call */
	unsigned calls;   /* one in place counts twice, as input and as output */
	int64_t saved_ns; /* what its calls would have saved by now, less what was spent */
	uintptr_t done;   /* huge pages before this are as they can be */
};

/* Of one who makes calls; all zero at first. */
struct ring_huge_pages {
	struct ring_reached_buffer seen[RING_HUGE_PAGES_SEEN];
	unsigned next; /* is forgotten next */
	/* to move a page, as it was of late; 0: nobody asked yet; UINT64_MAX: forbidden */
	uint64_t takes_ns;
};

/*
 * Peers have copied from or to these bytes, and are done with that. When calls come back to a
 * buffer, it is moved, if that should soon be over; else once calls would have saved what it takes.
 * If it takes longer than it should, the rest is moved once they have saved that, too.
 */
void ring_huge_pages_note(struct ring_huge_pages *pages, const void *buffer, size_t bytes);

#endif
