/* SPDX-License-Identifier: MIT */
/*
 * SIGSTOP: a stopped rank is not a dead one. Calls that need it time out, naming whom each rank
 * waits for, and it learns so itself once it goes on; while nobody needs it nothing happens, even
 * if it rests longer than a silent host may. Nor does it hold up those who leave.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/place.h"
#include "scene.h"

#define CALL_MS 1500
#define SILENT_MS 400 /* peer_lost_ms */

struct stop {
	const char *name, *transport;
	int size, hosts;
};

static const struct stop stops[] = {
	{"shm", "shm", 4, 0},
	{"tcp", "tcp", 4, 0},
	{"mixed", NULL, 6, 2},
};

/* Waits until all ranks but one have failed or, if they need not, are over. */
static void await_others(const struct scene *scene, int rank, bool fail)
{
	double until = harness_clock() + (1e-3 * CALL_MS + 1) * HARNESS_ROOM;
	for (int other = 0; other < scene->size; other++) {
		const struct scene_report *report = &scene->memory->reports[other];
		while (other != rank && !(fail && report->err) &&
		       atomic_load(&report->stage) != SCENE_OVER && harness_clock() < until)
			usleep(1000);
	}
}

static int act_call(struct scene_actor *actor)
{
	scene_reach(actor, SCENE_ACTING);
	return scene_all_reduce(actor, 1 << 18, 1000000);
}

/* Two calls with a pause between, in which one rank is stopped. */
static int act_pause(struct scene_actor *actor)
{
	int err = scene_all_reduce(actor, 1 << 16, 1);
	scene_reach(actor, SCENE_ACTING);
	if (!err)
		scene_sleep(1);
	return err ? err : scene_all_reduce(actor, 1 << 16, 20);
}

static int act_leave(struct scene_actor *actor)
{
	int err = scene_all_reduce(actor, 1 << 16, 1);
	scene_reach(actor, SCENE_ACTING);
	scene_sleep(0.1);
	return err;
}

/* Everybody waits for a first message of the rank that is stopped, which is told by `material`. */
static int act_recv(struct scene_actor *actor)
{
	const int *stopped = actor->scene->material;
	char byte;
	int err = ring_barrier(actor->comm, NULL);
	scene_reach(actor, SCENE_ACTING);
	if (err || actor->rank == *stopped)
		scene_sleep(1);
	actor->report->began_at = harness_clock();
	if (!err && actor->rank == *stopped)
		return ring_recv(actor->comm, &byte, 1, RING_INT8, (*stopped + 1) % actor->size,
				 NULL);
	return err ? err : ring_recv(actor->comm, &byte, 1, RING_INT8, *stopped, NULL);
}

static int act_all_to_all(struct scene_actor *actor)
{
	size_t count = 1 << 16;
	char *send = calloc((size_t)actor->size, count), *recv = calloc((size_t)actor->size, count);
	int err = send && recv ? 0 : RING_ENOMEM;
	scene_reach(actor, SCENE_ACTING);
	while (!err) {
		actor->report->began_at = harness_clock();
		err = ring_all_to_all(actor->comm, send, recv, count, RING_INT8, NULL);
	}
	scene_note(actor, err);
	free(send);
	free(recv);
	return err;
}

static void set_up(struct scene *scene, const struct stop *stop)
{
	scene_init(scene, stop->size);
	scene->label = stop->name;
	scene->hosts = stop->hosts;
	scene->options.transport = stop->transport;
	scene->options.call_timeout_ms = CALL_MS;
	scene->options.peer_lost_ms = SILENT_MS;
}

/* When the first of the others began the call that failed. */
static double find_beginning(const struct scene *scene, int stopped)
{
	double first = harness_clock();
	for (int rank = 0; rank < scene->size; rank++) {
		double began_at = scene->memory->reports[rank].began_at;
		first = rank != stopped && began_at < first ? began_at : first;
	}
	return first;
}

static int check_timed_out(const struct scene *scene, int rank, int stopped, double since)
{
	const struct scene_report *report = &scene->memory->reports[rank];
	int wrong = scene_check_report(scene, rank);
	if (report->err != RING_ETIMEDOUT || !strstr(report->sentence, "waiting for rank "))
		wrong += scene_fail(scene, rank, "%s: %s", ring_strerror(report->err),
				    report->sentence);
	double lasted = report->failed_at - find_beginning(scene, stopped);
	double took = report->failed_at - since;
	if (lasted < 1e-3 * CALL_MS || took > 1e-3 * CALL_MS + 1 * HARNESS_ROOM)
		wrong += scene_fail(scene, rank, "timed out after %.0f ms, %.0f of the call",
				    1e3 * took, 1e3 * lasted);
	char waits_for_it[40];
	snprintf(waits_for_it, sizeof(waits_for_it), "waiting for rank %d", stopped);
	return strstr(report->sentence, waits_for_it) ? wrong : wrong + 0x100;
}

