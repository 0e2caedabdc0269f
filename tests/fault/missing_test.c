/* SPDX-License-Identifier: MIT */
/*
 * Meetings that cannot work: ranks that never come, come twice, or expect something else, and
 * nobody there to meet at. Every rank that did come learns in time who is to blame.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

#define CREATE_MS 2000 /* much more than the ranks that come need to meet */
#define LONG_MS 60000  /* of who is told before */
#define SIZE 8

static const struct options_case {
	const char *name;
	void (*set)(struct ring_options *options);
} * differing; /* what rank 2 sets */

static void set_transport(struct ring_options *options)
{
	options->transport = "tcp";
}

static void set_chunk_bytes(struct ring_options *options)
{
	options->chunk_bytes = 12345;
}

static void set_depth(struct ring_options *options)
{
	options->depth = 3;
}

static void set_chunks_per_round(struct ring_options *options)
{
	options->chunks_per_round = 7;
}

static void set_channels(struct ring_options *options)
{
	options->channels = 2;
}

static void set_link(struct ring_options *options)
{
	options->link = "1GB/s";
}

static void set_algorithm(struct ring_options *options)
{
	options->algorithm = "twoshot";
}

static void set_tuning(struct ring_options *options)
{
	options->tuning = "/dev/null"; /* a table without rows */
}

static const struct options_case options_cases[] = {
	{"RING_TRANSPORT", set_transport}, {"RING_CHUNK_BYTES", set_chunk_bytes},
	{"RING_DEPTH", set_depth},         {"RING_CHUNKS_PER_ROUND", set_chunks_per_round},
	{"RING_CHANNELS", set_channels},   {"RING_LINK", set_link},
	{"RING_ALGORITHM", set_algorithm}, {"RING_TUNING", set_tuning},
};

static void differ(struct scene_actor *actor)
{
	if (actor->rank == 2)
		differing->set(&actor->scene->options);
}

static void claim_rank_1(struct scene_actor *actor)
{
	if (actor->rank == 3)
		actor->rank = 1;
}

static void expect_9(struct scene_actor *actor)
{
	if (actor->rank == 2)
		actor->size = 9;
}

/* Every rank that is present must fail so, in time. */
static int check_all(struct scene *scene, int err, const char *first, const char *second)
{
	int wrong = scene_wait(scene);
	for (int rank = 0; rank < scene->size; rank++) {
		const struct scene_report *report = &scene->memory->reports[rank];
		if (scene->absent >> rank & 1)
			continue;
		wrong += scene_check_report(scene, rank);
		if (report->err != err || !strstr(report->sentence, first) ||
		    !strstr(report->sentence, second))
			wrong += scene_fail(scene, rank, "%s: %s", ring_strerror(report->err),
					    report->sentence);
		if (report->created_s >
		    (err == RING_ETIMEDOUT ? 1e-3 * CREATE_MS : 0) + 1 * HARNESS_ROOM)
			wrong += scene_fail(scene, rank, "tried for %.0f ms",
					    1e3 * report->created_s);
	}
	scene_end(scene);
	return wrong;
}

static int run(uint64_t absent, void (*prepare)(struct scene_actor *actor), int err,
	       const char *first, const char *second)
{
	struct scene scene;
	scene_init(&scene, SIZE);
	scene.options.create_timeout_ms = err == RING_ETIMEDOUT ? CREATE_MS : LONG_MS;
	scene.absent = absent;
	scene.prepare = prepare;
	return scene_start(&scene) ? 1 : check_all(&scene, err, first, second);
}

/* Whoever made the id is gone before the first rank comes; another process may own the port now. */
static int run_without_server(void)
{
	struct scene scene;
	scene_init(&scene, SIZE);
	scene.options.create_timeout_ms = CREATE_MS;
	scene.server = SIZE;
	scene.gated = true;
	if (scene_start(&scene))
		return 1;
	int wrong = !scene_await_id(&scene, 2000);
	scene_kill(&scene, SIZE);
	scene_sleep(0.02);
	scene_open_gate(&scene);
	return wrong + check_all(&scene, RING_ETIMEDOUT, "meet", "127.0.0.1");
}

int main(void)
{
	setenv("RING_INTERFACE", "lo", 1);
	scene_case(run(1 << 2, NULL, RING_ETIMEDOUT, "rank 2 ", "7 of 8"), "a rank never comes");
	scene_case(run(1 << 3 | 7 << 5, NULL, RING_ETIMEDOUT, "ranks 3, 5..7 ", "4 of 8"),
		   "several ranks never come");
	scene_case(run(0, claim_rank_1, RING_EMISMATCH, "both claim to be rank 1", "pid "),
		   "two are the same rank");
	scene_case(run(0, expect_9, RING_EMISMATCH, "rank 2 ", "expects 9"),
		   "a rank expects another size");
	for (size_t c = 0; c < sizeof(options_cases) / sizeof(options_cases[0]); c++) {
		differing = &options_cases[c];
		scene_case(run(0, differ, RING_EMISMATCH, differing->name, "rank 2"),
			   "a rank has another %s", differing->name);
	}
	scene_case(run_without_server(), "nobody serves the meeting");
	return scene_cases_end();
}
