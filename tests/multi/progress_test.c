/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives make progress beside one another and beside collectives, whatever streams they
 * are on: exchanges without a group, circles, receives that wait while everything else goes on. The
 * order of each stream and of each pair of ranks holds all the same, and a failure ends them all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

#define BYTES (3u << 20) /* of a message that no link holds */
#define ROUNDS 4         /* of messages in flight */
#define COUNT 3000       /* of a sum */
#define SHORT_MS 1500    /* a call's time in the case that runs out of it */

/* Three streams, and what calls work on. */
struct scene {
	struct harness_rank *self;
	struct ring_comm *comm;
	struct ring_stream *out, *in, *sums;
	int next, prev;
	unsigned char *sent, *received; /* [ROUNDS][BYTES] */
	int32_t (*vectors)[COUNT];      /* [ROUNDS] */
};

static unsigned char byte_of(int from, int round, size_t index)
{
	return (unsigned char)(index * 7 + (size_t)(from * 31 + round * 101));
}

static int complain(const struct scene *scene, const char *what)
{
	return harness_fail(scene->self, "%s: %s", what, ring_comm_error(scene->comm));
}

static int await(const struct scene *scene, struct ring_stream *stream)
{
	if (ring_stream_wait(stream, ring_stream_position(stream)))
		return complain(scene, "waiting for a stream");
	return 0;
}

static void fill(const struct scene *scene)
{
	const int rank = scene->self->rank;
	memset(scene->received, 0xff, (size_t)ROUNDS * BYTES);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < BYTES; i++)
			scene->sent[(size_t)round * BYTES + i] = byte_of(rank, round, i);
		for (int i = 0; i < COUNT; i++)
			scene->vectors[round][i] = rank + i + round;
	}
}

static int check_message(const struct scene *scene, int from, int round, size_t bytes)
{
	const unsigned char *got = scene->received + (size_t)round * BYTES;
	for (size_t i = 0; i < bytes; i++)
		if (got[i] != byte_of(from, round, i))
			return harness_fail(scene->self, "message %d of rank %d: byte %zu is %d",
					    round, from, i, got[i]);
	if (bytes < BYTES && got[bytes] != 0xff)
		return harness_fail(scene->self, "message %d of rank %d is too long", round, from);
	return 0;
}

static int check_sum(const struct scene *scene, int round)
{
	const int size = scene->self->size;
	for (int i = 0; i < COUNT; i++)
		if (scene->vectors[round][i] != size * (size - 1) / 2 + size * (i + round))
			return harness_fail(scene->self, "sum %d: element %d is %d", round, i,
					    scene->vectors[round][i]);
	return 0;
}

static int send_one(const struct scene *scene, int peer, int round, size_t bytes,
		    struct ring_stream *stream)
{
	if (ring_send(scene->comm, scene->sent + (size_t)round * BYTES, bytes, RING_UINT8, peer,
		      stream))
		return complain(scene, "sending");
	return 0;
}

static int receive_one(const struct scene *scene, int peer, int round, size_t bytes,
		       struct ring_stream *stream)
{
	if (ring_recv(scene->comm, scene->received + (size_t)round * BYTES, bytes, RING_UINT8, peer,
		      stream))
		return complain(scene, "receiving");
	return 0;
}

static int add_up(const struct scene *scene, int round, struct ring_stream *stream)
{
	int32_t *vector = scene->vectors[round];
	if (ring_all_reduce(scene->comm, vector, vector, COUNT, RING_INT32, RING_SUM, stream))
		return complain(scene, "adding up");
	return 0;
}

/* All send to the next rank first, and receive then; sums are under way on a third stream. */
static int go_in_a_circle(struct scene *scene)
{
	int bad = 0;
	fill(scene);
	for (int round = 0; !bad && round < ROUNDS; round++)
		bad = send_one(scene, scene->next, round, BYTES, scene->out) ||
		      add_up(scene, round, scene->sums) ||
		      receive_one(scene, scene->prev, round, BYTES, scene->in);
	bad = bad || await(scene, scene->in) || await(scene, scene->out) ||
	      await(scene, scene->sums);
	for (int round = 0; !bad && round < ROUNDS; round++)
		bad = check_message(scene, scene->prev, round, BYTES) || check_sum(scene, round);
	return bad;
}

