/* SPDX-License-Identifier: MIT */
/*
 * Private memory that peers copy from and to: the kernel looks up each page for each peer, which
 * takes as long as the copying, unless pages are huge. So buffers that calls use again are moved to
 * huge pages.
 *
 * Only where it costs no memory, as all of the huge page is in use; where the system gives huge
 * pages on request (not "never" in /sys/kernel/mm/transparent_hugepage/enabled, Linux 6.1); and
 * where the owner allows it (not MADV_NOHUGEPAGE). Programs notice only that calls get faster.
 */
#ifndef RING_HUGE_PAGES_H
#define RING_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#define RING_HUGE_PAGE ((uintptr_t)2 << 20)

/* What a huge page saves each time that as many bytes are copied. (30 to 70 us.) */
#define RING_HUGE_PAGE_SAVES_NS UINT64_C(40000)

/*
 * What moving one takes, until one was measured. (In a virtual machine that gives free memory back
 * to its host, 0.7 ms with 2 ranks on its 2 CPUs, 1.1 with 4, and 2 to 14 with 8.)
 */
#define RING_HUGE_PAGE_TAKES_NS UINT64_C(4000000)

/*
 * What takes no longer than this is moved in the third call, before it has paid: it is soon over.
 * (25 MiB to all of 4 ranks, calls 6 to 15, once it has paid -> in the third call: 13 -> 8.0 ms.)
 */
#define RING_HUGE_PAGES_SOON_NS UINT64_C(100000000)
#define RING_HUGE_PAGES_CALLS 3

#define RING_HUGE_PAGES_SEEN 16

/* A buffer of calls. */
struct ring_reached_buffer {
	uintptr_t begin;
	size_t bytes;     /* of the longest call */
	unsigned calls;   /* one in place counts twice, as input and as output */
	int64_t saved_ns; /* what its calls would have saved so far, less what was spent */
	uintptr_t done;   /* nothing is left to do before this */
};

/* One per communicator; all zero at first. */
struct ring_huge_pages {
	struct ring_reached_buffer seen[RING_HUGE_PAGES_SEEN];
	unsigned next; /* to be replaced next */
	/* to move a page, as measured lately; 0: not yet; UINT64_MAX: forbidden */
	uint64_t takes_ns;
};

/*
 * Peers have copied from or to these bytes, and are done. A buffer that calls use again is moved at
 * once if that is soon over; else once calls would have saved what it takes. If it takes longer
 * than expected, the rest is moved once calls have saved that, too.
 */
void ring_huge_pages_note(struct ring_huge_pages *pages, const void *buffer, size_t bytes);

#endif
