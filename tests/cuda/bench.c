/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <sys/socket.h>

#include "tests/device/twin.h"

int bench_furnish(struct bench *bench, size_t room)
{
	bench->send = twin_make(room);
	bench->recv = twin_make(room);
	bench->other = twin_make(room);
	CUDA_MUST(cuda.host_alloc(&bench->near, room, 0));
	CUDA_MUST(cuda.host_alloc(&bench->near_other, room, 0));
	int err = 0;
	for (int i = 0; i < 2 && !err; i++) {
		CUDA_MUST(cuda.stream_create(&bench->handles[i], RING_CUDA_STREAM_NON_BLOCKING, 0));
		err = ring_stream_from_cuda(bench->comm, bench->handles[i], &bench->streams[i]);
	}
	return err ? bench_say(bench, "ring_stream_from_cuda") : 0;
}

void bench_leave(struct bench *bench)
{
	for (int i = 0; i < 2; i++)
		ring_stream_destroy(bench->streams[i]);
	ring_comm_destroy(bench->comm);
}

int bench_say(const struct bench *bench, const char *what)
{
	return harness_fail(bench->self, "%s: %s", what, ring_comm_error(bench->comm));
}

void bench_copy(const struct bench *bench, void *to, const void *from, size_t bytes)
{
	CUDA_MUST(cuda.memory_copy(to, from, bytes, bench->handles[0]));
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
}

/* ---- connections ------------------------------------------------------------------------------ */

#define FDS 1024

static bool had[FDS];

static bool is_connection(int fd)
{
	struct sockaddr_storage other;
	socklen_t bytes = sizeof(other);
	return getpeername(fd, (struct sockaddr *)&other, &bytes) == 0 &&
	       (other.ss_family == AF_INET || other.ss_family == AF_INET6);
}

void bench_note_connections(void)
{
	for (int fd = 0; fd < FDS; fd++)
		had[fd] = is_connection(fd);
}

void bench_break_connections(void)
{
	for (int fd = 0; fd < FDS; fd++)
		if (is_connection(fd) && !had[fd])
			shutdown(fd, SHUT_RDWR);
}
