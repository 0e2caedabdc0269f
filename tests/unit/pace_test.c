/* SPDX-License-Identifier: MIT */
/* The pace of a rank's links: how it is written, what its wires do, and where it may be had. */
#include "transport/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "meet/meeting.h"

static void what_can_be_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double bytes_per_second;
		uint64_t latency_ns;
	} good[] = {
		{"1GB/s,20us", 1e9, 20000},
		{"125MB/s", 125e6, 0},
		{"1Gbit/s", 125e6, 0},
		{"2.5Gbit/s,1.5us", 312.5e6, 1500},
		{"64KB/s,3ms", 64e3, 3000000},
		{"1B/s,0ns", 1, 0},
		{"8bit/s", 1, 0},
		{"9600bit/s,10000ms", 1200, 10000000000u},
		{"100Mbit/s,7ns", 12.5e6, 7},
		{"1000GB/s", 1e12, 0},
		{"0.001GB/s,0.0004ms", 1e6, 400},
		{"16Kbit/s", 2000, 0},
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ring_pace_speed speed;
		if (!ring_pace_read(good[i].text, &speed))
			fail_msg("refused: %s", good[i].text);
		assert_float_equal(speed.bytes_per_second, good[i].bytes_per_second, 1e-3);
		assert_int_equal(speed.latency_ns, good[i].latency_ns);
	}
}

static void what_cannot(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"1",
		"GB/s",
		"1GB",
		"1 GB/s",
		"1gb/s",
		"1GBit/s",
		"1TB/s",
		"-1GB/s",
		"+1GB/s",
		"0B/s",
		"7bit/s",
		"1001GB/s",
		"1e3MB/s",
		"0x1MB/s",
		"inf",
		"1.GB/s",
		".5GB/s",
		"1..5GB/s",
		"1GB/s,",
		"1GB/s,20",
		"1GB/s,us",
		"1GB/s,20s",
		"1GB/s, 20us",
		"1GB/s,20us ",
		" 1GB/s",
		"20us",
		"20us,1GB/s",
		"1GB/s,-1us",
		"1GB/s,1us,1us",
		"1GB/s,10001ms",
		"9999999999999B/s",
		"1KiB/s",
		"1GB/sec",
		"1GB/s;20us",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ring_pace_speed speed;
		if (ring_pace_read(bad[i], &speed))
			fail_msg("taken: \"%s\"", bad[i]);
	}
}

static void messages_leave_one_after_the_other(void **state)
{
	(void)state;
	struct ring_pace pace = {.speed = {.bytes_per_second = 1e9, .latency_ns = 77}};
	assert_int_equal(ring_pace_leave(&pace, 1000, 500), 1500);
	assert_int_equal(ring_pace_leave(&pace, 1100, 100), 1600); /* waits */
	assert_int_equal(ring_pace_leave(&pace, 9000, 1), 9001);   /* the wire was free */
}

static void what_does_not_leave_takes_nothing(void **state)
{
	(void)state;
	struct ring_pace pace = {.speed = {.bytes_per_second = 1e9}};
	assert_int_equal(ring_pace_enter(&pace, 4000, 10), 4000);
	assert_int_equal(ring_pace_leave(&pace, 1000, 500), 1500);
	ring_pace_take_back(&pace, 1500, 500);
	assert_int_equal(ring_pace_leave(&pace, 1000, 100), 1100);
	assert_int_equal(ring_pace_leave(&pace, 1000, 100), 1200); /* another thread's */
	ring_pace_take_back(&pace, 1100, 100);
	assert_int_equal(ring_pace_leave(&pace, 1000, 100), 1300);
	assert_int_equal(ring_pace_enter(&pace, 4000, 10), 4010);
}

static void messages_enter_one_after_the_other(void **state)
{
	(void)state;
	struct ring_pace pace = {.speed = {.bytes_per_second = 1e9}};
	assert_int_equal(ring_pace_enter(&pace, 1500, 500), 1500);
	assert_int_equal(ring_pace_enter(&pace, 2000, 500), 2000); /* its sender's wire was full */
	assert_int_equal(ring_pace_enter(&pace, 2000, 500), 2500); /* somebody else's came too */
	assert_int_equal(ring_pace_enter(&pace, 2600, 500), 3000);
}

static void only_one_machine_has_one_clock(void **state)
{
	(void)state;
	struct ring_peer peers[3] = {{.rank = 0}, {.rank = 1}, {.rank = 2}};
	struct ring_config schedule = {.link = "1GB/s"};
	struct ring_arrangement arrangement;
	struct ring_failure failure = {0};
	for (int rank = 0; rank < 3; rank++)
		memset(peers[rank].boot_id, 7, sizeof(peers[rank].boot_id));
	assert_int_equal(ring_arrangement_make(&arrangement, peers, 3, &schedule), 0);
	assert_int_equal(ring_arrangement_link(&arrangement, peers, 3, &schedule, 0, &failure), 0);
	peers[2].boot_id[3] = 8;
	assert_int_equal(ring_arrangement_link(&arrangement, peers, 3, &schedule, 0, &failure),
			 RING_ENOTSUP);
	assert_non_null(strstr(failure.text, "RING_LINK"));
	assert_non_null(strstr(failure.text, "rank 2"));
	schedule.link[0] = '\0';
	assert_int_equal(ring_arrangement_link(&arrangement, peers, 3, &schedule, 0, NULL), 0);
	ring_arrangement_free(&arrangement);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_read),
		cmocka_unit_test(what_cannot),
		cmocka_unit_test(messages_leave_one_after_the_other),
		cmocka_unit_test(what_does_not_leave_takes_nothing),
		cmocka_unit_test(messages_enter_one_after_the_other),
		cmocka_unit_test(only_one_machine_has_one_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
