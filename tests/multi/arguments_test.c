/* SPDX-License-Identifier: MIT */
/*
 * Bad arguments of every call, alone and in groups: RING_EINVAL at once, with a sentence that says
 * what is wrong, and the communicator works as before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/multi/calls.h"
#include "tests/multi/verdict.h"

#define N 3
#define COUNT 100
#define NO_TYPE ((enum ring_datatype)99)
#define NO_OP ((enum ring_op)9)
#define HUGE_PART (SIZE_MAX / 8) /* of four bytes: fits for one rank, not for three */

/* ---- values ---------------------------------------------------------------------------------- */

enum missing { NONE, NO_SEND, NO_RECV };

struct bad_call {
	struct call call;
	const char *word;
	enum missing missing; /* which buffer is NULL */
	bool on_root;         /* only there it is wrong */
};

static const struct bad_call bad_calls[] = {
	{{ALL_REDUCE, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "send is NULL", NO_SEND, false},
	{{REDUCE_SCATTER, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, false},
	{{ALL_GATHER, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, false},
	{{BROADCAST, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, false},
	{{BROADCAST, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "send is NULL", NO_SEND, true},
	{{REDUCE, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "send is NULL", NO_SEND, false},
	{{REDUCE, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, true},
	{{GATHER, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "send is NULL", NO_SEND, false},
	{{GATHER, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, true},
	{{SCATTER, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "send is NULL", NO_SEND, true},
	{{SCATTER, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, false},
	{{ALL_TO_ALL, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "send is NULL", NO_SEND, false},
	{{ALL_TO_ALL, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "recv is NULL", NO_RECV, false},

	{{ALL_REDUCE, 1, NO_TYPE, RING_SUM, 0, NULL}, "99 is not a datatype", NONE, false},
	{{BROADCAST, 1, (enum ring_datatype) - 1, RING_SUM, 0, NULL}, "-1 is no", NONE, false},
	{{REDUCE, 1, NO_TYPE, RING_SUM, 0, NULL}, "99 is not a datatype", NONE, false},
	{{GATHER, 0, NO_TYPE, RING_SUM, 0, NULL}, "99 is not a datatype", NONE, false},
	{{SCATTER, 1, NO_TYPE, RING_SUM, 0, NULL}, "99 is not a datatype", NONE, false},
	{{ALL_TO_ALL, 1, NO_TYPE, RING_SUM, 0, NULL}, "99 is not a datatype", NONE, false},
	{{SEND, 1, NO_TYPE, RING_SUM, 1, NULL}, "99 is not a datatype", NONE, true},
	{{RECV, 1, NO_TYPE, RING_SUM, 1, NULL}, "99 is not a datatype", NONE, true},

	{{REDUCE_SCATTER, 1, RING_FLOAT32, NO_OP, 0, NULL}, "9 is not an operation", NONE, false},
	{{REDUCE, 1, RING_FLOAT32, NO_OP, 0, NULL}, "9 is not an operation", NONE, false},
	{{ALL_REDUCE, 0, RING_FLOAT32, NO_OP, 0, NULL}, "9 is not an operation", NONE, false},
	{{ALL_REDUCE, 1, RING_FLOAT32, RING_BAND, 0, NULL}, "band works on", NONE, false},
	{{REDUCE, 0, RING_BFLOAT16, RING_BXOR, 0, NULL}, "not on bfloat16", NONE, false},

	{{BROADCAST, 1, RING_FLOAT32, RING_SUM, -1, NULL}, "root -1", NONE, false},
	{{BROADCAST, 1, RING_FLOAT32, RING_SUM, N, NULL}, "root 3", NONE, false},
	{{REDUCE, 1, RING_FLOAT32, RING_SUM, N, NULL}, "root 3", NONE, false},
	{{GATHER, 1, RING_FLOAT32, RING_SUM, -1, NULL}, "root -1", NONE, false},
	{{SCATTER, 0, RING_FLOAT32, RING_SUM, N, NULL}, "root 3", NONE, false},
	{{SEND, 1, RING_FLOAT32, RING_SUM, N, NULL}, "peer 3", NONE, false},
	{{RECV, 1, RING_FLOAT32, RING_SUM, -1, NULL}, "peer -1", NONE, false},

	{{ALL_REDUCE, SIZE_MAX, RING_FLOAT32, RING_SUM, 0, NULL}, "more than memory", NONE, false},
	{{ALL_GATHER, HUGE_PART, RING_FLOAT32, RING_SUM, 0, NULL}, "more than memory", NONE, false},
	{{GATHER, HUGE_PART, RING_FLOAT32, RING_SUM, 0, NULL}, "more than memory", NONE, false},
	{{SCATTER, HUGE_PART, RING_FLOAT32, RING_SUM, 0, NULL}, "more than memory", NONE, false},
	{{ALL_TO_ALL, HUGE_PART, RING_FLOAT32, RING_SUM, 0, NULL}, "more than memory", NONE, false},
	{{SEND, SIZE_MAX / 2, RING_FLOAT32, RING_SUM, 1, NULL}, "more than memory", NONE, true},

	{{SEND, 1, RING_FLOAT32, RING_SUM, 1, NULL}, "buffer is NULL", NO_SEND, true},
	{{RECV, 1, RING_FLOAT32, RING_SUM, 1, NULL}, "buffer is NULL", NO_RECV, true},
	{{SEND, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "itself", NONE, true},
	{{RECV, 1, RING_FLOAT32, RING_SUM, 0, NULL}, "itself", NONE, true},
};
#define BAD_CALLS (sizeof(bad_calls) / sizeof(bad_calls[0]))

static int bad_values(struct harness_rank *self, struct ring_comm *comm)
{
	float a[N * COUNT] = {0}, b[N * COUNT];
	int bad = 0;
	for (size_t i = 0; i < BAD_CALLS; i++) {
		const struct bad_call *bad_call = &bad_calls[i];
		char text[CALL_TEXT];
		if (bad_call->on_root && self->rank != 0)
			continue;
		int err = call_make(comm, &bad_call->call, bad_call->missing == NO_SEND ? NULL : a,
				    bad_call->missing == NO_RECV ? NULL : b, NULL);
		bad |= expect_verdict(self, call_text(&bad_call->call, text), err, RING_EINVAL,
				      comm, bad_call->word);
	}
	return bad || expect_works(self, comm, "bad values");
}

/*
 * Whether a refusal has a sentence that names its call: a program that prints ring_comm_error() said nothing, or something
 * of an earlier call. Another refusal follows, so that the next one cannot live on this one's words.
 */
static int refused(struct harness_rank *self, struct ring_comm *comm, const char *call, int err)
{
	char words[64];
	snprintf(words, sizeof(words), "%s: ", call);
	int bad = expect_verdict(self, call, err, RING_EINVAL, comm, words);
	ring_group_end();
	if (comm)
		bad |= expect_verdict(self, "a bad send",
				      ring_send(comm, NULL, 1, RING_INT8, N, NULL), RING_EINVAL,
				      comm, "send: peer");
	return bad;
}

/* Every call that has one, without a communicator. */
static int no_communicator(struct harness_rank *self, struct ring_comm *comm)
{
	float a[N] = {0}, b[N];
	enum ring_op op;
	struct ring_comm *sub;
	void *memory;
	struct ring_stats stats = {.size = sizeof(stats)};
	struct ring_stream *stream;
	struct ring_region *region;
	int bad = 0;
	for (int kind = 0; kind <= RECV; kind++) {
		struct call call = {.kind = (enum call_kind)kind, .count = 1, .type = RING_FLOAT32};
		char words[64];
		snprintf(words, sizeof(words), "%s: comm is NULL", call_kind_name(call.kind));
		bad |= expect_verdict(self, "no comm", call_make(NULL, &call, a, b, NULL),
				      RING_EINVAL, NULL, words);
	}
	bad |= refused(self, NULL, "ring_comm_size", ring_comm_size(NULL));
	bad |= refused(self, NULL, "ring_comm_rank", ring_comm_rank(NULL));
	bad |= refused(self, NULL, "ring_comm_status", ring_comm_status(NULL));
	bad |= refused(self, NULL, "ring_comm_abort", ring_comm_abort(NULL));
	bad |= refused(self, NULL, "ring_comm_split", ring_comm_split(NULL, 0, 0, &sub));
	bad |= refused(self, NULL, "ring_comm_stats", ring_comm_stats(NULL, &stats));
	bad |= refused(self, NULL, "ring_stream_create", ring_stream_create(NULL, &stream));
	bad |= refused(self, NULL, "ring_op_create_premul_sum",
		       ring_op_create_premul_sum(NULL, a, RING_FLOAT32, &op));
	bad |= refused(self, NULL, "ring_op_destroy", ring_op_destroy(NULL, RING_SUM));
	bad |= refused(self, NULL, "ring_mem_alloc", ring_mem_alloc(NULL, 1, &memory));
	bad |= refused(self, NULL, "ring_mem_free", ring_mem_free(NULL, a));
	bad |= refused(self, NULL, "ring_mem_register",
		       ring_mem_register(NULL, a, sizeof(a), &region));
	bad |= refused(self, NULL, "ring_mem_deregister", ring_mem_deregister(NULL, NULL));
	bad |= refused(self, NULL, "ring_stream_wait", ring_stream_wait(NULL, 0));
	bad |= refused(self, NULL, "ring_stream_test", ring_stream_test(NULL, 0));
	bad |= refused(self, NULL, "ring_stream_times", ring_stream_times(NULL, 1, NULL, NULL));
	bad |= refused(self, NULL, "ring_unique_id_create", ring_unique_id_create(NULL));
	bad |= refused(self, NULL, "ring_comm_create_from_env",
		       ring_comm_create_from_env(NULL, NULL));
	if (ring_stream_position(NULL) != 0)
		bad = harness_fail(self, "no stream has a position");
	ring_stream_destroy(NULL);
	ring_comm_destroy(NULL);
	return bad || expect_works(self, comm, "NULLs");
}

/* Every other call, with what it cannot take. */
static int bad_objects(struct harness_rank *self, struct ring_comm *comm)
{
	float a[N] = {0};
	enum ring_op op;
	struct ring_stats unset = {.size = 0};
	struct ring_stats older = {.size = offsetof(struct ring_stats, last), .last.channels = -1};
	struct ring_region *region;
	int bad = refused(self, comm, "ring_comm_stats", ring_comm_stats(comm, NULL));
	bad |= refused(self, comm, "ring_comm_stats", ring_comm_stats(comm, &unset));
	bad |= refused(self, comm, "ring_comm_split", ring_comm_split(comm, 0, 0, NULL));
	bad |= refused(self, comm, "ring_stream_create", ring_stream_create(comm, NULL));
	bad |= refused(self, comm, "ring_op_create_premul_sum",
		       ring_op_create_premul_sum(comm, NULL, RING_FLOAT32, &op));
	bad |= refused(self, comm, "ring_op_destroy", ring_op_destroy(comm, RING_SUM));
	bad |= refused(self, comm, "ring_mem_alloc", ring_mem_alloc(comm, 0, NULL));
	bad |= refused(self, comm, "ring_mem_free", ring_mem_free(comm, a));
	bad |= refused(self, comm, "ring_mem_register",
		       ring_mem_register(comm, a, SIZE_MAX, &region));
	bad |= refused(self, comm, "ring_mem_register",
		       ring_mem_register(comm, (char *)a + 1, SIZE_MAX, &region));
	bad |= refused(self, comm, "ring_mem_register", ring_mem_register(comm, a, sizeof(a), NULL));
	bad |= refused(self, comm, "ring_mem_deregister", ring_mem_deregister(comm, NULL));
	if (ring_comm_stats(comm, &older) || older.last.channels != -1)
		bad = harness_fail(self, "an older program's ring_stats is overrun or refused");
	return bad || expect_works(self, comm, "bad objects");
}

/* A stream has positions up to its last call's, and remembers when so many of them ran. */
static int bad_positions(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	uint64_t began, ended;
	int err = ring_stream_create(comm, &stream);
	for (int i = 0; i <= RING_STREAM_TIMES && !err; i++)
		err = ring_barrier(comm, stream);
	if (err || ring_stream_wait(stream, RING_STREAM_TIMES + 1))
		return harness_fail(self, "stream: %s", ring_comm_error(comm));
	const uint64_t none = RING_STREAM_TIMES + 2;
	int bad = refused(self, comm, "ring_stream_wait", ring_stream_wait(stream, none));
	bad |= refused(self, comm, "ring_stream_test", ring_stream_test(stream, none));
	bad |= refused(self, comm, "ring_stream_times",
		       ring_stream_times(stream, none, &began, &ended));
	bad |= refused(self, comm, "ring_stream_times",
		       ring_stream_times(stream, 0, &began, &ended));
	bad |= refused(self, comm, "ring_stream_times",
		       ring_stream_times(stream, 1, &began, &ended));
	bad |= refused(self, comm, "ring_stream_times", ring_stream_times(stream, 2, NULL, &ended));
	if (ring_stream_times(stream, 2, &began, &ended))
		bad = harness_fail(self, "the last calls' times: %s", ring_comm_error(comm));
	ring_stream_destroy(stream);
	return bad || expect_works(self, comm, "bad positions");
}

/* ---- overlaps -------------------------------------------------------------------------------- */

/* Buffers begin at these elements of one piece of memory. */
static int overlap(struct harness_rank *self, struct ring_comm *comm, enum call_kind kind,
		   size_t send, size_t recv, const char *name)
{
	static _Thread_local float v[4 * N * COUNT];
	struct call call = {.kind = kind, .count = COUNT, .type = RING_FLOAT32, .op = RING_SUM};
	if (call_kind_has_root(kind) && self->rank != call.root)
		return 0;
	int err = call_make(comm, &call, v + send, v + recv, NULL);
	return expect_verdict(self, name, err, RING_EINVAL, comm, "overlap");
}

static int overlaps(struct harness_rank *self, struct ring_comm *comm)
{
	const size_t other = (size_t)((self->rank + 1) % N) * COUNT;
	float v[N * COUNT] = {0};
	int bad = overlap(self, comm, ALL_REDUCE, 0, COUNT - 1, "one element of an all-reduce");
	bad |= expect_verdict(self, "one byte of overlap",
			      ring_all_reduce(comm, (char *)v + 4 * COUNT - 1, v, COUNT,
					      RING_FLOAT32, RING_SUM, NULL),
			      RING_EINVAL, comm, "overlap");
	bad |= overlap(self, comm, REDUCE_SCATTER, 0, other, "another's part of a reduce-scatter");
	bad |= overlap(self, comm, ALL_GATHER, other, 0, "another's part of an all-gather");
	bad |= overlap(self, comm, BROADCAST, 0, 1, "broadcast");
	bad |= overlap(self, comm, REDUCE, 1, 0, "reduce");
	bad |= overlap(self, comm, GATHER, other, 0, "another's part of a gather");
	bad |= overlap(self, comm, GATHER, N * COUNT - 1, 0, "the last element of a gather");
	bad |= overlap(self, comm, SCATTER, 0, other, "another's part of a scatter");
	bad |= overlap(self, comm, ALL_TO_ALL, 0, 0, "an all-to-all in place");
	bad |= overlap(self, comm, ALL_TO_ALL, 0, N * COUNT - 1, "an element of an all-to-all");
	return bad || expect_works(self, comm, "overlaps");
}

/* What looks like one of those and is right. */
static int no_overlaps(struct harness_rank *self, struct ring_comm *comm)
{
	float v[2 * N * COUNT] = {0};
	for (int kind = 0; kind < CALL_COLLECTIVES; kind++) {
		struct call call = {.kind = (enum call_kind)kind,
				    .count = COUNT,
				    .type = RING_FLOAT32,
				    .op = RING_SUM,
				    .root = 1};
		const size_t after = call_send_bytes(&call, N) / sizeof(float);
		size_t send, recv;
		bool can_be = call_place(&call, self->rank, &send, &recv);
		char text[CALL_TEXT];
		int err = call_make(comm, &call, v, v + after, NULL);
		if (!err && can_be)
			err = call_make(comm, &call, (char *)v + send, (char *)v + recv, NULL);
		call.count = 0;
		if (!err)
			err = call_make(comm, &call, NULL, NULL, NULL);
		if (err)
			return harness_fail(self, "%s, a good call: %s", call_text(&call, text),
					    ring_comm_error(comm));
	}
	/* Where a buffer is not used, it may overlap. */
	if (ring_broadcast(comm, self->rank ? v + 1 : v, v, COUNT, RING_FLOAT32, 0, NULL) ||
	    ring_reduce(comm, v, self->rank ? v + 1 : v, COUNT, RING_FLOAT32, RING_SUM, 0, NULL))
		return harness_fail(self, "an unused buffer: %s", ring_comm_error(comm));
	return expect_works(self, comm, "good calls");
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A group of a good call and a bad one: neither is made. */
static int spoilt_group(struct harness_rank *self, struct ring_comm *comm,
			const struct call *bad_call, const char *word)
{
	float a[COUNT] = {1}, b[COUNT] = {-1}, c[COUNT];
	char text[CALL_TEXT];
	if (ring_group_start() || ring_all_reduce(comm, a, b, COUNT, RING_FLOAT32, RING_SUM, NULL))
		return harness_fail(self, "group: %s", ring_comm_error(comm));
	int noted = call_make(comm, bad_call, c, c, NULL);
	int err = ring_group_end();
	call_text(bad_call, text);
	if (noted != 0 && noted != RING_EINVAL)
		return harness_fail(self, "%s in a group gave %d", text, noted);
	if (b[0] != -1)
		return harness_fail(self, "a call was made though another was bad: %s", text);
	return expect_verdict(self, text, err, RING_EINVAL, comm, word) ||
	       expect_works(self, comm, "a refused group");
}

static int own_messages_differ(struct harness_rank *self, struct ring_comm *comm)
{
	float a[COUNT] = {1}, b[COUNT] = {-1};
	if (ring_group_start() || ring_send(comm, a, COUNT, RING_FLOAT32, self->rank, NULL) ||
	    ring_recv(comm, b, COUNT - 1, RING_FLOAT32, self->rank, NULL))
		return harness_fail(self, "group: %s", ring_comm_error(comm));
	int err = ring_group_end();
	if (b[0] != -1)
		return harness_fail(self, "a message to oneself of another size arrived");
	return expect_verdict(self, "another size", err, RING_EINVAL, comm, "match") ||
	       expect_works(self, comm, "a message to oneself");
}

static int split_in_group(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_comm *sub = NULL;
	if (ring_group_start() || ring_comm_split(comm, 0, 0, &sub))
		return harness_fail(self, "group: %s", ring_comm_error(comm));
	int bad = expect_verdict(self, "a split in a group", ring_comm_split(comm, 0, 0, NULL),
				 RING_EINVAL, comm, "sub is NULL");
	int err = ring_group_end();
	if (err != RING_EINVAL || sub)
		return harness_fail(self, "a group with a wrong split gave %d", err);
	return bad || expect_works(self, comm, "a split in a group");
}

static int groups(struct harness_rank *self, struct ring_comm *comm)
{
	const struct call bad_root = {BROADCAST, 1, RING_FLOAT32, RING_SUM, N, NULL};
	const struct call bad_op = {REDUCE, 1, RING_FLOAT32, NO_OP, 0, NULL};
	const struct call bad_peer = {SEND, 1, RING_FLOAT32, RING_SUM, N, NULL};
	const struct call own_send = {SEND, 1, RING_FLOAT32, RING_SUM, self->rank, NULL};
	const struct call own_recv = {RECV, 1, RING_FLOAT32, RING_SUM, self->rank, NULL};
	return expect_verdict(self, "an end without a start", ring_group_end(), RING_EINVAL, NULL,
			      "group") ||
	       spoilt_group(self, comm, &bad_root, "root 3") ||
	       spoilt_group(self, comm, &bad_op, "9 is not an operation") ||
	       spoilt_group(self, comm, &bad_peer, "peer 3") ||
	       spoilt_group(self, comm, &own_send, "match") ||
	       spoilt_group(self, comm, &own_recv, "match") || own_messages_differ(self, comm) ||
	       split_in_group(self, comm);
}

/* ---- operations, splits, streams, memory ----------------------------------------------------- */

static int operations(struct harness_rank *self, struct ring_comm *comm)
{
	float a[COUNT] = {0}, b[COUNT];
	double scalar = 2;
	enum ring_op op, dead;
	int bad = expect_verdict(self, "no scalar",
				 ring_op_create_premul_sum(comm, NULL, RING_FLOAT32, &op),
				 RING_EINVAL, comm, "scalar is NULL");
	bad |= expect_verdict(self, "no op",
			      ring_op_create_premul_sum(comm, &scalar, RING_FLOAT64, NULL),
			      RING_EINVAL, comm, "op is NULL");
	bad |= expect_verdict(self, "no type",
			      ring_op_create_premul_sum(comm, &scalar, NO_TYPE, &op), RING_EINVAL,
			      comm, "not a datatype");
	if (ring_op_create_premul_sum(comm, &scalar, RING_FLOAT64, &op) ||
	    ring_op_create_premul_sum(comm, &scalar, RING_FLOAT64, &dead))
		return harness_fail(self, "no operation: %s", ring_comm_error(comm));
	bad |= expect_verdict(self, "another type's",
			      ring_all_reduce(comm, a, b, COUNT, RING_FLOAT32, op, NULL),
			      RING_EINVAL, comm, "double");
	if (ring_op_destroy(comm, dead))
		bad = harness_fail(self, "destroying: %s", ring_comm_error(comm));
	bad |= expect_verdict(self, "a destroyed one",
			      ring_reduce(comm, a, b, COUNT / 2, RING_FLOAT64, dead, 0, NULL),
			      RING_EINVAL, comm, "not an operation");
	bad |= expect_verdict(self, "destroying it twice", ring_op_destroy(comm, dead), RING_EINVAL,
			      comm, "not an operation");
	bad |= expect_verdict(self, "destroying a sum", ring_op_destroy(comm, RING_SUM),
			      RING_EINVAL, comm, "not an operation");
	if (ring_all_reduce(comm, a, b, COUNT / 2, RING_FLOAT64, op, NULL) ||
	    ring_op_destroy(comm, op))
		bad = harness_fail(self, "a good operation: %s", ring_comm_error(comm));
	return bad || expect_works(self, comm, "operations");
}

static int splits(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_comm *sub = NULL;
	int bad = expect_verdict(self, "color -2", ring_comm_split(comm, -2, 0, &sub), RING_EINVAL,
				 comm, "color");
	bad |= expect_verdict(self, "no sub", ring_comm_split(comm, 0, 0, NULL), RING_EINVAL, comm,
			      "sub is NULL");
	if (sub)
		bad = harness_fail(self, "a refused split made a communicator");
	return bad || expect_works(self, comm, "splits");
}

/* A stream and an operation of another communicator. */
static int strangers(struct harness_rank *self, struct ring_comm *comm)
{
	float a[N * COUNT] = {0}, b[N * COUNT], scalar = 1;
	struct ring_comm *other;
	struct ring_stream *stream;
	enum ring_op op;
	int bad = 0;
	if (harness_join(self, NULL, &other) || ring_stream_create(other, &stream) ||
	    ring_op_create_premul_sum(other, &scalar, RING_FLOAT32, &op))
		return harness_fail(self, "another: %s", ring_comm_error(other));
	for (int kind = 0; kind <= RECV; kind++) {
		struct call call = {.kind = (enum call_kind)kind,
				    .count = COUNT,
				    .type = RING_FLOAT32,
				    .op = RING_SUM,
				    .root = (self->rank + 1) % N};
		if (call_kind_has_root(call.kind) && call.kind < BARRIER)
			call.root = 0;
		bad |= expect_verdict(self, call_kind_name(call.kind),
				      call_make(comm, &call, a, b, stream), RING_EINVAL, comm,
				      "another communicator");
	}
	bad |= expect_verdict(self, "another's operation",
			      ring_all_reduce(comm, a, b, COUNT, RING_FLOAT32, op, NULL),
			      RING_EINVAL, comm, "not an operation");
	ring_stream_destroy(stream);
	ring_comm_destroy(other);
	return bad || expect_works(self, comm, "another's stream");
}

static int memory(struct harness_rank *self, struct ring_comm *comm)
{
	char on_stack[64];
	void *own;
	struct ring_region *region;
	if (ring_mem_alloc(comm, 5000, &own))
		return harness_fail(self, "no memory: %s", ring_comm_error(comm));
	int bad = expect_verdict(self, "nowhere to put it", ring_mem_alloc(comm, 1, NULL),
				 RING_EINVAL, comm, "NULL");
	bad |= expect_verdict(self, "not allocated here", ring_mem_free(comm, on_stack),
			      RING_EINVAL, comm, "mem_free");
	bad |= expect_verdict(self, "nothing registered",
			      ring_mem_register(comm, on_stack, 0, &region), RING_EINVAL, comm,
			      "mem_register");
	bad |= expect_verdict(self, "not mapped", ring_mem_register(comm, NULL, 4096, &region),
			      RING_EINVAL, comm, "mem_register");
	bad |= expect_verdict(self, "no region", ring_mem_deregister(comm, NULL), RING_EINVAL, comm,
			      "mem_deregister");
	if (ring_mem_free(comm, own))
		bad = harness_fail(self, "freeing: %s", ring_comm_error(comm));
	bad |= expect_verdict(self, "freeing it twice", ring_mem_free(comm, own), RING_EINVAL, comm,
			      "mem_free");
	return bad || expect_works(self, comm, "memory");
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = bad_values(self, comm) || no_communicator(self, comm) ||
		  bad_objects(self, comm) || overlaps(self, comm) || no_overlaps(self, comm) ||
		  groups(self, comm) || operations(self, comm) || splits(self, comm) ||
		  strangers(self, comm) || memory(self, comm) || bad_positions(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	double begin = harness_clock();
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		struct harness team = {.world = &harness_worlds[w], .size = N, .body = be_rank};
		if (harness_run(&team))
			return 1;
	}
	printf("%zu bad calls, overlaps, groups, operations, splits, streams, memory: refused in "
	       "words (%.1f s)\n",
	       BAD_CALLS, harness_clock() - begin);
	return 0;
}
