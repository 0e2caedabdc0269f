/* SPDX-License-Identifier: MIT */
/*
 * A program as people write them for NCCL, by its own header, on memory and streams of CUDA's
 * driver: every call with every type, groups, splits, configurations, ends of all kinds. Ranks are
 * threads, and processes; tests/nccl/program_test compiles and runs it.
 *
 *	program [--seed N]
 */
#include "checks.h"

#include <stdio.h>
#include <stdlib.h>

static const struct check {
	const char *name;
	int (*run)(struct bench *bench);
	int least, most; /* ranks */
	bool only_processes;
} checks[] = {
	{"types and operations", check_types_and_ops, 1, 4, false},
	{"calls of every kind", check_kinds_and_types, 1, 4, false},
	{"no elements", check_no_elements, 1, 4, false},
	{"many in a group", check_many_in_a_group, 1, 4, false},
	{"configured calls", check_configured, 2, 2, false},
	{"many streams", check_many_streams, 2, 2, false},
	{"pre-multiplied sums", check_premultiplied, 1, 4, false},
	{"split", check_split, 1, 4, false},
	{"shrink and grow", check_shrink_and_grow, 2, 4, false},
	{"configurations", check_configurations, 1, 2, false},
	{"does not block", check_does_not_block, 1, 4, false},
	{"does not come to be", check_does_not_come_to_be, 1, 2, false},
	{"aborted", check_aborted, 1, 4, false},
	{"ended in a group", check_ended_in_a_group, 1, 4, false},
	{"mismatched", check_mismatched, 1, 4, false},
	{"a rank dies", check_died, 2, 4, true},
	{"memory", check_memory, 1, 2, false},
	{"refusals", check_refusals, 1, 4, false},
	{"one thread, several devices", check_one_thread, 1, 1, false},
};

static int run(struct harness_rank *self)
{
	const struct check *check = self->context;
	struct bench bench = {.self = self};
	int bad = bench_open(&bench) || check->run(&bench);
	if (!bad && check->run != check_died) /* else there is nobody to wait for */
		bench_close(&bench);
	return bad;
}

static int run_check(const struct check *check, int size, int world, uint64_t seed)
{
	struct harness team = {.world = &harness_worlds[world],
			       .size = size,
			       .body = run,
			       .context = (void *)(uintptr_t)check,
			       .shared_bytes = sizeof(ncclUniqueId),
			       .doomed = check->run == check_died ? 2 : 0};
	char text[24];
	snprintf(text, sizeof(text), "%u", (unsigned)(seed & 0xffff));
	setenv("RING_FAKE_CUDA_SEED", text, 1);
	setenv("RING_TRANSPORT", team.world->transport, 1);
	snprintf(team.label, sizeof(team.label), "%s, %d %s, --seed %ju", check->name, size,
		 team.world->threads ? "threads" : "processes", (uintmax_t)seed);
	return harness_report(team.label, harness_run(&team));
}

int main(int argc, char **argv)
{
	const int nchecks = (int)(sizeof(checks) / sizeof(*checks));
	uint64_t seed = harness_seed(argc, argv);
	int tests = 0, bad = 0;
	bench_start(argv);
	for (int c = 0; c < nchecks; c++)
		for (int size = 1; size <= 4; size *= 2)
			for (int world = checks[c].only_processes; world < 2; world++) {
				if (size < checks[c].least || size > checks[c].most)
					continue;
				bad |= run_check(&checks[c], size, world, seed++);
				tests++;
			}
	printf("1..%d\n", tests);
	return bad != 0;
}