/* A send on a stream, and a receive that blocks, or the other way around. */
static int block_beside(struct scene *scene)
{
	int bad = 0;
	fill(scene);
	for (int round = 0; !bad && round < 2; round++)
		bad = round ? receive_one(scene, scene->prev, round, BYTES, scene->in) ||
				      send_one(scene, scene->next, round, BYTES, NULL) ||
				      await(scene, scene->in)
			    : send_one(scene, scene->next, round, BYTES, scene->out) ||
				      receive_one(scene, scene->prev, round, BYTES, NULL) ||
				      await(scene, scene->out);
	for (int round = 0; !bad && round < 2; round++)
		bad = check_message(scene, scene->prev, round, BYTES);
	return bad;
}

/* Messages of one pair match in the order of the calls, on whichever streams; empty ones, too. */
static int keep_pairs_in_order(struct scene *scene)
{
	static const size_t sizes[ROUNDS] = {BYTES, 0, 1, 70000};
	struct ring_stream *const streams[] = {scene->out, scene->in, scene->sums};
	const int rank = scene->self->rank;
	int bad = 0;
	fill(scene);
	for (int round = 0; !bad && round < ROUNDS; round++)
		bad = send_one(scene, scene->next, round, sizes[round],
			       streams[(round + rank) % 3]) ||
		      receive_one(scene, scene->prev, round, sizes[round],
				  streams[(round + rank + 1) % 3]);
	for (int k = 0; !bad && k < 3; k++)
		bad = await(scene, streams[k]);
	for (int round = 0; !bad && round < ROUNDS; round++)
		bad = check_message(scene, scene->prev, round, sizes[round]);
	return bad;
}

/* On one stream each call sees what those before it have left behind. */
static int keep_streams_in_order(struct scene *scene)
{
	const int size = scene->self->size, rank = scene->self->rank;
	int32_t mine = rank, passed = -1, sum = -1, again = -1;
	if (ring_group_start() ||
	    ring_send(scene->comm, &mine, 1, RING_INT32, scene->next, scene->sums) ||
	    ring_recv(scene->comm, &passed, 1, RING_INT32, scene->prev, scene->sums) ||
	    ring_group_end() ||
	    ring_all_reduce(scene->comm, &passed, &sum, 1, RING_INT32, RING_SUM, scene->sums) ||
	    ring_group_start() ||
	    ring_send(scene->comm, &sum, 1, RING_INT32, scene->prev, scene->sums) ||
	    ring_recv(scene->comm, &again, 1, RING_INT32, scene->next, scene->sums) ||
	    ring_group_end() || await(scene, scene->sums))
		return complain(scene, "one stream");
	if (passed != scene->prev || sum != size * (size - 1) / 2 || again != sum)
		return harness_fail(scene->self, "one stream: %d, %d, %d", passed, sum, again);
	return 0;
}

/* A receive waits for long: collectives, other messages and questions do not. */
static int wait_long(struct scene *scene)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	fill(scene);
	int bad = receive_one(scene, scene->prev, 0, BYTES, scene->in);
	for (int call = 0; !bad && call < 40; call++) {
		int round = call % ROUNDS;
		for (int i = 0; i < COUNT; i++)
			scene->vectors[round][i] = scene->self->rank + i + round;
		bad = add_up(scene, round, call % 2 ? scene->sums : NULL) ||
		      await(scene, scene->sums) || check_sum(scene, round);
		if (!bad && ring_comm_stats(scene->comm, &stats))
			bad = complain(scene, "counters");
		if (!bad &&
		    ring_stream_test(scene->in, ring_stream_position(scene->in)) != RING_EAGAIN)
			bad = harness_fail(scene->self, "received what nobody has sent");
	}
	if (bad || ring_barrier(scene->comm, NULL))
		return 1;
	return send_one(scene, scene->next, 0, BYTES, NULL) || await(scene, scene->in) ||
	       check_message(scene, scene->prev, 0, BYTES);
}

