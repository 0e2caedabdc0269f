/* SPDX-License-Identifier: MIT */
/*
 * A wire between two machines: a pair of datagram sockets, one packet each, as descriptors 10 and
 * 11 of the command that it becomes.
 *
 *	wire COMMAND...
 *
 * It may lose some packets, as networks do: RING_TEST_WIRE_MOST, those of more bytes;
 * RING_TEST_WIRE_CLASS, those of RoCE v2 whose traffic class is another.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define FIRST 10
#define ROOM (8 << 20)
#define FRAME 65536
#define ROCE_PORT 4791

/* ---- a wire that loses packets ---- */

static long number_of(const char *variable)
{
	const char *text = getenv(variable);
	return text ? strtol(text, NULL, 10) : -1;
}

/* An Ethernet frame with IPv4 and UDP in it. */
static bool is_roce(const unsigned char *frame, ssize_t bytes)
{
	return bytes >= 38 && frame[12] == 8 && frame[13] == 0 && frame[23] == 17 &&
	       (frame[36] << 8 | frame[37]) == ROCE_PORT;
}

static bool passes(const unsigned char *frame, ssize_t bytes, long most, long class)
{
	return (most < 0 || bytes <= most) &&
	       (class < 0 || !is_roce(frame, bytes) || frame[15] == class);
}

/* Until the command ends, whose child this is. */
static void relay(const int ends[2])
{
	static unsigned char frame[FRAME];
	const long most = number_of("RING_TEST_WIRE_MOST");
	const long class = number_of("RING_TEST_WIRE_CLASS");
	struct pollfd fds[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(fds, 2, -1) > 0) {
		for (int i = 0; i < 2; i++) {
			ssize_t bytes = recv(ends[i], frame, sizeof(frame), MSG_DONTWAIT);
			if (bytes > 0 && passes(frame, bytes, most, class))
				(void)!send(ends[!i], frame, (size_t)bytes, MSG_DONTWAIT);
		}
	}
}

/* ---- the wire ---- */

static void widen(int end)
{
	int room = ROOM;
	if (setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

/* A pair above the descriptors that the command gets. */
static bool make_pair(int ends[2])
{
	int low[2];
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, low))
		return false;
	for (int i = 0; i < 2; i++) {
		ends[i] = fcntl(low[i], F_DUPFD, FIRST + 2);
		close(low[i]);
		widen(ends[i]);
	}
	return ends[0] >= 0 && ends[1] >= 0;
}

/* Two pairs, and a child that passes on what comes. */
static bool make_lossy(int ends[2])
{
	int first[2], second[2];
	if (!make_pair(first) || !make_pair(second))
		return false;
	pid_t child = fork();
	if (child == 0) {
		close(first[0]);
		close(second[0]);
		relay((const int[]){first[1], second[1]});
		_exit(0);
	}
	close(first[1]);
	close(second[1]);
	ends[0] = first[0];
	ends[1] = second[0];
	return child > 0;
}

int main(int argc, char **argv)
{
	int ends[2];
	bool lossy = getenv("RING_TEST_WIRE_MOST") || getenv("RING_TEST_WIRE_CLASS");
	if (argc < 2 || !(lossy ? make_lossy(ends) : make_pair(ends))) {
		perror("wire");
		return 125;
	}
	for (int i = 0; i < 2; i++) {
		if (dup2(ends[i], FIRST + i) < 0) {
			perror("wire");
			return 125;
		}
		close(ends[i]);
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 125;
}
