/* SPDX-License-Identifier: MIT */
/*
 * Data have no headers, as both ends know what comes. Every call is a round of flows: bytes to a
 * rank or from one, moved whenever the sockets are ready.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "hand_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hand.h"

/* For 25 MiB, pieces of 64 and 128 KiB took a quarter longer, larger ones as long. */
#define PIECE_BYTES ((size_t)1 << 19)
#define FEW_BYTES 1024

/* Behind 1 byte, the data may be copied slowly: transport/tcp_link.h. */
#define WORD_BYTES 16

struct flow {
	char *at;
	size_t left;
};

struct flows {
	struct flow in[HAND_SOCKETS_RANKS], out[HAND_SOCKETS_RANKS];
};

static int sockets[HAND_SOCKETS_RANKS][HAND_SOCKETS_RANKS]; /* [rank][peer] */
static int self, ranks;
static bool crowded;

static bool set_up(int fd)
{
	int one = 1;
	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
	       setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno")) == 0;
}

static bool connect_two(int listener, int one, int other)
{
	struct sockaddr_in address;
	socklen_t bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || getsockname(listener, (struct sockaddr *)&address, &bytes) < 0 ||
	    connect(fd, (struct sockaddr *)&address, bytes) < 0)
		return false;
	sockets[one][other] = fd;
	sockets[other][one] = accept(listener, NULL, NULL);
	return sockets[other][one] >= 0 && set_up(fd) && set_up(sockets[other][one]);
}

bool hand_sockets_connect(int size)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	bool good = size <= HAND_SOCKETS_RANKS && listener >= 0 &&
		    bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    listen(listener, 1) == 0;
	for (int one = 0; one < size && good; one++)
		for (int other = one + 1; other < size && good; other++)
			good = connect_two(listener, one, other);
	close(listener);
	return good;
}

void hand_sockets_begin(int rank, int size)
{
	const int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t own;
	CPU_ZERO(&own);
	CPU_SET(rank % cpus, &own);
	sched_setaffinity(0, sizeof(own), &own);
	self = rank;
	ranks = size;
	crowded = size > cpus;
}

/* ---- flows ----------------------------------------------------------------------------------- */

/* Advances a flow by what send(2) or recv(2) returned. */
static void advance(struct flow *flow, ssize_t moved)
{
	if (moved > 0) {
		flow->at += moved;
		flow->left -= (size_t)moved;
	} else if (moved == 0 || errno != EAGAIN) {
		fprintf(stderr, "hand_driver: sockets: %s\n", moved ? strerror(errno) : "closed");
		_exit(1);
	}
}

static size_t piece_of(const struct flow *flow)
{
	return flow->left < PIECE_BYTES ? flow->left : PIECE_BYTES;
}

/* Moves bytes of the sockets that are ready, and tries no others. */
static void move_ready(struct flows *flows, const struct pollfd *looks)
{
	for (int peer = 0; peer < ranks; peer++) {
		struct flow *in = &flows->in[peer], *out = &flows->out[peer];
		int fd = sockets[self][peer];
		if (in->left > 0 && looks[peer].revents & POLLIN)
			advance(in, recv(fd, in->at, piece_of(in), MSG_DONTWAIT));
		if (out->left > 0 && looks[peer].revents & POLLOUT)
			advance(out, send(fd, out->at, piece_of(out), MSG_DONTWAIT | MSG_NOSIGNAL));
	}
}

/* Lists the sockets to poll. returns how many there are */
static int look_at(const struct flows *flows, struct pollfd *looks)
{
	int wanted = 0;
	for (int peer = 0; peer < ranks; peer++) {
		short events = (short)((flows->in[peer].left > 0 ? POLLIN : 0) |
				       (flows->out[peer].left > 0 ? POLLOUT : 0));
		looks[peer] = (struct pollfd){.fd = events ? sockets[self][peer] : -1,
					      .events = events};
		wanted += events != 0;
	}
	return wanted;
}

