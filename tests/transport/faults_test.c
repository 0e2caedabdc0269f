/* SPDX-License-Identifier: MIT */
/* The slots of shm are in both ends' page tables before the first message: none of the first ones is slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "tests/transport/pair.h"
#include "tests/transport/steps.h"

#define DEPTH 8
#define SLOT_BYTES 262144
#define PAGE 4096
#define FEW 16 /* of 1024 pages at both ends together, of which one access may enter 16 */

static const struct pair_kind shm = {.name = "shm", .transport = &ring_transport_shm};

/* What the kernel had to enter into the page table since this process began. */
static long faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

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

static void first_messages_meet_no_faults(void **state)
{
	(void)state;
	static unsigned char source[SLOT_BYTES];
	struct pair pair;
	if (!kernel_can_enter()) {
		print_message("needs MADV_POPULATE_WRITE (Linux 5.14)\n");
		skip();
	}
	memset(source, 'x', sizeof(source));
	assert_true(pair_init(&pair));
	assert_int_equal(pair_open(&pair, &shm, DEPTH, SLOT_BYTES, 1), 0);
	struct ring_link *receiver = pair.ends[RECEIVER];
	long before = faults();
	for (int k = 0; k < DEPTH; k++)
		send_whole(&pair, source, sizeof(source));
	poll_until(&pair, &receiver->arrived, DEPTH);
	for (uint64_t k = 0; k < DEPTH; k++)
		assert_memory_equal(data_of(receiver, k), source, sizeof(source));
	assert_in_range(faults() - before, 0, FEW);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(first_messages_meet_no_faults)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
