/* SPDX-License-Identifier: MIT */
/*
 * A rank destroys its communicator while another still wants to receive from it, or to send to it:
 * whether they are neighbours or not, whether they had a link before or not, whether its process goes
 * on or ends, the other one learns who left, long before its call would time out.
 *
 * And who waits seconds for another costs next to no CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scene.h"

#define CALL_MS 15000
/* A dial is repeated for 0.8 s, then half a second is left for news of a death. */
#define NOTICE_S (2.0 * HARNESS_ROOM)
#define LEAVER 0
#define LARGE_BYTES (64u << 20)
#define IDLE_S 3

struct leave {
	const char *name;
	bool sends;     /* the one who stays, to the leaver; else it receives */
	bool neighbour; /* they are neighbours on the ring; else they are not */
	bool linked;    /* they have exchanged a message each way before */
	bool ends;      /* the leaver's process ends */
	bool late;      /* it leaves after a second, in which the other waits for it */
	bool delivers;  /* ... and sends what the other waits for just before */
	bool gathers;   /* the others gather what the leaver does not send */
	bool exchanges; /* ... all_to_all */
};

static const struct leave leaves[] = {
	{.name = "recv, neighbour", .neighbour = true},
	{.name = "recv, neighbour, linked", .neighbour = true, .linked = true},
	{.name = "recv"},
	{.name = "recv, process ends", .ends = true},
	{.name = "recv, linked", .linked = true},
	{.name = "recv, linked, process ends", .linked = true, .ends = true},
	{.name = "recv, leaves later", .late = true},
	{.name = "recv, process ends later", .late = true, .ends = true},
	{.name = "recv, sends and leaves later", .late = true, .delivers = true},
	{.name = "gather", .gathers = true},
	{.name = "gather, leaves later", .gathers = true, .late = true},
	{.name = "all_to_all", .exchanges = true},
	{.name = "all_to_all, leaves later", .exchanges = true, .late = true},
	{.name = "send, neighbour", .sends = true, .neighbour = true},
	{.name = "send", .sends = true},
	{.name = "send, process ends", .sends = true, .ends = true},
	{.name = "send, linked", .sends = true, .linked = true},
	{.name = "send, linked, process ends", .sends = true, .linked = true, .ends = true},
};

static const struct {
	const char *name, *transport;
	int hosts;
} worlds[] = {{"shm", "shm", 0}, {"tcp", "tcp", 0}, {"mixed", NULL, 2}};

/* ---- for ranks ---------------------------------------------------------------------------- */

/* The links of the rings tell who is beside whom. */
static bool is_beside(const struct ring_comm *comm, int rank)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	bool beside = false;
	ring_comm_stats(comm, &stats);
	for (int i = 0; i < stats.link_count; i++)
		beside = beside || (stats.links[i].channel >= 0 && stats.links[i].peer == rank);
	return beside;
}

static bool stays_with_leaver(const struct scene_actor *actor, const struct leave *leave)
{
	return actor->rank != LEAVER && is_beside(actor->comm, LEAVER) == leave->neighbour;
}

static int exchange(struct ring_comm *comm, int peer)
{
	char mine = 1, theirs;
	ring_group_start();
	ring_send(comm, &mine, 1, RING_INT8, peer, NULL);
	ring_recv(comm, &theirs, 1, RING_INT8, peer, NULL);
	return ring_group_end();
}

static int exchange_before(struct scene_actor *actor, const struct leave *leave)
{
	int err = 0;
	if (!leave->linked)
		return 0;
	if (actor->rank != LEAVER)
		return stays_with_leaver(actor, leave) ? exchange(actor->comm, LEAVER) : 0;
	for (int peer = 0; peer < actor->size && !err; peer++)
		if (peer != LEAVER && is_beside(actor->comm, peer) == leave->neighbour)
			err = exchange(actor->comm, peer);
	return err;
}

static int await_failure(const struct ring_comm *comm)
{
	int err = 0;
	while (!err) {
		usleep(1000);
		err = ring_comm_status(comm);
	}
	return err;
}