/* A group's messages and collectives: its peer sends only after its own sum. No streams yet. */
static int group_beside(struct scene *scene)
{
	const bool first = scene->self->rank == 0, last = scene->prev == 0;
	fill(scene);
	if (first && (ring_group_start() || receive_one(scene, scene->next, 0, BYTES, NULL)))
		return 1;
	if (add_up(scene, 0, NULL))
		return 1;
	if (first && ring_group_end())
		return complain(scene, "a group of both");
	if (last && send_one(scene, 0, 0, BYTES, NULL))
		return 1;
	return check_sum(scene, 0) || (first && check_message(scene, scene->next, 0, BYTES));
}

/* Destroying completes what is under way. */
static int leave(struct scene *scene)
{
	fill(scene);
	if (receive_one(scene, scene->prev, 0, BYTES, scene->in) ||
	    send_one(scene, scene->next, 0, BYTES, scene->out))
		return 1;
	ring_stream_destroy(scene->in);
	ring_stream_destroy(scene->out);
	ring_stream_destroy(scene->sums);
	return check_message(scene, scene->prev, 0, BYTES);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* All that is under way, or waits for its turn, ends with the error. */
static int expect_all(const struct scene *scene, int err)
{
	struct ring_stream *const streams[] = {scene->out, scene->in, scene->sums};
	for (int k = 0; k < 3; k++) {
		uint64_t last = ring_stream_position(streams[k]);
		int got = last ? ring_stream_wait(streams[k], last) : err;
		if (got != err)
			return harness_fail(scene->self, "stream %d: %d instead of %d: %s", k, got,
					    err, ring_comm_error(scene->comm));
	}
	return 0;
}

/* Receives that nobody serves, and sums that wait behind one. */
static int wait_in_vain(const struct scene *scene)
{
	int bad = 0;
	for (int round = 0; !bad && round < ROUNDS; round++)
		bad = receive_one(scene, scene->prev, round, BYTES, scene->in);
	return bad || receive_one(scene, scene->prev, 0, BYTES, scene->sums) ||
	       add_up(scene, 0, scene->sums);
}

static int abort_all(struct scene *scene)
{
	int bad = wait_in_vain(scene);
	harness_barrier(scene->self);
	if (scene->self->rank == 0 && ring_comm_abort(scene->comm))
		return complain(scene, "aborting");
	return bad || expect_all(scene, RING_EABORTED);
}

/* Sums go on all the time; the receive runs out of time nevertheless, not before, and is named. */
static int run_out_of_time(struct scene *scene)
{
	unsigned calls = 0;
	double begin = harness_clock();
	harness_barrier(scene->self); /* the first rank's time counts, and all began before that */
	int err = receive_one(scene, scene->prev, 0, BYTES, scene->in);
	while (!err) {
		calls++;
		err = ring_all_reduce(scene->comm, scene->vectors[0], scene->vectors[1], COUNT,
				      RING_INT32, RING_SUM, calls % 2 ? scene->sums : NULL);
	}
	double took = harness_clock() - begin;
	if (err != RING_ETIMEDOUT || ring_comm_status(scene->comm) != err)
		return harness_fail(scene->self, "a receive in vain gave %d", err);
	if (took < 1e-3 * SHORT_MS)
		return harness_fail(scene->self, "timed out after %.3f ms", 1e3 * took);
	if (!strstr(ring_comm_error(scene->comm), "recv"))
		return complain(scene, "the sentence does not name the receive");
	return ring_stream_wait(scene->in, 1) == err ? 0 : complain(scene, "it goes on");
}

/* A mismatch ends what waits beside it. */
static int disagree(struct scene *scene)
{
	int bad = receive_one(scene, scene->prev, 0, BYTES, scene->in) ||
		  add_up(scene, 0, scene->out) || await(scene, scene->out);
	harness_barrier(scene->self); /* a failure also ends what other ranks are still at */
	size_t count = scene->self->rank == 0 ? COUNT : COUNT - 1;
	int err = ring_all_reduce(scene->comm, scene->vectors[0], scene->vectors[1], count,
				  RING_INT32, RING_SUM, scene->sums);
	if (!err)
		err = ring_stream_wait(scene->sums, ring_stream_position(scene->sums));
	if (bad || err != RING_EMISMATCH ||
	    ring_stream_wait(scene->in, ring_stream_position(scene->in)) != err)
		return harness_fail(scene->self, "a mismatch gave %d: %s", err,
				    ring_comm_error(scene->comm));
	return ring_stream_wait(scene->out, 1) ? complain(scene, "the sum before it") : 0;
}

/* ---- */

static int make_scene(struct harness_rank *self, int call_timeout_ms, struct scene *scene)
{
	struct ring_options options;
	harness_options(self, &options);
	if (call_timeout_ms)
		options.call_timeout_ms = call_timeout_ms;
	*scene = (struct scene){
		.self = self,
		.next = (self->rank + 1) % self->size,
		.prev = (self->rank + self->size - 1) % self->size,
		.sent = malloc((size_t)ROUNDS * BYTES),
		.received = malloc((size_t)ROUNDS * BYTES),
		.vectors = calloc(ROUNDS, sizeof(*scene->vectors)),
	};
	return !scene->sent || !scene->received || !scene->vectors ||
	       harness_join(self, &options, &scene->comm);
}

static int make_streams(struct scene *scene)
{
	if (ring_stream_create(scene->comm, &scene->out) ||
	    ring_stream_create(scene->comm, &scene->in) ||
	    ring_stream_create(scene->comm, &scene->sums))
		return complain(scene, "making streams");
	return 0;
}

static void free_scene(struct scene *scene)
{
	ring_comm_destroy(scene->comm);
	free(scene->sent);
	free(scene->received);
	free(scene->vectors);
}

static int go_on(struct harness_rank *self)
{
	struct scene scene;
	int bad = make_scene(self, 0, &scene) || group_beside(&scene) || make_streams(&scene) ||
		  go_in_a_circle(&scene) || block_beside(&scene) || keep_pairs_in_order(&scene) ||
		  keep_streams_in_order(&scene) || wait_long(&scene) || group_beside(&scene) ||
		  leave(&scene);
	free_scene(&scene);
	return bad;
}

static int fail(struct harness_rank *self, int call_timeout_ms, int (*play)(struct scene *scene))
{
	struct scene scene;
	int bad = make_scene(self, call_timeout_ms, &scene) || make_streams(&scene) || play(&scene);
	ring_stream_destroy(scene.out);
	ring_stream_destroy(scene.in);
	ring_stream_destroy(scene.sums);
	free_scene(&scene);
	return bad;
}

static int fail_all(struct harness_rank *self)
{
	return fail(self, 0, abort_all) || fail(self, 0, disagree) ||
	       (self->size == 2 && fail(self, SHORT_MS, run_out_of_time));
}

#define LEAST 2

static int most(void)
{
	return harness_is_quick() ? 3 : 4;
}

static int run_teams(const char *name, harness_body *body)
{
	int bad = 0;
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int size = LEAST; size <= most(); size++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = body};
			snprintf(team.label, sizeof(team.label), "%s, %s, %d ranks", name,
				 team.world->name, size);
			bad |= harness_report(team.label, harness_run(&team));
		}
	return bad;
}

int main(void)
{
	printf("1..%d\n", 2 * (most() - LEAST + 1) * HARNESS_WORLDS);
	int bad = run_teams("all go on", go_on);
	return run_teams("all end", fail_all) | bad;
}
