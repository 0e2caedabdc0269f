/* SPDX-License-Identifier: MIT */
/*
 * Too little of something: descriptors, memory, threads, or no /dev/shm at all. Creation either
 * works or fails everywhere with a sentence; nothing crashes, hangs or leaks.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scene.h"

#define CREATE_MS 2000 /* much more than ranks need that have enough */
#define SIZE 3

/* What is scarce, for one rank or for all. */
struct scarcity {
	int resource;
	uint64_t more; /* so much is allowed beyond what the rank uses already */
	bool for_all;
};

static uint64_t used(int resource)
{
	unsigned long pages = 0;
	if (resource == RLIMIT_NOFILE) {
		int lowest = dup(0);
		close(lowest);
		return (uint64_t)lowest;
	}
	if (resource != RLIMIT_AS)
		return 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	if (statm) {
		if (fscanf(statm, "%lu", &pages) != 1)
			pages = 0;
		fclose(statm);
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limit(int resource, uint64_t limit)
{
	struct rlimit both;
	getrlimit(resource, &both);
	both.rlim_cur = limit < both.rlim_max ? limit : both.rlim_max;
	setrlimit(resource, &both);
}

static void be_poor(struct scene_actor *actor)
{
	const struct scarcity *scarcity = actor->scene->material;
	if (scarcity->for_all || actor->rank == 1)
		set_limit(scarcity->resource, used(scarcity->resource) + scarcity->more);
}

static void be_rich(struct scene_actor *actor)
{
	const struct scarcity *scarcity = actor->scene->material;
	set_limit(scarcity->resource, RLIM_INFINITY);
}

/* Created in spite of it: then it must work. */
static int act(struct scene_actor *actor)
{
	be_rich(actor);
	return scene_all_reduce(actor, 10000, 3);
}

/* returns what went wrong; *failed tells whether creation failed */
static int run(const struct scarcity *scarcity, bool *failed)
{
	struct scene scene;
	char label[64];
	int wrong = 0, errors = 0;
	snprintf(label, sizeof(label), "%llu more%s", (unsigned long long)scarcity->more,
		 scarcity->for_all ? " for all" : "");
	scene_init(&scene, SIZE);
	scene.options.create_timeout_ms = CREATE_MS;
	scene.label = label;
	scene.material = scarcity;
	scene.prepare = be_poor;
	scene.act = act;
	scene.finish = be_rich;
	if (scene_start(&scene))
		return 1;
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < SIZE; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		errors += report->err != 0;
		if (report->created_s > 1e-3 * CREATE_MS + 1 * HARNESS_ROOM)
			wrong += scene_fail(&scene, rank, "tried for %.0f ms",
					    1e3 * report->created_s);
	}
	bool served = scene.memory->id_is_made > 0;
	if (errors && errors < SIZE && served)
		wrong += scene_fail(&scene, -1, "%d of %d ranks failed: %s", errors, SIZE,
				    scene.memory->reports[1].sentence);
	*failed = errors > 0;
	scene_end(&scene);
	return wrong;
}

/* From nothing to enough: at first it must fail, in the end it must work. */
static void sweep(const char *name, int resource, uint64_t step, int steps, bool for_all)
{
	int wrong = 0, failures = 0;
	bool failed = false;
	for (int i = 0; i < steps; i++) {
		struct scarcity scarcity = {resource, step * (uint64_t)i, for_all};
		wrong += run(&scarcity, &failed);
		failures += failed;
	}
	if (failed || !failures) {
		printf("# %d of %d attempts failed, the last one %s\n", failures, steps,
		       failed ? "too" : "not");
		wrong++;
	}
	scene_case(wrong, "too few %s for %s: %d attempts, %d failed", name,
		   for_all ? "all" : "one rank", steps, failures);
}

/* ---- links of a call ---- */

#define CALL_SIZE 6 /* so that an all_to_all needs links beside the ring's */

static int exchange_in_want(struct scene_actor *actor)
{
	int send[CALL_SIZE], recv[CALL_SIZE];
	for (int i = 0; i < actor->size; i++)
		send[i] = 100 * actor->rank + i;
	if (actor->rank == 1)
		be_poor(actor);
	int err = ring_all_to_all(actor->comm, send, recv, 1, RING_INT32, NULL);
	if (!err) /* a rank may have all that it needs before another one fails */
		err = ring_barrier(actor->comm, NULL);
	if (actor->rank == 1)
		be_rich(actor);
	for (int i = 0; i < actor->size && !err; i++)
		actor->report->wrong += recv[i] != 100 * i + actor->rank;
	return scene_note(actor, err);
}

/* A user saw "another rank was lost", or waited ten minutes, where one process had no descriptor left. */
static int run_in_want(const char *transport, uint64_t more, bool *failed)
{
	struct scene scene;
	struct scarcity scarcity = {.resource = RLIMIT_NOFILE, .more = more};
	char label[64];
	snprintf(label, sizeof(label), "%s, %d descriptors more", transport, (int)more);
	scene_init(&scene, CALL_SIZE);
	scene.options.transport = transport;
	scene.label = label;
	scene.material = &scarcity;
	scene.act = exchange_in_want;
	if (scene_start(&scene))
		return 1;
	int wrong = scene_wait(&scene), errors = 0;
	for (int rank = 0; rank < CALL_SIZE; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		errors += report->err != 0;
		if (report->err &&
		    !strstr(report->sentence, "Too many open files; this process may"))
			wrong += scene_fail(&scene, rank, "%s", report->sentence);
	}
	if (errors && errors < CALL_SIZE)
		wrong += scene_fail(&scene, -1, "%d of %d ranks failed", errors, CALL_SIZE);
	*failed = errors > 0;
	scene_end(&scene);
	return wrong;
}

static void sweep_in_want(const char *transport, uint64_t most)
{
	int wrong = 0;
	bool failed = false, none = false;
	for (uint64_t more = 0; more <= most; more++) {
		wrong += run_in_want(transport, more, &failed);
		none = none || (more == 0 && !failed);
	}
	wrong += none || failed;
	scene_case(wrong, "too few descriptors for a call's links over %s", transport);
}

static bool can_hide_dev_shm(void)
{
	int status = 1;
	pid_t child = fork();
	if (child == 0)
		_exit(!scene_own_dev_shm(false));
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void hide_dev_shm(struct scene_actor *actor)
{
	actor->report->wrong += !scene_own_dev_shm(false);
}

static int act_plainly(struct scene_actor *actor)
{
	return scene_all_reduce(actor, 1 << 20, 3);
}

static void run_without_dev_shm(void)
{
	struct scene scene;
	scene_init(&scene, 4);
	scene.options.transport = "shm";
	scene.prepare = hide_dev_shm;
	scene.act = act_plainly;
	if (!can_hide_dev_shm()) {
		scene_skip("without /dev/shm", "it cannot be hidden by this user, or here");
		return;
	}
	int wrong = scene_start(&scene) ? 1 : scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		if (report->err)
			wrong += scene_fail(&scene, rank, "%s: %s", ring_strerror(report->err),
					    report->sentence);
	}
	scene_end(&scene);
	scene_case(wrong, "without /dev/shm");
}

/* ---- no memory at all ------------------------------------------------------------------------ */

struct piece {
	struct piece *next;
};

/* Takes all the memory that malloc() has and would get, down to the smallest pieces. */
static struct piece *take_all_memory(void)
{
	struct piece *taken = NULL, *piece;
	set_limit(RLIMIT_AS, used(RLIMIT_AS));
	for (size_t bytes = 1 << 20; bytes >= sizeof(*piece); bytes -= bytes > 4096 ? bytes / 2 : 8)
		while ((piece = malloc(bytes))) {
			piece->next = taken;
			taken = piece;
		}
	return taken;
}

static void give_back(struct piece *taken)
{
	set_limit(RLIMIT_AS, RLIM_INFINITY);
	while (taken) {
		struct piece *next = taken->next;
		free(taken);
		taken = next;
	}
}

/* A call that found no memory returned RING_ENOMEM, and ring_comm_error() had nothing to say of it. */
static int act_without_memory(struct scene_actor *actor)
{
	struct ring_comm *comm = actor->comm;
	struct ring_stream *stream;
	char text[3][512];
	int errors[3];
	struct piece *taken = take_all_memory();
	errors[0] = ring_stream_create(comm, &stream);
	snprintf(text[0], sizeof(text[0]), "%s", ring_comm_error(comm));
	ring_group_start();
	errors[1] = ring_send(comm, text, 1, RING_INT8, 1 - actor->rank, NULL);
	snprintf(text[1], sizeof(text[1]), "%s", ring_comm_error(comm));
	errors[2] = ring_group_end();
	snprintf(text[2], sizeof(text[2]), "%s", ring_comm_error(comm));
	give_back(taken);
	static const char *const words[] = {"ring_stream_create: no", "send: no", "send: no"};
	for (int i = 0; i < 3; i++) {
		bool right = errors[i] == RING_ENOMEM && strstr(text[i], words[i]);
		actor->report->wrong += !right;
		if (!right)
			printf("# rank %d: %s: \"%s\"\n", actor->rank, ring_strerror(errors[i]),
			       text[i]);
	}
	fflush(stdout);
	return scene_all_reduce(actor, 1000, 1);
}

static void run_without_memory(void)
{
	struct scene scene;
	scene_init(&scene, 2);
	scene.server = scene.size; /* in a rank it ends a second later, and gives back what it had */
	scene.act = act_without_memory;
	int wrong = scene_start(&scene) ? 1 : scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++)
		wrong += scene_check_report(&scene, rank) + (scene.memory->reports[rank].err != 0);
	scene_end(&scene);
	scene_case(wrong, "calls without memory say so");
}

int main(int argc, char **argv)
{
	bool is_long = harness_is_long(argc, argv);
	int coarse = is_long ? 1 : 4;
	/* Address sanitizers reserve terabytes: a limit would only stop them. */
	bool is_sanitized = used(RLIMIT_AS) > 1ull << 40;
	for (int for_all = 0; for_all < 2; for_all++) {
		sweep("descriptors", RLIMIT_NOFILE, (uint64_t)coarse, 48 / coarse, for_all);
		if (!is_sanitized)
			sweep("bytes of memory", RLIMIT_AS, (uint64_t)coarse << 15, 128 / coarse,
			      for_all);
	}
	run_without_dev_shm();
	sweep_in_want("shm", 32);
	sweep_in_want("tcp", 16);
	if (!is_sanitized)
		run_without_memory();
	return scene_cases_end();
}
