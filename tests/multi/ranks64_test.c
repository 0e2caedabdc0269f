/* SPDX-License-Identifier: MIT */
/*
 * Sixty-four processes on this machine: they meet and check every collective in half a minute, and
 * then, with nothing to do, use next to no CPU time.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness.h"

#define RANKS 64
#define PART 500 /* elements of a rank's part */
#define CREATE_SECONDS 30
#define IDLE_PERCENT 1 /* of one core, by all ranks together */
#define LOOKS 5        /* at most, until they sleep */
#define SLOWER 8       /* times: machines with RDMA devices may be emulated, on one CPU */

struct board {
	double created, checked; /* when */
};

static int wrong(struct harness_rank *self, const char *what, int i, double got, double want)
{
	return harness_fail(self, "%s: element %d is %g, not %g", what, i, got, want);
}

static int check_reductions(struct harness_rank *self, struct ring_comm *comm, double *all,
			    double *part)
{
	const double ranks = RANKS * (RANKS - 1) / 2.0;
	for (int i = 0; i < RANKS * PART; i++)
		all[i] = self->rank + i;
	if (ring_reduce_scatter(comm, all, part, PART, RING_FLOAT64, RING_SUM, NULL))
		return harness_fail(self, "reduce_scatter: %s", ring_comm_error(comm));
	for (int i = 0; i < PART; i++) {
		double want = ranks + RANKS * (self->rank * PART + i);
		if (part[i] != want)
			return wrong(self, "reduce_scatter", i, part[i], want);
	}
	if (ring_all_reduce(comm, all, all, RANKS * PART - 17, RING_FLOAT64, RING_SUM, NULL))
		return harness_fail(self, "all_reduce: %s", ring_comm_error(comm));
	for (int i = 0; i < RANKS * PART - 17; i++)
		if (all[i] != ranks + (double)RANKS * i)
			return wrong(self, "all_reduce", i, all[i], ranks + (double)RANKS * i);
	return 0;
}

static int check_copies(struct harness_rank *self, struct ring_comm *comm, double *all, double *part)
{
	for (int i = 0; i < PART; i++)
		part[i] = self->rank * 1000.0 + i;
	if (ring_all_gather(comm, part, all, PART, RING_FLOAT64, NULL))
		return harness_fail(self, "all_gather: %s", ring_comm_error(comm));
	for (int i = 0; i < RANKS * PART; i++) {
		double want = i / PART * 1000.0 + i % PART;
		if (all[i] != want)
			return wrong(self, "all_gather", i, all[i], want);
	}
	if (ring_broadcast(comm, part, part, PART, RING_FLOAT64, 42, NULL))
		return harness_fail(self, "broadcast: %s", ring_comm_error(comm));
	for (int i = 0; i < PART; i++)
		if (part[i] != 42000.0 + i)
			return wrong(self, "broadcast", i, part[i], 42000.0 + i);
	return ring_barrier(comm, NULL) ? harness_fail(self, "barrier: %s", ring_comm_error(comm))
					: 0;
}

/* ---- idle ------------------------------------------------------------------------------------ */

static int ready[2], go[2]; /* pipes: a rank says that it is ready, the test lets it go on */

/* CPU time that the ranks have used, all their threads together. */
static double cpu_seconds(const struct harness *team)
{
	double sum = 0;
	for (int c = 0; c < team->children; c++) {
		struct timespec used;
		clockid_t clock;
		if (clock_getcpuclockid(team->pids[c], &clock) || clock_gettime(clock, &used))
			continue;
		sum += (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
	}
	return sum;
}

static int slower(void)
{
	return getenv("RING_TEST_WIRE") ? SLOWER : 1;
}

static bool await_ready(int ranks)
{
	char byte;
	struct pollfd look = {.fd = ready[0], .events = POLLIN};
	for (int i = 0; i < ranks; i++)
		if (poll(&look, 1, CREATE_SECONDS * 1000 * slower()) <= 0 ||
		    read(ready[0], &byte, 1) != 1)
			return false;
	return true;
}

static void let_go(int ranks)
{
	for (int i = 0; i < ranks; i++)
		if (write(go[1], "", 1) != 1)
			perror("write");
}

static void say_ready_and_wait(void)
{
	char byte;
	if (write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
		perror("pipe");
}

/*
 * Percent of one core that all ranks use together, once they sleep: where others keep the CPUs, it
 * takes each of them a while to come to that.
 */
static double watch(const struct harness *team, double seconds)
{
	double share = 100;
	for (int i = 0; i < LOOKS && share > IDLE_PERCENT; i++) {
		usleep(500000);
		double before = cpu_seconds(team), begin = harness_clock();
		usleep((useconds_t)(seconds * 1e6));
		share = 100 * (cpu_seconds(team) - before) / (harness_clock() - begin);
	}
	return share;
}

static int be_rank(struct harness_rank *self)
{
	struct board *board = self->shared;
	struct ring_comm *comm;
	double *all = calloc(RANKS * PART, sizeof(*all)), *part = calloc(PART, sizeof(*part));
	if (!all || !part || harness_join(self, NULL, &comm))
		return 1;
	harness_barrier(self);
	board->created = harness_clock();
	int bad = check_reductions(self, comm, all, part) || check_copies(self, comm, all, part);
	board->checked = harness_clock();
	say_ready_and_wait(); /* idle: nothing to do */
	if (self->rank == 0)
		say_ready_and_wait(); /* the others wait for this rank in a call */
	if (!bad && ring_barrier(comm, NULL))
		bad = harness_fail(self, "barrier: %s", ring_comm_error(comm));
	ring_comm_destroy(comm);
	free(all);
	free(part);
	return bad;
}

static int check_idle(struct harness *team, double began, double seconds)
{
	if (!await_ready(RANKS)) {
		fprintf(stderr, "%d ranks were not ready in time\n", RANKS);
		return 1;
	}
	const struct board *board = team->shared;
	double created = board->created - began, checked = board->checked - began;
	double idle = watch(team, seconds), used = cpu_seconds(team);
	let_go(RANKS);
	if (!await_ready(1))
		return 1;
	double waiting = watch(team, seconds);
	let_go(1);
	printf("%d processes met in %.2f s, had checked every collective after %.2f s\n", RANKS,
	       created, checked);
	printf("and used %.2f s of CPU time; then, of one core, %.3f %% when idle and %.3f %% when "
	       "waiting in a call (%.0f s each)\n",
	       used, idle, waiting, seconds);
	return checked > CREATE_SECONDS * slower() || used <= 0 || idle > IDLE_PERCENT ||
	       waiting > IDLE_PERCENT;
}

int main(int argc, char **argv)
{
	static const struct harness_world anything = {"all transports", false, NULL, 0};
	struct harness team = {.world = &anything,
			       .size = RANKS,
			       .body = be_rank,
			       .shared_bytes = sizeof(struct board),
			       .seconds = 90};
	double began = harness_clock();
	if (pipe(ready) || pipe(go) || harness_start(&team))
		return 1;
	int bad = check_idle(&team, began, harness_is_long(argc, argv) ? 10 : 3);
	if (bad)
		team.seconds = 1;
	bad |= harness_wait(&team);
	harness_end(&team);
	return bad;
}
