/* SPDX-License-Identifier: MIT */
/*
 * Crowds: many ranks of an ordinary user, who may open 1,024 files a process, on one or two CPUs. They meet and
 * make their first call again and again, which links every rank with every other one. The long form is what
 * is promised: 128 and 256 ranks on two CPUs and 96 on one, twenty times each.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"

#define FILES 1024   /* what most systems let a process open */
#define NOBODY 64321 /* a user who has nothing else, if this test may choose one */
#define PART 3       /* elements of each rank's part */
#define FIRST_CALLS 3
#define AT_ONCE 200 /* descriptors of a message that nobody receives */

struct crowd {
	int ranks, cpus, rounds;
	bool beset; /* by another program of the user, for a second of each round */
};

/* What a user in front of this machine has; the kernel counts descriptors in flight for each user. */
static int become_ordinary(struct harness_rank *self, const struct crowd *crowd)
{
	cpu_set_t cpus;
	struct rlimit files = {FILES, FILES};
	CPU_ZERO(&cpus);
	for (int i = 0; i < crowd->cpus; i++)
		CPU_SET(i, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus); /* a machine of fewer CPUs is as good */
	if (setrlimit(RLIMIT_NOFILE, &files))
		return harness_fail(self, "setrlimit: %m");
	if (geteuid() != 0)
		return 0;
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return harness_fail(self, "setresuid: %m");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1); /* as after exec */
	return 0;
}

/* Passes so many descriptors that nobody receives, that the kernel lets this user pass no more. */
static bool fill_the_way(int socket)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(AT_ONCE * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = "x", .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(AT_ONCE * sizeof(int));
	for (int i = 0, zero = 0; i < AT_ONCE; i++)
		memcpy(CMSG_DATA(&control.header) + sizeof(int) * (size_t)i, &zero, sizeof(zero));
	for (int i = 0; i < 2 * FILES / AT_ONCE; i++)
		if (sendmsg(socket, &message, 0) < 0)
			return errno == ETOOMANYREFS;
	return false; /* this user may pass any number */
}

/* Another program: fills the way, says so, and ends a second later. returns its pid, or -1 */
static pid_t beset(struct harness_rank *self)
{
	int pair[2], said[2];
	char full = 0;
	if (pipe(said) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return harness_fail(self, "pipe, socketpair: %m"), -1;
	pid_t pid = fork();
	if (pid == 0) {
		full = fill_the_way(pair[0]);
		close(said[0]);
		if (write(said[1], &full, 1) == 1)
			sleep(1);
		_exit(0);
	}
	close(said[1]);
	bool done = pid > 0 && read(said[0], &full, 1) == 1;
	close(said[0]);
	close(pair[0]);
	close(pair[1]);
	if (done && !full)
		printf("# the kernel lets this user pass any number of descriptors\n");
	return done ? pid : (harness_fail(self, "fork: %m"), -1);
}

static int check(struct harness_rank *self, const char *what, const int *got, int count,
		 int (*want)(int rank, int i, int size))
{
	for (int i = 0; i < count; i++)
		if (got[i] != want(self->rank, i, self->size))
			return harness_fail(self, "%s: element %d is %d, not %d", what, i, got[i],
					    want(self->rank, i, self->size));
	return 0;
}

static int exchanged(int rank, int i, int size)
{
	(void)size;
	return i / PART * 1000 + rank;
}

static int of_root(int rank, int i, int size)
{
	(void)rank, (void)i;
	return (size - 1) * 1000;
}

static int sum_of_all(int rank, int i, int size)
{
	(void)rank;
	return size * (size - 1) / 2 * 1000 + size * (i / PART);
}

/* The call that is the communicator's first. send[i] is 1000 times the rank, plus whose part it is. */
static int call(struct harness_rank *self, struct ring_comm *comm, int which, const int *send,
		int *recv)
{
	int size = self->size, all = size * PART;
	if (which == 0)
		return ring_all_to_all(comm, send, recv, PART, RING_INT32, NULL)
			       ? harness_fail(self, "all_to_all: %s", ring_comm_error(comm))
			       : check(self, "all_to_all", recv, all, exchanged);
	if (which == 1)
		return ring_broadcast(comm, send, recv, PART, RING_INT32, size - 1, NULL)
			       ? harness_fail(self, "broadcast: %s", ring_comm_error(comm))
			       : check(self, "broadcast", recv, PART, of_root);
	return ring_all_reduce(comm, send, recv, (size_t)all, RING_INT32, RING_SUM, NULL)
		       ? harness_fail(self, "all_reduce: %s", ring_comm_error(comm))
		       : check(self, "all_reduce", recv, all, sum_of_all);
}

/* A user saw ranks of one host fall back to TCP where they had only to wait a moment. */
static int check_links(struct harness_rank *self, const struct ring_comm *comm)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	int err = ring_comm_stats(comm, &stats);
	for (int i = 0; !err && i < stats.link_count; i++)
		if (strcmp(stats.links[i].transport, "shm") != 0)
			return harness_fail(self, "a link over %s", stats.links[i].transport);
	return err;
}

static int be_rank(struct harness_rank *self)
{
	const struct crowd *crowd = self->context;
	size_t all = (size_t)self->size * PART;
	int *send = calloc(all, sizeof(*send)), *recv = calloc(all, sizeof(*recv));
	int bad = !send || !recv || become_ordinary(self, crowd);
	for (size_t i = 0; i < all && send; i++)
		send[i] = self->rank * 1000 + (int)i / PART;
	for (int round = 0; round < crowd->rounds && !bad; round++) {
		struct ring_comm *comm;
		pid_t other = crowd->beset && self->rank == 0 ? beset(self) : 0;
		bad = other < 0 || harness_join(self, NULL, &comm);
		if (bad)
			break;
		bad = call(self, comm, round % FIRST_CALLS, send, recv) || check_links(self, comm);
		ring_comm_destroy(comm);
		if (other > 0)
			waitpid(other, NULL, 0);
	}
	free(send);
	free(recv);
	return bad;
}

static int run(const struct crowd *crowd)
{
	static const struct harness_world anything = {"all transports", false, NULL, 0};
	struct harness team = {.world = &anything,
			       .size = crowd->ranks,
			       .body = be_rank,
			       .context = (void *)crowd,
			       .seconds = 60 + 30 * crowd->rounds};
	double began = harness_clock();
	int bad = harness_run(&team);
	printf("%d ranks on %d CPUs%s, %d first calls: %s, %.1f s\n", crowd->ranks, crowd->cpus,
	       crowd->beset ? ", beset" : "", crowd->rounds, bad ? "wrong" : "right",
	       harness_clock() - began);
	return bad;
}

int main(int argc, char **argv)
{
	static const struct crowd brief[] = {
		{4, 2, 1, true}, {64, 2, 3, false}, {48, 1, 3, false}, {0}};
	static const struct crowd whole[] = {
		{4, 2, 3, true}, {128, 2, 20, false}, {256, 2, 20, false}, {96, 1, 20, false}, {0}};
	struct crowd asked[2] = {{0}};
	const struct crowd *crowd = harness_is_long(argc, argv) ? whole : brief;
	if (argc == 4) { /* ranks, CPUs, rounds */
		asked[0] = (struct crowd){atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), false};
		crowd = asked;
	}
	int bad = 0;
	for (; crowd->ranks; crowd++)
		bad |= run(crowd);
	return bad != 0;
}
