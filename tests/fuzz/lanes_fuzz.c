/* SPDX-License-Identifier: MIT */
/* Control lanes whose neighbours say anything: news is told once, and what is told is clean. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_watcher.h"
#include "health/lanes.h"

static int failures, departures;

static void heard(void *owner, const struct ring_news *news)
{
	(void)owner;
	failures++;
	if (news->err >= 0 || !memchr(news->text, '\0', sizeof(news->text)))
		abort();
	for (const char *c = news->text; *c; c++)
		if ((unsigned char)*c < ' ')
			abort();
}

static void neighbour_left(void *owner, int rank)
{
	(void)owner, (void)rank;
	departures++;
}

static void neighbour_waits(void *owner, int rank, const struct ring_record *record)
{
	(void)owner, (void)rank;
	if (!ring_record_is_valid(record))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int prev[2], next[2];
	struct ring_lanes *lanes;
	struct ring_peer peers[2] = {{.rank = 0, .host = "h"}, {.rank = 2, .host = "h"}};
	memset(&fake, 0, sizeof(fake));
	failures = departures = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, prev) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, next))
		abort();
	struct ring_lanes_params params = {
		.self = 1,
		.prev = &peers[0],
		.next = &peers[1],
		.prev_fd = prev[0],
		.next_fd = next[0],
		.failed = heard,
		.left = neighbour_left,
		.waits = neighbour_waits,
	};
	if (ring_lanes_open(&lanes, NULL, &params, NULL))
		abort();
	size_t half = size / 2;
	(void)!send(prev[1], data, half, MSG_NOSIGNAL);
	(void)!send(next[1], data + half, size - half, MSG_NOSIGNAL);
	fake_dispatch();
	close(prev[1]);
	fake_dispatch();
	close(next[1]);
	fake_dispatch();
	ring_lanes_close(lanes, 0);
	if (failures > 1 || departures > 2)
		abort();
	return 0;
}
