/* SPDX-License-Identifier: MIT */
/*
 * A wire between two machines: a pair of datagram sockets, one packet each, as descriptors 10 and
 * 11 of the command that it becomes.
 *
 *	wire COMMAND...
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST 10
#define ROOM (8 << 20)

int main(int argc, char **argv)
{
	int ends[2], room = ROOM;
	if (argc < 2 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) {
		perror("wire");
		return 125;
	}
	for (int i = 0; i < 2; i++) {
		int high = fcntl(ends[i], F_DUPFD, FIRST + 2);
		close(ends[i]);
		ends[i] = high;
	}
	for (int i = 0; i < 2; i++) {
		if (setsockopt(ends[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
			setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
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
