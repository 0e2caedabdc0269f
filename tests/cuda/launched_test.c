/* SPDX-License-Identifier: MIT */
/*
 * Calls on CUDA streams that GPUs carry out by themselves, between processes of one host, and threads
 * of one that have a device each: through memory of the GPUs, and what may race once more through
 * memory of the host, as where the driver has no descriptors. Freeing waits for nothing, so that what
 * is freed too early shows; nothing is left of mappings. Patterns as arguments: only the checks whose
 * names they match. RING_TEST_LONG: 20 rounds of what may race; RING_TEST_QUICK: one. See launched.h.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "launched.h"
#include "said.h"

#define CHUNK 4000 /* bytes of a message around the ring, so that it takes many */

/* The driver of rank 1 alone has the fault: it counts from here on. */
static void fail_alone(const struct bench *bench)
{
	if (bench->check->fails_alone && bench->self->rank == 1)
		cuda_fail(bench->check->fault);
}

static int has_failed(const struct bench *bench)
{
	const struct check *check = bench->check;
	if (!check->fails_alone || bench->self->rank != 1 || cuda_fail("") == 1)
		return 0;
	return harness_fail(bench->self, "%s did not come", check->fault);
}

/* Memory of the host, in so many pieces that no more can be lent by the same links. */
static int lend(const struct bench *bench)
{
	void *from, *to;
	int err = 0;
	for (size_t i = 0; i < bench->check->lends && !err; i++) {
		err = ring_mem_alloc(bench->comm, 4096, &from);
		if (!err)
			err = ring_mem_alloc(bench->comm, 4096, &to);
		if (!err) /* each has another count, so that all tell where it lies */
			err = add((struct bench *)bench, from, to, i + 1, NULL);
	}
	return err ? bench_say(bench, "lending") : 0;
}

static int run(struct harness_rank *self)
{
	const struct check *check = self->context;
	struct ring_options options;
	struct bench bench = {.self = self, .check = check};
	if (check->engine && self->rank == 1)
		setenv("RING_CUDA_ENGINE", check->engine, 1);
	harness_options(self, &options);
	options.device = check->lends ? NULL : "cuda";
	if (check->timeout_ms)
		options.call_timeout_ms = check->timeout_ms;
	options.chunk_bytes = check->whole_chunks ? 0 : CHUNK;
	options.algorithm = check->algorithm;
	options.order = check->order;
	options.link = check->link;
	if (harness_join(self, &options, &bench.comm))
		return 1;
	if (!check->threads)
		bench_note_connections();
	fail_alone(&bench);
	int bad = lend(&bench) || bench_furnish(&bench, ROOM) || has_failed(&bench);
	harness_barrier(self);
	bad = bad || check->run(&bench);
	bench_leave(&bench);
	return bad;
}

static void set(const char *name, const char *value, const char *otherwise)
{
	setenv(name, value ? value : otherwise, 1);
}

static int try_check(const struct check *check, bool far)
{
	static const struct harness_world threads = {
		.name = "threads", .threads = true, .transport = IS_WIRED ? "tcp" : "shm,loopback"};
	const struct harness_world *world = &harness_worlds[check->world ? check->world : WORLD];
	struct harness team = {.world = check->threads ? &threads : world,
			       .size = check->size ? check->size : RANKS,
			       .body = run,
			       .context = (void *)(uintptr_t)check,
			       .shared_bytes = sizeof(pid_t),
			       .together = check->together,
			       .doomed = check->doomed};
	snprintf(team.label, sizeof(team.label), "%s%s", check->name, far ? "" : ", by the host");
	set("RING_FAKE_CUDA_FAIL", check->fails_alone ? NULL : check->fault, "");
	set("RING_FAKE_CUDA_LIMIT_MS", check->limit, "0");
	set("RING_FAKE_CUDA_PEERS", check->peers, "1");
	set("RING_FAKE_CUDA_PINS", check->pins, "1");
	set("RING_FAKE_CUDA_APART", check->apart, "");
	set("RING_FAKE_CUDA_LOCKS", check->locks, "1");
	set("RING_FAKE_CUDA_MAPS", far ? NULL : "0", "2");
	setenv("RING_FAKE_CUDA_DEVICES", check->threads ? "4" : "2", 1);
	return harness_report(team.label, check->says ? said_run(&team, check->says, team.size)
						      : harness_run(&team));
}

static char **patterns; /* those that begin with -- are no names */

static bool is_asked_for(const struct check *check)
{
	bool any = false;
	for (char **pattern = patterns; *pattern; pattern++) {
		if (fnmatch(*pattern, check->name, 0) == 0)
			return true;
		any = any || **pattern != '-';
	}
	return !any;
}

static int count_one(const struct check *check, bool far)
{
	(void)check;
	(void)far;
	return 1;
}

/* The first round has all, others those that may go otherwise then. returns the sum of what it does */
static int for_all(int rounds, int (*does)(const struct check *check, bool far))
{
	static const struct check *const lists[] = {launched_results, launched_ends};
	int sum = 0;
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 2; i++)
			for (const struct check *check = lists[i]; check->name; check++)
				if (is_asked_for(check) && (round == 0 || check->races))
					sum += does(check, IS_WIRED || round % 2 == 0);
	return sum;
}

int main(int argc, char **argv)
{
	const bool once = IS_WIRED || harness_is_quick();
	const int rounds = harness_is_long(argc, argv) ? 20 : once ? 1 : 2;
	patterns = argv + 1;
	setenv("RING_CUDA_ENGINE", "kernel", 1);
	setenv("RING_FAKE_CUDA_FREES_WAIT", "0", 1);
	setenv("RING_FAKE_CUDA_LEFT", "1", 1);
	printf("1..%d\n", for_all(rounds, count_one));
	return for_all(rounds, try_check) != 0;
}
