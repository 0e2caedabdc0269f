/* SPDX-License-Identifier: MIT */
/*
 * Ranks whose launcher speaks PMI-1, lines of text over the socket PMI_FD: mpiexec of MPICH and of
 * Intel MPI, srun --mpi=pmi2, Flux. `init` is said once per process, and `finalize` when it exits:
 * after that the launcher answers nobody.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/waits.h"
#include "kvs.h"

#define LINE_TEXT 2048 /* an answer with the longest value there is (1024) fits */
#define KVSNAME_TEXT 256

static char kvsname[KVSNAME_TEXT];
static int fd;
static ino_t socket_inode; /* fd's: MPI may close it, and the program open another file there */

/* ---- lines ---- */

static int fail_lost(struct ring_failure *failure, const char *why)
{
	return ring_fail(failure, RING_ESYSTEM,
			 "the launcher cannot be reached through PMI_FD=%d: %s: was this program "
			 "started by mpiexec or srun itself, with its descriptors kept?",
			 fd, why);
}

static int await(short events, uint64_t deadline_ms, const char *doing, struct ring_failure *failure)
{
	for (;;) {
		struct pollfd ready = {.fd = fd, .events = events};
		uint64_t now = ring_clock_ms();
		uint64_t left = now < deadline_ms ? deadline_ms - now : 0;
		int found = poll(&ready, 1, left < INT_MAX ? (int)left : INT_MAX);
		if (found > 0)
			return 0;
		if (found < 0 && errno != EINTR)
			return fail_lost(failure, strerror(errno));
		if (found == 0)
			return ring_fail(failure, RING_ETIMEDOUT,
					 "the launcher did not answer \"%s\" in time: not all "
					 "ranks of the job have come to create the communicator",
					 doing);
	}
}

/* A launcher that reads no more is not waited for longer than one that does not answer. */
static int say(const char *line, uint64_t deadline_ms, const char *doing,
	       struct ring_failure *failure)
{
	size_t length = strlen(line);
	while (length > 0) {
		int err = await(POLLOUT, deadline_ms, doing, failure);
		if (err)
			return err;
		ssize_t sent = send(fd, line, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (sent <= 0)
			return fail_lost(failure, strerror(errno));
		line += sent;
		length -= (size_t)sent;
	}
	return 0;
}

/* One line without its end. The launcher only answers, so nothing follows it. */
static int hear(char line[LINE_TEXT], uint64_t deadline_ms, const char *doing,
		struct ring_failure *failure)
{
	size_t used = 0;
	do {
		int err = await(POLLIN, deadline_ms, doing, failure);
		if (err)
			return err;
		ssize_t got = read(fd, line + used, LINE_TEXT - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return fail_lost(failure, got < 0 ? strerror(errno) : "it is closed");
		used += (size_t)got;
	} while (line[used - 1] != '\n' && used < LINE_TEXT - 1);
	line[used - 1] = '\0';
	return 0;
}

/* The value of " name=value " in a line, NULL if it is not there. */
static const char *find_value(const char *line, const char *name, size_t *length)
{
	size_t named = strlen(name);
	while (*line) {
		line += strspn(line, " ");
		size_t word = strcspn(line, " ");
		if (word > named && strncmp(line, name, named) == 0 && line[named] == '=') {
			*length = word - named - 1;
			return line + named + 1;
		}
		line += word;
	}
	return NULL;
}

/* Says a command, hears its answer. */
static int ask(const char *command, const char *answer, char line[LINE_TEXT], uint64_t deadline_ms,
	       struct ring_failure *failure)
{
	size_t length;
	int err = say(command, deadline_ms, answer, failure);
	if (!err)
		err = hear(line, deadline_ms, answer, failure);
	if (err)
		return err;
	const char *cmd = find_value(line, "cmd", &length);
	const char *rc = find_value(line, "rc", &length);
	if (cmd && strncmp(cmd, answer, strlen(answer)) == 0 && (!rc || *rc == '0'))
		return 0;
	return ring_fail(
		failure, RING_ESYSTEM,
		"the launcher answers \"%.100s\" on PMI_FD=%d, not \"cmd=%s rc=0\": does it "
		"speak PMI-1?",
		line, fd, answer);
}

/* ---- the exchange ---- */

static ino_t inode_of(int descriptor)
{
	struct stat status;
	return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

static int connect_pmi(uint64_t deadline_ms, struct ring_failure *failure)
{
	char line[LINE_TEXT];
	size_t length;
	int err = ring_launch_number(&ring_launcher_pmi, "PMI_FD", 0, INT32_MAX, &fd, failure);
	if (!err)
		err = ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", line,
			  deadline_ms, failure);
	if (!err)
		err = ask("cmd=get_my_kvsname\n", "my_kvsname", line, deadline_ms, failure);
	if (err)
		return err;
	const char *name = find_value(line, "kvsname", &length);
	if (!name || length >= sizeof(kvsname))
		return fail_lost(failure, "it names no place for values");
	memcpy(kvsname, name, length);
	socket_inode = inode_of(fd);
	return 0;
}

static int put(const char *key, const char *value, uint64_t deadline_ms,
	       struct ring_failure *failure)
{
	char command[LINE_TEXT], line[LINE_TEXT];
	snprintf(command, sizeof(command), "cmd=put kvsname=%s key=%s value=%s\n", kvsname, key,
		 value);
	return ask(command, "put_result", line, deadline_ms, failure);
}

static int fence(uint64_t deadline_ms, struct ring_failure *failure)
{
	char line[LINE_TEXT];
	return ask("cmd=barrier_in\n", "barrier_out", line, deadline_ms, failure);
}

static int get(const char *key, char *value, size_t room, uint64_t deadline_ms,
	       struct ring_failure *failure)
{
	char command[LINE_TEXT], line[LINE_TEXT];
	size_t length;
	snprintf(command, sizeof(command), "cmd=get kvsname=%s key=%s\n", kvsname, key);
	int err = ask(command, "get_result", line, deadline_ms, failure);
	const char *found = err ? NULL : find_value(line, "value", &length);
	if (err)
		return err;
	snprintf(value, room, "%.*s", found ? (int)length : 0, found ? found : "");
	return 0;
}

/*
 * Waits for the answer: if the connection ended without it, the launcher would take the rank for
 * lost.
 */
static void leave(void)
{
	char line[LINE_TEXT];
	if (socket_inode && inode_of(fd) == socket_inode)
		ask("cmd=finalize\n", "finalize_ack", line,
		    ring_clock_ms() + RING_LAUNCHER_LEAVE_MS, NULL);
}

static const struct ring_kvs kvs = {
	.connect = connect_pmi,
	.put = put,
	.fence = fence,
	.get = get,
	.leave = leave,
};

/* ---- the launcher ---- */

const struct ring_launcher ring_launcher_pmi = {
	.name = "mpiexec (PMI-1)",
	.marker = "PMI_FD",
	.variables = "PMI_FD, PMI_RANK, PMI_SIZE",
	.size = "PMI_SIZE",
	.rank = "PMI_RANK",
	.local_size = "MPI_LOCALNRANKS",
	.kvs = &kvs,
};
