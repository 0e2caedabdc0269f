/* SPDX-License-Identifier: MIT */
/*
 * Sockets that never block, and a loop that never sleeps: the fastest way to use TCP.
 */
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples.h"

/* Behind 8 bytes, the data may be copied slowly: transport/tcp/link.h. */
#define TOKEN_BYTES 16

struct sockets {
	struct perf_path path;
	int next, prev;
};

/* How to reach a rank, and where it runs. */
struct address {
	uint64_t place; /* equal for ranks that share a loopback interface */
	uint64_t token; /* what a caller must say first                    */
	uint32_t ip;    /* network order; 0 if there is none               */
	uint16_t port;  /* network order                                   */
	uint16_t unused;
};

/* A machine's running kernel and network namespace, as one number. */
static uint64_t own_place(void)
{
	char boot[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file) {
		if (!fgets(boot, sizeof(boot), file))
			boot[0] = '\0';
		fclose(file);
	}
	struct stat space = {0};
	stat("/proc/self/ns/net", &space);
	uint64_t place = space.st_ino;
	for (const char *at = boot; *at; at++)
		place = place * 1099511628211u + (unsigned char)*at;
	return place;
}

/* As in the library: reno where packets cannot be lost, else the system's congestion control. */
static void tune(int fd, bool local)
{
	int on = 1;
	const char *congestion = getenv("RING_CONGESTION");
	if (!congestion && local)
		congestion = "reno";
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (congestion)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
			   (socklen_t)strlen(congestion));
}

static int listen_anywhere(uint16_t *port)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&any, length) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &length) < 0) {
		close(fd);
		return -1;
	}
	*port = any.sin_port;
	return fd;
}

static int call_next(const struct address *address, bool local)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = address->port};
	to.sin_addr.s_addr = local ? htonl(INADDR_LOOPBACK) : address->ip;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	tune(fd, local);
	struct timeval patience = {.tv_sec = (time_t)PERF_PATH_PATIENCE_S};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    send(fd, &address->token, sizeof(address->token), MSG_NOSIGNAL) !=
		    sizeof(address->token)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Accepts the connection of the previous rank, which knows our token; closes others. */
static int answer_prev(int listener, uint64_t token, bool local)
{
	double deadline = perf_now() + PERF_PATH_PATIENCE_S;
	struct timeval patience = {.tv_sec = 1};
	while (perf_now() < deadline) {
		if (poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 1000) <= 0)
			continue;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		uint64_t said = 0;
		if (recv(fd, &said, sizeof(said), MSG_WAITALL) == sizeof(said) && said == token) {
			tune(fd, local);
			return fd;
		}
		close(fd);
	}
	return -1;
}

/* Connects to the neighbours on the ring, given the addresses of all ranks. */
static void connect_neighbours(struct sockets *sockets, const struct perf_team *team, int follower,
			       const struct address *all, int listener)
{
	const struct address *self = &all[team->rank];
	const struct address *next = &all[follower];
	bool local = true;
	for (int i = 0; i < team->size; i++)
		local = local && all[i].place == self->place;
	if (!local && next->ip == 0)
		return;
	sockets->next = call_next(next, local);
	sockets->prev = answer_prev(listener, self->token, local);
	if (sockets->next >= 0 && sockets->prev >= 0) {
		fcntl(sockets->next, F_SETFL, O_NONBLOCK);
		fcntl(sockets->prev, F_SETFL, O_NONBLOCK);
	}
}

static void close_sockets(struct perf_path *path)
{
	struct sockets *sockets = (struct sockets *)path;
	if (sockets->next >= 0)
		close(sockets->next);
	if (sockets->prev >= 0)
		close(sockets->prev);
	free(sockets);
}

/* Counts what one try moved. returns true if it moved bytes */
static bool moved(ssize_t result, size_t *done)
{
	if (result > 0)
		*done += (size_t)result;
	return result > 0;
}

static int move(struct perf_path *path, struct perf_buffer buffers[2], size_t to_send,
		size_t to_receive)
{
	const struct sockets *sockets = (struct sockets *)path;
	const unsigned char *out = buffers[0].mirror;
	unsigned char *in = buffers[1].mirror;
	size_t sent = 0, received = 0;
	double deadline = perf_now() + PERF_PATH_PATIENCE_S;
	for (unsigned idle = 0; sent < to_send || received < to_receive;) {
		bool moving = false;
		if (sent < to_send)
			moving |= moved(send(sockets->next, out + sent, to_send - sent, MSG_NOSIGNAL),
					&sent);
		if (received < to_receive)
			moving |= moved(recv(sockets->prev, in + received, to_receive - received, 0),
					&received);
		if (moving)
			continue;
		sched_yield();
		if (++idle % 65536 == 0 && perf_now() > deadline)
			return RING_ETIMEDOUT;
	}
	return 0;
}

/*
 * Spins, or sleeps if the rank that has the token may need this CPU. Spins in poll(), as recv()
 * contends with the kernel for the socket's lock.
 */
static bool await_token(struct perf_path *path, bool sleeps)
{
	const struct sockets *sockets = (struct sockets *)path;
	unsigned char token[TOKEN_BYTES];
	struct pollfd readable = {.fd = sockets->prev, .events = POLLIN};
	double deadline = perf_now() + PERF_PATH_PATIENCE_S;
	unsigned spins = 0;
	while (poll(&readable, 1, sleeps ? 1000 : 0) <= 0) {
		if (++spins % 64 != 0 && !sleeps)
			continue;
		if (perf_now() > deadline)
			return false;
		sched_yield();
	}
	return recv(sockets->prev, token, sizeof(token), MSG_WAITALL) == sizeof(token);
}

static bool pass_token(struct perf_path *path)
{
	const struct sockets *sockets = (struct sockets *)path;
	const unsigned char token[TOKEN_BYTES] = {0};
	return send(sockets->next, token, sizeof(token), MSG_NOSIGNAL) == sizeof(token);
}

static const struct perf_path plain = {
	.move = move,
	.pass_token = pass_token,
	.await_token = await_token,
	.close = close_sockets,
};

int perf_sockets_open(struct perf_team *team, int next, struct perf_path **path)
{
	*path = NULL;
	struct sockets *sockets = calloc(1, sizeof(*sockets));
	struct address *all = calloc((size_t)team->size, sizeof(*all));
	if (!sockets || !all) {
		free(sockets);
		free(all);
		return perf_team_failed(team, RING_ENOMEM, "measuring the limit");
	}
	*sockets = (struct sockets){.path = plain, .next = -1, .prev = -1};
	struct address self = {.place = own_place(), .ip = perf_path_ip()};
	bool drawn = getrandom(&self.token, sizeof(self.token), 0) == sizeof(self.token);
	int listener = drawn ? listen_anywhere(&self.port) : -1;

	int err = perf_team_gather(team, &self, sizeof(self), all);
	if (!err && listener >= 0)
		connect_neighbours(sockets, team, next, all, listener);
	if (listener >= 0)
		close(listener);
	free(all);
	if (!err && sockets->next >= 0 && sockets->prev >= 0)
		*path = &sockets->path;
	else
		close_sockets(&sockets->path);
	return err;
}
