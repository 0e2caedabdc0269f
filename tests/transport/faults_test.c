/* SPDX-License-Identifier: MIT */
/* The slots of shm are in both ends' page tables before the first message, so that no early message is slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/transport/pair.h"

#define DEPTH 8
#define SLOT_BYTES 262144
#define PAGE 4096

static const struct pair_kind shm = {.name = "shm", .transport = &ring_transport_shm};

static bool kernel_can_enter(void)
{
#ifdef MADV_POPULATE_WRITE
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can = page != MAP_FAILED && madvise(page, PAGE, MADV_POPULATE_WRITE) == 0;
	munmap(page, PAGE);
	return can;
#else
	return false;
#endif
}

/* Counts this process's mappings of slots, and those of them that are in its page table whole. */
static void count_mappings(int *all, int *entered)
{
	char line[512];
	bool is_slots = false;
	unsigned long first, end;
	long size = 0, kib;
	FILE *file = fopen("/proc/self/smaps", "re");
	assert_non_null(file);
	*all = *entered = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
			is_slots = strstr(line, "ringccl-link");
		if (is_slots && sscanf(line, "Size: %ld", &kib) == 1)
			size = kib;
		if (is_slots && sscanf(line, "Rss: %ld", &kib) == 1) {
			++*all;
			*entered += kib == size;
		}
	}
	fclose(file);
}

static void first_messages_meet_no_faults(void **state)
{
	(void)state;
	struct pair pair;
	int all, entered;
	if (!kernel_can_enter()) {
		print_message("needs MADV_POPULATE_WRITE (Linux 5.14)\n");
		skip();
	}
	assert_true(pair_init(&pair));
	assert_int_equal(pair_open(&pair, &shm, DEPTH, SLOT_BYTES, 1), 0);
	count_mappings(&all, &entered);
	assert_int_equal(all, 2);
	assert_int_equal(entered, 2);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(first_messages_meet_no_faults)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