/* In a call: the others time out, and the stopped rank finds its communicator failed. */
static int stop_in_call(const struct stop *stop, int victim, int (*act)(struct scene_actor *actor))
{
	struct scene scene;
	int wrong = 0, neighbours = 0;
	set_up(&scene, stop);
	scene.act = act;
	scene.material = &victim;
	if (scene_start(&scene))
		return 1;
	scene_await(&scene, SCENE_ACTING, 8000);
	scene_sleep(0.1);
	double since = harness_clock();
	kill(scene_pid(&scene, victim), SIGSTOP);
	await_others(&scene, victim, true);
	kill(scene_pid(&scene, victim), SIGCONT);
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++) {
		if (rank == victim)
			continue;
		int result = check_timed_out(&scene, rank, victim, since);
		wrong += result & 0xff;
		neighbours += !(result & 0x100);
	}
	if (!neighbours)
		wrong += scene_fail(&scene, -1, "nobody said that it waits for rank %d", victim);
	const struct scene_report *report = &scene.memory->reports[victim];
	wrong += scene_check_report(&scene, victim);
	if (!report->err || !report->sentence[0])
		wrong += scene_fail(&scene, victim, "went on as if nothing had happened");
	scene_end(&scene);
	return wrong;
}

static int stop_idle(const struct stop *stop, int victim)
{
	struct scene scene;
	int wrong = 0;
	set_up(&scene, stop);
	scene.options.call_timeout_ms = CALL_MS * HARNESS_ROOM;
	scene.act = act_pause;
	if (scene_start(&scene))
		return 1;
	scene_await(&scene, SCENE_ACTING, 8000);
	kill(scene_pid(&scene, victim), SIGSTOP);
	scene_sleep(1.3); /* the others are in their second call by now */
	kill(scene_pid(&scene, victim), SIGCONT);
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		if (report->err || report->calls != 21)
			wrong += scene_fail(&scene, rank, "%s after %d calls: %s",
					    ring_strerror(report->err), report->calls,
					    report->sentence);
	}
	scene_end(&scene);
	return wrong;
}

/* The others leave; the goodbyes to the stopped rank are not waited for without end. */
static int stop_destroy(const struct stop *stop, int victim)
{
	struct scene scene;
	int wrong = 0;
	set_up(&scene, stop);
	scene.options.call_timeout_ms = CALL_MS * HARNESS_ROOM;
	scene.act = act_leave;
	if (scene_start(&scene))
		return 1;
	scene_await(&scene, SCENE_ACTING, 8000);
	kill(scene_pid(&scene, victim), SIGSTOP);
	await_others(&scene, victim, false);
	for (int rank = 0; rank < scene.size; rank++)
		if (rank != victim && scene.memory->reports[rank].stage != SCENE_OVER)
			wrong += scene_fail(&scene, rank, "is still there");
	kill(scene_pid(&scene, victim), SIGCONT);
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++)
		if (rank != victim)
			wrong += scene_check_report(&scene, rank);
	scene_end(&scene);
	return wrong;
}

/* It does not come to the meeting in time, and the others name it. */
static int stop_create(const struct stop *stop, int victim)
{
	struct scene scene;
	int wrong = 0;
	set_up(&scene, stop);
	scene.server = scene.size;
	scene.gated = true;
	scene.options.create_timeout_ms = CALL_MS;
	if (scene_start(&scene))
		return 1;
	scene_await_id(&scene, 2000);
	scene_await(&scene, SCENE_STARTED, 2000);
	kill(scene_pid(&scene, victim), SIGSTOP);
	scene_open_gate(&scene);
	await_others(&scene, victim, true); /* the meeting answers for a second after it failed */
	kill(scene_pid(&scene, victim), SIGCONT);
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		if (report->err != RING_ETIMEDOUT || !scene_names(report->sentence, victim, 0))
			wrong += scene_fail(&scene, rank, "%s: %s", ring_strerror(report->err),
					    report->sentence);
	}
	scene_end(&scene);
	return wrong;
}

int main(int argc, char **argv)
{
	bool is_long = harness_is_long(argc, argv);
	size_t step = harness_is_quick() ? 2 : 1;
	uint64_t seed = harness_seed(argc, argv);
	printf("# seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < (is_long ? 10 : 1); round++)
		for (size_t s = 0; s < sizeof(stops) / sizeof(stops[0]); s += step) {
			const struct stop *stop = &stops[s];
			int victim = (int)scene_random(&seed, stop->size);
			scene_case(stop_in_call(stop, victim, act_call),
				   "%s, rank %d stops in a call", stop->name, victim);
			scene_case(stop_idle(stop, victim), "%s, rank %d stops between calls",
				   stop->name, victim);
			if (place_is_far()) /* the rest is the same there */
				continue;
			scene_case(stop_in_call(stop, victim, act_recv),
				   "%s, rank %d stops before it sends", stop->name, victim);
			scene_case(stop_in_call(stop, victim, act_all_to_all),
				   "%s, rank %d stops in all_to_all", stop->name, victim);
			scene_case(stop_destroy(stop, victim), "%s, rank %d stops before the end",
				   stop->name, victim);
			scene_case(stop_create(stop, victim), "%s, rank %d stops before it meets",
				   stop->name, victim);
		}
	return scene_cases_end();
}
