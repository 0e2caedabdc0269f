/* SPDX-License-Identifier: MIT */
/*
 * A message that is not what its receiver waits for: fewer elements, more, or of another type. Both
 * ranks and all others get RING_EMISMATCH within a second with a sentence that tells both calls, and
 * the receiver's buffer is untouched. Alone and in a group with other messages; the first message of
 * a pair, and a later one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

#define RANKS 4
#define SENDER 0
#define RECEIVER 1
#define ELEMENTS_MAX (1u << 20)
#define NOTICE_S (1.0 * HARNESS_ROOM)
#define UNTOUCHED 0x5a

struct disagreement {
	const char *name;
	size_t sends;
	enum ring_datatype send_type;
	size_t receives;
	enum ring_datatype recv_type;
	const char *sent, *received; /* as sentences tell them */
};

static const struct disagreement disagreements[] = {
	{"smaller recv", 7, RING_FLOAT32, 5, RING_FLOAT32, "send of 7 float to rank 1",
	 "recv of 5 float from rank 0"},
	{"larger recv", 5, RING_FLOAT32, 7, RING_FLOAT32, "send of 5 float to rank 1",
	 "recv of 7 float from rank 0"},
	{"other type", 7, RING_FLOAT32, 7, RING_INT32, "send of 7 float to rank 1",
	 "recv of 7 int32 from rank 0"},
	{"same bytes", 4, RING_FLOAT64, 8, RING_INT32, "send of 4 double to rank 1",
	 "recv of 8 int32 from rank 0"},
	{"nothing sent", 0, RING_UINT8, 1, RING_UINT8, "send of 0 uint8 to rank 1",
	 "recv of 1 uint8 from rank 0"},
	{"nothing wanted", ELEMENTS_MAX, RING_UINT8, 0, RING_UINT8,
	 "send of 1048576 uint8 to rank 1", "recv of 0 uint8 from rank 0"},
};

struct manner {
	const char *name;
	bool grouped; /* with messages from and to the other ranks */
	bool later;   /* not the pair's first message */
};

static const struct manner manners[] = {{"alone", false, false},
					{"later", false, true},
					{"in a group", true, false},
					{"in a group, later", true, true}};

static const char *const transports[] = {"shm", "tcp"};

struct material {
	const struct disagreement *disagreement;
	const struct manner *manner;
};

/* ---- for ranks ---------------------------------------------------------------------------- */

static int exchange_with_all(struct ring_comm *comm, const char *send, char *recv)
{
	int self = ring_comm_rank(comm);
	for (int peer = 0; peer < RANKS; peer++) {
		bool pair = self + peer == SENDER + RECEIVER && self < 2 && peer < 2;
		if (peer == self || pair)
			continue;
		ring_send(comm, send, 1000, RING_UINT8, peer, NULL);
		ring_recv(comm, recv + 1000 * peer, 1000, RING_UINT8, peer, NULL);
	}
	return 0;
}

static int disagree(struct scene_actor *actor, const struct material *material, char *buffer,
		    char *others)
{
	const struct disagreement *what = material->disagreement;
	struct ring_comm *comm = actor->comm;
	int err = 0;
	if (material->manner->grouped) {
		ring_group_start();
		exchange_with_all(comm, others, others + 4000);
	}
	if (actor->rank == SENDER)
		err = ring_send(comm, buffer, what->sends, what->send_type, RECEIVER, NULL);
	if (actor->rank == RECEIVER)
		err = ring_recv(comm, buffer, what->receives, what->recv_type, SENDER, NULL);
	return material->manner->grouped ? ring_group_end() : err;
}

static int agree(struct scene_actor *actor)
{
	char byte = 0;
	if (actor->rank == SENDER)
		return ring_send(actor->comm, &byte, 1, RING_UINT8, RECEIVER, NULL);
	if (actor->rank == RECEIVER)
		return ring_recv(actor->comm, &byte, 1, RING_UINT8, SENDER, NULL);
	return 0;
}

/* A sender, as all who have no part in it, learns in this call or later. */
static int act(struct scene_actor *actor)
{
	const struct material *material = actor->scene->material;
	char *buffer = malloc(ELEMENTS_MAX), *others = calloc(8, 1000);
	int err = buffer && others ? 0 : RING_ENOMEM;
	if (!err && material->manner->later)
		err = agree(actor);
	if (!err)
		err = ring_barrier(actor->comm, NULL);
	if (buffer)
		memset(buffer, UNTOUCHED, ELEMENTS_MAX);
	actor->report->began_at = harness_clock();
	if (!err)
		err = disagree(actor, material, buffer, others);
	while (!err) {
		usleep(500);
		err = ring_comm_status(actor->comm);
	}
	scene_note(actor, err);
	for (size_t i = 0; buffer && i < ELEMENTS_MAX; i++)
		actor->report->wrong += buffer[i] != UNTOUCHED;
	actor->report->wrong += agree(actor) != err && actor->rank <= 1;
	free(others);
	free(buffer);
	return err;
}

/* ---- the test ----------------------------------------------------------------------------- */

static int check(const struct scene *scene, int rank, const struct disagreement *what)
{
	const struct scene_report *report = &scene->memory->reports[rank];
	char said[256];
	int wrong = scene_check_report(scene, rank);
	snprintf(said, sizeof(said), "rank %d is in %s, but rank %d is in %s", RECEIVER,
		 what->received, SENDER, what->sent);
	if (report->err != RING_EMISMATCH || !strstr(report->sentence, said))
		wrong += scene_fail(scene, rank, "%s: %s", ring_strerror(report->err),
				    report->sentence);
	double took = report->failed_at - report->began_at;
	if (took > NOTICE_S)
		wrong += scene_fail(scene, rank, "noticed after %.0f ms", 1e3 * took);
	return wrong;
}

static void play(const struct material *material, const char *transport)
{
	char label[96];
	struct scene scene;
	int wrong = 0;
	snprintf(label, sizeof(label), "%s, %s, %s", material->disagreement->name,
		 material->manner->name, transport);
	scene_init(&scene, RANKS);
	scene.label = label;
	scene.options.transport = transport;
	scene.act = act;
	scene.material = material;
	if (scene_start(&scene)) {
		scene_case(1, "%s", label);
		return;
	}
	wrong += scene_wait(&scene);
	for (int rank = 0; rank < RANKS; rank++)
		wrong += check(&scene, rank, material->disagreement);
	scene_case(wrong, "%s", label);
	scene_end(&scene);
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

int main(void)
{
	for (size_t t = 0; t < COUNT(transports); t++)
		for (size_t m = 0; m < COUNT(manners); m++)
			for (size_t d = 0; d < COUNT(disagreements); d++)
				play(&(struct material){&disagreements[d], &manners[m]},
				     transports[t]);
	return scene_cases_end();
}
