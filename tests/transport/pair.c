/* SPDX-License-Identifier: MIT */
/* Making and closing pairs of link ends. */
#include "tests/transport/pair.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "tests/transport/faulty.h"
#include "tests/transport/late.h"

#define FINISH_MS 100000

static bool tcp_sockets(int fds[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[1] = -1;
	if (bind(listener, (struct sockaddr *)&address, bytes) == 0 && listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&address, &bytes) == 0 &&
	    connect(fds[0], (struct sockaddr *)&address, bytes) == 0)
		fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return fds[1] >= 0;
}

bool pair_sockets(enum ring_lane lane, int fds[2])
{
	bool made = lane == RING_LANE_TCP
			    ? tcp_sockets(fds)
			    : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0;
	return made && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 &&
	       fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0;
}

struct ring_link_params pair_params(struct pair *pair, int end, int fd, unsigned depth,
				    size_t slot_bytes)
{
	return (struct ring_link_params){.fd = fd,
					 .outgoing = end == SENDER,
					 .self = end,
					 .peer = !end,
					 .depth = depth,
					 .slot_bytes = slot_bytes,
					 .bell = &pair->bells[end],
					 .peer_lost_ms = 5000};
}

bool pair_init(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	for (int end = 0; end < 2; end++)
		pair->bells[end] = (struct ring_bell){.memory_fd = -1, .event_fd = -1};
	return ring_bell_create(&pair->bells[0]) == 0 && ring_bell_create(&pair->bells[1]) == 0;
}

int pair_open_end(struct pair *pair, const struct pair_kind *kind, int end,
		  const struct ring_link_params *params)
{
	static const struct ring_pace_speed speed = {.latency_ns = 1000, .bytes_per_second = 10e9};
	if (!kind->paced)
		return kind->transport->open(params, &pair->ends[end]);
	pair->paces[end] = (struct ring_pace){.speed = speed};
	return ring_paced_open(kind->transport, params, &pair->paces[end], &pair->ends[end]);
}

int pair_finish(struct pair *pair, int errs[2])
{
	uint64_t deadline = ring_clock_ms() + FINISH_MS;
	while ((errs[0] == RING_EAGAIN || errs[1] == RING_EAGAIN) && ring_clock_ms() < deadline)
		for (int end = 0; end < 2; end++)
			if (errs[end] == RING_EAGAIN)
				errs[end] = ring_link_finish(pair->ends[end]);
	return errs[0] ? errs[0] : errs[1];
}

static int make_late(struct pair *pair, const struct ring_link_params params[2], uint64_t seed)
{
	for (int end = 0; end < 2; end++) {
		struct ring_faults faults = {.late = true,
					     .seed = seed + end,
					     .bell = params[end].bell};
		int err = ring_faulty_wrap(pair->ends[end], &faults, &pair->ends[end]);
		if (err)
			return err;
	}
	return 0;
}

int pair_open(struct pair *pair, const struct pair_kind *kind, unsigned depth, size_t slot_bytes,
	      uint64_t seed)
{
	int fds[2] = {-1, -1};
	if (kind->transport && !pair_sockets(kind->transport->lane, fds))
		return RING_ESYSTEM;
	struct ring_link_params params[2] = {
		pair_params(pair, SENDER, fds[SENDER], depth, slot_bytes),
		pair_params(pair, RECEIVER, fds[RECEIVER], depth, slot_bytes)};
	if (!kind->transport)
		return ring_late_pair(params, seed, pair->ends);
	for (int end = 0; end < 2; end++) {
		int err = pair_open_end(pair, kind, end, &params[end]);
		if (err)
			return err;
	}
	int err = pair_finish(pair, (int[2]){RING_EAGAIN, RING_EAGAIN});
	return err || !kind->faulty ? err : make_late(pair, params, seed);
}

void pair_close_end(struct pair *pair, int end)
{
	if (pair->ends[end])
		ring_link_close(pair->ends[end]);
	pair->ends[end] = NULL;
}

void pair_close(struct pair *pair)
{
	for (int end = 0; end < 2; end++) {
		pair_close_end(pair, end);
		ring_bell_close(&pair->bells[end]);
	}
}