/* First sends without polling: the sockets have room, as nothing is under way. */
static void move_all(struct flows *flows)
{
	struct pollfd looks[HAND_SOCKETS_RANKS];
	for (int peer = 0; peer < ranks; peer++)
		looks[peer].revents = POLLOUT;
	do {
		move_ready(flows, looks);
	} while (look_at(flows, looks) > 0 && poll(looks, (nfds_t)ranks, crowded ? -1 : 0) >= 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void hand_sockets_meet(void)
{
	static char said[WORD_BYTES], heard[HAND_SOCKETS_RANKS][WORD_BYTES];
	struct flows flows = {0};
	for (int peer = 0; peer < ranks; peer++) {
		if (peer == self)
			continue;
		flows.out[peer] = (struct flow){said, WORD_BYTES};
		flows.in[peer] = (struct flow){heard[peer], WORD_BYTES};
	}
	move_all(&flows);
}

static struct flow flow_of(float *floats, size_t count)
{
	return (struct flow){(char *)floats, count * sizeof(float)};
}

/* Room for the vectors that other ranks send. */
static float *slots(size_t count)
{
	static float *memory;
	static size_t floats;
	if (floats < count) {
		free(memory);
		memory = malloc(count * sizeof(float));
		floats = count;
	}
	if (!memory)
		_exit(1);
	return memory;
}

/*
 * Receives this rank's block of all others' vectors, and adds it to its own; whole vectors if
 * `few`.
 */
static void add_own_block(const struct job *job, bool few)
{
	struct flows flows = {0};
	size_t begin = 0, count = few ? job->count : hand_block_of(job, self, &begin);
	float *received = slots(count * (size_t)ranks);
	for (int peer = 0; peer < ranks; peer++) {
		size_t first = 0, floats = few ? job->count : hand_block_of(job, peer, &first);
		if (peer == self)
			continue;
		flows.out[peer] = flow_of(job->data + first, floats);
		flows.in[peer] = flow_of(received + (size_t)peer * count, count);
	}
	move_all(&flows);
	for (int peer = 0; peer < ranks; peer++)
		if (peer != self)
			hand_add(job->data + begin, received + (size_t)peer * count, count);
}

static void spread_blocks(const struct job *job)
{
	struct flows flows = {0};
	size_t begin, count = hand_block_of(job, self, &begin);
	for (int peer = 0; peer < ranks; peer++) {
		size_t first, floats = hand_block_of(job, peer, &first);
		if (peer == self)
			continue;
		flows.out[peer] = flow_of(job->data + begin, count);
		flows.in[peer] = flow_of(job->data + first, floats);
	}
	move_all(&flows);
}

void hand_sockets_reduce(const struct job *job)
{
	const bool few = job->count * sizeof(float) <= FEW_BYTES;
	add_own_block(job, few);
	if (!few)
		spread_blocks(job);
}

/* From rank to rank. A rank receives the next piece while it sends the last one on. */
void hand_sockets_broadcast(const struct job *job)
{
	const size_t piece = self > 0 ? PIECE_BYTES / sizeof(float) : job->count;
	struct flows flows = {0};
	for (size_t done = 0; done < job->count; done += piece) {
		size_t count = job->count - done < piece ? job->count - done : piece;
		if (self > 0)
			flows.in[self - 1] = flow_of(job->data + done, count);
		if (self > 0)
			move_all(&flows);
		if (self + 1 < ranks)
			flows.out[self + 1] = flow_of(job->data + done, count);
	}
	move_all(&flows);
}

void hand_sockets_exchange(const struct job *job)
{
	struct flows flows = {0};
	size_t own = (size_t)self * job->part;
	for (int peer = 0; peer < ranks; peer++) {
		size_t part = (size_t)peer * job->part;
		if (peer == self)
			continue;
		flows.out[peer] = flow_of(job->data + part, job->part);
		flows.in[peer] = flow_of(job->result + part, job->part);
	}
	move_all(&flows);
	memcpy(job->result + own, job->data + own, job->part * sizeof(float));
}
