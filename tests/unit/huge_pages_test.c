/* SPDX-License-Identifier: MIT */
/* Which memory of calls is moved to huge pages, when, and that nothing else changes by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/huge_pages.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define HUGE ((size_t)RING_HUGE_PAGE)
#define BYTES (3 * HUGE)
#define MANY 40
#define CALLS_ENOUGH 5000

/* Memory that begins with a huge page, and one more behind it. */
struct memory {
	char *mapped, *data;
	size_t mapped_bytes;
};

static struct memory map(size_t bytes)
{
	struct memory memory = {.mapped_bytes = bytes + 2 * HUGE};
	memory.mapped = mmap(NULL, memory.mapped_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory.mapped, MAP_FAILED);
	memory.data = (char *)(((uintptr_t)memory.mapped + HUGE - 1) / HUGE * HUGE);
	return memory;
}

/* The kernel may refuse some, such as pages that it moves elsewhere just then: they stay what they are. */
static bool refused;

int madvise(void *address, size_t bytes, int advice)
{
	int result = (int)syscall(SYS_madvise, address, bytes, advice);
	refused = refused || (advice == MADV_COLLAPSE && result != 0);
	return result;
}

static void unmap(struct memory memory)
{
	munmap(memory.mapped, memory.mapped_bytes);
}

/* Bytes on huge pages in the mapping that an address lies in, which may hold more than what the test mapped. */
static size_t huge_bytes(const char *address)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	bool inside = false;
	size_t kib = 0;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		uintptr_t begin, end;
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			inside = begin <= (uintptr_t)address && (uintptr_t)address < end;
		if (inside && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
			break;
	}
	fclose(file);
	return kib << 10;
}

/* Whether the system does it when it is asked, and not by itself. */
static void skip_where_nobody_asks(void)
{
	char setting[64] = "";
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	if (file) {
		assert_non_null(fgets(setting, sizeof(setting), file));
		fclose(file);
	}
	struct memory memory = map(HUGE);
	memset(memory.data, 1, HUGE);
	bool asks = strstr(setting, "[madvise]") && madvise(memory.data, HUGE, MADV_COLLAPSE) == 0;
	unmap(memory);
	refused = false;
	if (!asks)
		skip();
}

static void assert_huge(const char *address, size_t bytes)
{
	size_t huge = huge_bytes(address);
	if (refused)
		assert_in_range(huge, 0, bytes);
	else
		assert_int_equal(huge, bytes);
}

static void note(struct ring_huge_pages *pages, const char *buffer, size_t bytes, int calls)
{
	for (int i = 0; i < calls; i++)
		ring_huge_pages_note(pages, buffer, bytes);
}

static void buffers_that_calls_come_back_to_are_moved(void **state)
{
	(void)state;
	skip_where_nobody_asks();
	struct ring_huge_pages pages = {0};
	struct memory memory = map(BYTES);
	for (size_t i = 0; i < BYTES; i++)
		memory.data[i] = (char)(i * 7 / 1000);
	size_t before = huge_bytes(memory.data);
	note(&pages, memory.data, BYTES, RING_HUGE_PAGES_CALLS - 1);
	assert_int_equal(huge_bytes(memory.data), before);
	note(&pages, memory.data, BYTES, 1);
	assert_huge(memory.data, before + BYTES);
	for (size_t i = 0; i < BYTES; i++)
		assert_int_equal(memory.data[i], (char)(i * 7 / 1000));
	unmap(memory);
}

/* More than the kernel is asked for at once, and some of it is not there. */
static void large_buffers_are_moved_in_parts(void **state)
{
	(void)state;
	skip_where_nobody_asks();
	struct ring_huge_pages pages = {0};
	const size_t hole = 5;
	struct memory memory = map(MANY * HUGE);
	memset(memory.data, 1, hole * HUGE);
	memset(memory.data + hole * HUGE + 4096, 1, (MANY - hole) * HUGE - 4096);
	size_t before = huge_bytes(memory.data);
	note(&pages, memory.data, MANY * HUGE, CALLS_ENOUGH);
	assert_huge(memory.data, before + (MANY - 1) * HUGE);
	unmap(memory);
}

static void large_buffers_pay_first(void **state)
{
	(void)state;
	skip_where_nobody_asks();
	struct ring_huge_pages pages = {0};
	const int calls = RING_HUGE_PAGE_TAKES_NS / RING_HUGE_PAGE_SAVES_NS;
	struct memory memory = map(MANY * HUGE);
	memset(memory.data, 1, MANY * HUGE);
	size_t before = huge_bytes(memory.data);
	note(&pages, memory.data, MANY * HUGE, calls - 1);
	assert_int_equal(huge_bytes(memory.data), before);
	note(&pages, memory.data, MANY * HUGE, 1);
	assert_true(refused || huge_bytes(memory.data) > before);
	unmap(memory);
}

/* A small buffer brings what lies around it along, if that is there. */
static void what_is_not_in_use_stays_so(void **state)
{
	(void)state;
	skip_where_nobody_asks();
	struct ring_huge_pages pages = {0};
	struct memory memory = map(2 * HUGE);
	char *hole = memory.data + HUGE + HUGE / 2;
	memset(memory.data, 1, (size_t)(hole - memory.data));
	memset(hole + 4096, 1, 4096);
	size_t before = huge_bytes(memory.data);
	note(&pages, memory.data + 8192, 65536, CALLS_ENOUGH);
	assert_huge(memory.data, before + HUGE);
	note(&pages, memory.data + HUGE, 65536, CALLS_ENOUGH);
	assert_huge(memory.data, before + HUGE);
	unsigned char resident;
	assert_int_equal(mincore(hole, 4096, &resident), 0);
	assert_int_equal(resident & 1, 0);
	unmap(memory);
}

static void who_wants_none_has_none(void **state)
{
	(void)state;
	struct ring_huge_pages pages = {0};
	struct memory memory = map(BYTES);
	assert_int_equal(madvise(memory.mapped, memory.mapped_bytes, MADV_NOHUGEPAGE), 0);
	memset(memory.data, 1, BYTES);
	note(&pages, memory.data, BYTES, CALLS_ENOUGH);
	assert_int_equal(huge_bytes(memory.data), 0);
	unmap(memory);
}

static void memory_that_is_gone_does_no_harm(void **state)
{
	(void)state;
	struct ring_huge_pages pages = {0};
	struct memory memory = map(BYTES);
	unmap(memory);
	note(&pages, memory.data, BYTES, CALLS_ENOUGH);
}

/* A program with a new buffer for each call gains nothing. */
static void buffers_that_nobody_comes_back_to_stay(void **state)
{
	(void)state;
	struct ring_huge_pages pages = {0};
	const size_t each = 64 << 10;
	struct memory memory = map((RING_HUGE_PAGES_SEEN + 1) * each);
	memset(memory.mapped, 1, memory.mapped_bytes);
	size_t before = huge_bytes(memory.data);
	for (int i = 0; i < CALLS_ENOUGH; i++)
		for (size_t k = 0; k <= RING_HUGE_PAGES_SEEN; k++)
			note(&pages, memory.data + k * each, each, 1);
	assert_int_equal(huge_bytes(memory.data), before);
	unmap(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_that_calls_come_back_to_are_moved),
		cmocka_unit_test(large_buffers_are_moved_in_parts),
		cmocka_unit_test(large_buffers_pay_first),
		cmocka_unit_test(what_is_not_in_use_stays_so),
		cmocka_unit_test(who_wants_none_has_none),
		cmocka_unit_test(memory_that_is_gone_does_no_harm),
		cmocka_unit_test(buffers_that_nobody_comes_back_to_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
