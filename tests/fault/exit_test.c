/* SPDX-License-Identifier: MIT */
/*
 * Ranks that end as soon as their last call has returned, without destroying their communicator: no other rank's
 * call fails by that. And ends in the middle of things: while a thread is inside a call, in a signal handler
 * above one, in a forked child, and behind handlers of the program.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"

#define RANKS 4
#define KINDS 6
#define COUNT ((size_t)RANKS * 5000)

static float send[COUNT], recv[COUNT];

static int call(struct ring_comm *comm, int kind)
{
	const enum ring_datatype type = RING_FLOAT32;
	switch (kind) {
	case 0:
		return ring_barrier(comm, NULL);
	case 1:
		return ring_all_reduce(comm, send, recv, COUNT, type, RING_SUM, NULL);
	case 2:
		return ring_all_reduce(comm, send, recv, 2, type, RING_SUM, NULL);
	case 3:
		return ring_all_gather(comm, send, recv, COUNT / RANKS, type, NULL);
	case 4:
		return ring_all_to_all(comm, send, recv, COUNT / RANKS, type, NULL);
	default:
		return ring_broadcast(comm, send, recv, COUNT, type, 1, NULL);
	}
}

/* A user saw one job in five end with "died: its connection closed without goodbye", though all was done. */
static int leave_behind_a_call(struct harness_rank *self)
{
	int kind = *(const int *)self->context;
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	for (int i = 0; i < 2; i++)
		if (call(comm, kind))
			return harness_fail(self, "kind %d: %s", kind, ring_comm_error(comm));
	return 0; /* the harness calls exit() */
}

/* ---- in the middle ------------------------------------------------------------------------- */

static void *wait_in_call(void *comm)
{
	call(comm, 1);
	return NULL;
}

static void leave_now(int signal)
{
	(void)signal;
	exit(0);
}

/* Rank 0 leaves inside a call that the others make once they know that it is gone. */
static int leave_inside_a_call(struct harness_rank *self)
{
	bool by_signal = *(const int *)self->context;
	struct ring_comm *comm;
	pthread_t thread;
	if (harness_join(self, NULL, &comm) || call(comm, 0))
		return harness_fail(self, "%s", ring_comm_error(NULL));
	if (self->rank == 0 && by_signal) {
		signal(SIGALRM, leave_now);
		ualarm(200000, 0);
		call(comm, 1);
		return harness_fail(self, "the call came to an end");
	}
	if (self->rank == 0) {
		pthread_create(&thread, NULL, wait_in_call, comm);
		usleep(200000);
		exit(0);
	}
	for (int ms = 0; ms < 10000 && ring_comm_status(comm) == 0; ms++)
		usleep(1000);
	int err = call(comm, 1);
	if (err != RING_EPEER)
		return harness_fail(self, "%s: %s", ring_strerror(err), ring_comm_error(comm));
	ring_comm_destroy(comm);
	return 0;
}

/* ---- children and handlers ----------------------------------------------------------------- */

static int fork_and_go_on(struct harness_rank *self)
{
	struct ring_comm *comm;
	int status = 1;
	if (harness_join(self, NULL, &comm))
		return 1;
	pid_t child = fork();
	if (child == 0)
		exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return harness_fail(self, "its child ended with %d", status);
	usleep(100000); /* what it has said, if anything, is heard */
	for (int kind = 0; kind < KINDS; kind++)
		if (call(comm, kind))
			return harness_fail(self, "%s", ring_comm_error(comm));
	return 0;
}

static struct ring_comm *left;

static void call_and_destroy(void)
{
	if (call(left, 1)) {
		fprintf(stderr, "at exit: %s\n", ring_comm_error(left));
		_exit(1);
	}
	ring_comm_destroy(left);
}

static int destroy_at_exit(struct harness_rank *self)
{
	if (harness_join(self, NULL, &left))
		return 1;
	atexit(call_and_destroy);
	return 0;
}

/* ---- all ----------------------------------------------------------------------------------- */

static int run(const char *name, harness_body *body, int rounds, int modes)
{
	int bad = 0, runs = 0;
	for (int world = 1; world < HARNESS_WORLDS; world++)
		for (int round = 0; round < rounds; round++) {
			int mode = round % modes;
			struct harness team = {.world = &harness_worlds[world],
					       .size = RANKS,
					       .body = body,
					       .context = &mode};
			snprintf(team.label, sizeof(team.label), "%s, round %d", name, round);
			bad += harness_run(&team) != 0;
			runs++;
		}
	printf("%s: %d of %d runs failed\n", name, bad, runs);
	return bad;
}

int main(int argc, char **argv)
{
	int rounds = harness_is_long(argc, argv) ? 20 * KINDS : 4 * KINDS;
	int bad = run("behind a call", leave_behind_a_call, rounds, KINDS) +
		  run("inside a call", leave_inside_a_call, 2, 2) +
		  run("in a child", fork_and_go_on, 1, 1) +
		  run("in a handler", destroy_at_exit, 2, 1);
	return bad != 0;
}