/* The rank of four that is not beside the leaver. */
static int find_opposite(const struct ring_comm *comm)
{
	int self = ring_comm_rank(comm), peer = 1;
	if (!is_beside(comm, LEAVER))
		return self;
	while (peer == self || !is_beside(comm, peer))
		peer++;
	return peer;
}

static int call_without_leaver(struct scene_actor *actor, const struct leave *leave)
{
	char send[4] = {0}, recv[4];
	actor->report->began_at = harness_clock();
	int err = leave->gathers ? ring_gather(actor->comm, send, recv, 1, RING_INT8,
					       find_opposite(actor->comm), NULL)
				 : ring_all_to_all(actor->comm, send, recv, 1, RING_INT8, NULL);
	return err ? err : await_failure(actor->comm);
}

static int leave_in_time(struct scene_actor *actor, const struct leave *leave)
{
	int err = 0;
	scene_sleep(leave->late ? 1 : 0);
	char *buffer = leave->delivers ? malloc(LARGE_BYTES) : NULL;
	if (buffer)
		memset(buffer, 1, LARGE_BYTES);
	for (int peer = 0; buffer && peer < actor->size && !err; peer++)
		if (peer != LEAVER && is_beside(actor->comm, peer) == leave->neighbour)
			err = ring_send(actor->comm, buffer, LARGE_BYTES, RING_INT8, peer, NULL);
	free(buffer);
	return err;
}

static int act_leave(struct scene_actor *actor)
{
	const struct leave *leave = actor->scene->material;
	int err = exchange_before(actor, leave);
	if (!err)
		err = ring_barrier(actor->comm, NULL);
	scene_reach(actor, SCENE_ACTING);
	if (!err && actor->rank == LEAVER)
		return leave_in_time(actor, leave);
	if (err)
		return err;
	if (leave->gathers || leave->exchanges)
		return call_without_leaver(actor, leave);
	if (!stays_with_leaver(actor, leave) && leave->delivers)
		return 0;
	if (!stays_with_leaver(actor, leave))
		return await_failure(actor->comm);
	char *buffer = calloc(1, LARGE_BYTES);
	scene_sleep(leave->late ? 0 : 0.2);
	actor->report->began_at = harness_clock();
	err = leave->sends ? ring_send(actor->comm, buffer, LARGE_BYTES, RING_INT8, LEAVER, NULL)
			   : ring_recv(actor->comm, buffer, LARGE_BYTES, RING_INT8, LEAVER, NULL);
	scene_note(actor, err);
	actor->report->wrong += leave->delivers && buffer[LARGE_BYTES - 1] != 1;
	free(buffer);
	return err;
}

