/* SPDX-License-Identifier: MIT */
/* What is cut into many chunks over loopback goes in whole packets: the kernel counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/tcp.h>

#include <cmocka.h>

#include "tests/transport/pair.h"
#include "transport/tcp/link.h"
#include "choose/tuning.h"

#define TRIES 32
#define MOST (512 << 10)

/* That of a broadcast of so much that it is many, by links that take `most` at once. */
static size_t chunk_of(uint64_t most)
{
	struct ring_tuning tuning = {.chunk_bytes = most,
				     .depth = 4,
				     .chunks_per_round = 2,
				     .channels = 1,
				     .algorithm = -1};
	static const int order[] = {0, 1};
	struct ring_question question = {.kind = RING_KIND_BROADCAST,
					 .ranks = 2,
					 .order = order,
					 .bytes = 64 << 20,
					 .path = RING_PATH_SOCKET};
	return ring_tuning_choose(&tuning, &question).chunk_bytes;
}

static struct tcp_info info_of(const struct ring_link *link)
{
	struct tcp_info info = {0};
	socklen_t bytes = sizeof(info);
	int fd = ((const struct ring_tcp_link *)link)->fd;
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
	return info;
}

static void move(const struct pair *pair, const void *source, size_t bytes)
{
	struct ring_link *sender = pair->ends[SENDER], *receiver = pair->ends[RECEIVER];
	const struct ring_transport *tcp = sender->transport;
	assert_int_equal(tcp->send(sender, source, bytes), 0);
	while (receiver->arrived == receiver->released) {
		assert_int_equal(tcp->poll(sender), 0);
		assert_int_equal(tcp->poll(receiver), 0);
	}
	tcp->release(receiver);
}

/* The fewest packets that a message took: while windows are small, it may be in more. */
static unsigned packets_of(const struct pair *pair, const void *source, size_t bytes)
{
	unsigned fewest = -1u;
	for (int i = 0; i < TRIES; i++) {
		unsigned before = info_of(pair->ends[SENDER]).tcpi_data_segs_out;
		move(pair, source, bytes);
		unsigned packets = info_of(pair->ends[SENDER]).tcpi_data_segs_out - before;
		fewest = packets < fewest ? packets : fewest;
	}
	return fewest;
}

static void many_chunks_are_whole_packets(void **state)
{
	(void)state;
	const struct pair_kind tcp = {.name = "tcp", .transport = &ring_transport_tcp};
	unsigned char *source = calloc(1, MOST);
	struct pair pair;
	assert_non_null(source);
	assert_true(pair_init(&pair));
	assert_int_equal(pair_open(&pair, &tcp, 2, MOST, 1), 0);
	bool usual = info_of(pair.ends[SENDER]).tcpi_advmss > 65000;
	for (unsigned packets = 1; usual && packets <= 8; packets++) {
		size_t chunk = chunk_of(packets * (64 << 10));
		assert_in_range(chunk, packets * (63 << 10), packets * (64 << 10));
		assert_int_equal(packets_of(&pair, source, chunk), packets);
	}
	pair_close(&pair);
	free(source);
	if (!usual)
		skip(); /* somebody gave the loopback another MTU */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_chunks_are_whole_packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