static double cpu_seconds(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void check_idle(struct scene_actor *actor, const char *what, double used_s)
{
	printf("# rank %d in %s: %.2f %% of a core\n", actor->rank, what, 100 * used_s / IDLE_S);
	fflush(stdout);
	actor->report->wrong += used_s >= 0.01 * IDLE_S;
}

/* The rank that is not beside the other waits for its first message. */
static int act_idle(struct scene_actor *actor)
{
	char byte = 0;
	int err = ring_barrier(actor->comm, NULL);
	if (actor->rank != LEAVER && !err && !is_beside(actor->comm, LEAVER)) {
		double before = cpu_seconds();
		err = ring_recv(actor->comm, &byte, 1, RING_INT8, LEAVER, NULL);
		check_idle(actor, "recv", cpu_seconds() - before);
		actor->report->wrong += byte != 1;
	} else if (actor->rank == LEAVER && !err) {
		byte = 1;
		scene_sleep(IDLE_S);
		for (int peer = 1; peer < actor->size && !err; peer++)
			if (!is_beside(actor->comm, peer))
				err = ring_send(actor->comm, &byte, 1, RING_INT8, peer, NULL);
	}
	return err ? err : ring_barrier(actor->comm, NULL);
}

/* One rank is late; what the others have sent must not keep those awake who wait for it. */
static int act_late(struct scene_actor *actor)
{
	enum { COUNT = 1000, LATE = 1 };
	char send[4 * COUNT] = {0}, recv[4 * COUNT];
	int err = ring_all_to_all(actor->comm, send, recv, COUNT, RING_INT8, NULL);
	if (actor->rank == LATE)
		scene_sleep(IDLE_S);
	double before = cpu_seconds();
	if (!err)
		err = ring_all_to_all(actor->comm, send, recv, COUNT, RING_INT8, NULL);
	if (actor->rank != LATE)
		check_idle(actor, "all_to_all", cpu_seconds() - before);
	return err ? err : ring_barrier(actor->comm, NULL);
}

/* ---- the test ----------------------------------------------------------------------------- */

static int check_stayer(const struct scene *scene, int rank, pid_t leaver)
{
	const struct scene_report *report = &scene->memory->reports[rank];
	const struct leave *leave = scene->material;
	int wrong = scene_check_report(scene, rank);
	if (leave->delivers)
		return wrong + (report->err ? scene_fail(scene, rank, "%s", report->sentence) : 0);
	if (report->err != RING_EPEER || !scene_names(report->sentence, LEAVER, leaver) ||
	    !(strstr(report->sentence, "left the communicator") ||
	      strstr(report->sentence, "leave the communicator?")))
		wrong += scene_fail(scene, rank, "%s: %s", ring_strerror(report->err),
				    report->sentence);
	double took = report->failed_at - report->began_at;
	if (report->began_at > 0 && took > NOTICE_S + leave->late)
		wrong += scene_fail(scene, rank, "noticed after %.0f ms: %s", 1e3 * took,
				    report->sentence);
	return wrong;
}

static void set_up(struct scene *scene, int world, const char *label)
{
	scene_init(scene, 4);
	scene->label = label;
	scene->hosts = worlds[world].hosts;
	scene->options.transport = worlds[world].transport;
	scene->options.call_timeout_ms = CALL_MS;
}

static void play_leave(const struct leave *leave, int world)
{
	char label[96];
	struct scene scene;
	int wrong = 0, stayers = 0;
	snprintf(label, sizeof(label), "%s, %s", leave->name, worlds[world].name);
	set_up(&scene, world, label);
	scene.server = leave->ends ? 1 : LEAVER; /* whoever serves stays till the end */
	scene.act = act_leave;
	scene.material = leave;
	if (scene_start(&scene)) {
		scene_case(1, "%s", label);
		return;
	}
	pid_t leaver = scene_pid(&scene, LEAVER);
	wrong += scene_wait(&scene);
	wrong += scene_check_report(&scene, LEAVER);
	for (int rank = 1; rank < scene.size; rank++) {
		wrong += check_stayer(&scene, rank, leaver);
		stayers += scene.memory->reports[rank].began_at > 0;
	}
	if (!stayers)
		wrong += scene_fail(&scene, -1, "nobody stayed with the leaver");
	scene_case(wrong, "%s", label);
	scene_end(&scene);
}

static void play_idle(int world, const char *name, int (*act)(struct scene_actor *actor))
{
	struct scene scene;
	int wrong = 0;
	set_up(&scene, world, worlds[world].name);
	scene.act = act;
	if (scene_start(&scene)) {
		scene_case(1, "%s, %s", name, worlds[world].name);
		return;
	}
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < scene.size; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		if (report->err)
			wrong += scene_fail(&scene, rank, "%s", report->sentence);
	}
	scene_case(wrong, "%s, %s", name, worlds[world].name);
	scene_end(&scene);
}

int main(int argc, char **argv)
{
	int rounds = harness_is_long(argc, argv) ? 10 : 1;
	int count = (int)(sizeof(worlds) / sizeof(worlds[0]));
	for (int round = 0; round < rounds; round++)
		for (int world = 0; world < count; world++)
			for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
				play_leave(&leaves[i], world);
	for (int world = 0; world < count; world++) {
		play_idle(world, "waiting for a first message", act_idle);
		play_idle(world, "waiting for a late rank", act_late);
	}
	return scene_cases_end();
}
