/* SPDX-License-Identifier: MIT */
/*
 * Every collective, type and operation over every transport, with counts around the edges of blocks
 * and chunks, against values that a formula gives. Inputs are small whole numbers, so that sums are
 * exact in any order; bits and order are the subject of soak_test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/multi/calls.h"
#include "tests/place.h"

#define GUARD 64
#define LARGEST ((2u << 20) + 4096)    /* bytes of the longest buffer */
#define ELEMENTS_MAX ((1u << 19) + 17) /* of any buffer */
#define COUNTS 15
#define CANARY 0xee

struct settings {
	size_t chunk_bytes;
	int depth, chunks_per_round, channels;
};

static const struct settings all_settings[] = {
	{0, 0, 0, 0}, {64, 1, 1, 1}, {4096, 2, 2, 4}, {256, 8, 3, 2}, {8, 1, 2, 1}, {1024, 4, 1, 3},
};
#define SETTINGS (int)(sizeof(all_settings) / sizeof(all_settings[0]))

static const char *const algorithms[] = {NULL,    "ring",   "oneshot", "stride", "twoshot",
					 "bruck", "staged", "direct",  "tree"};
#define ALGORITHMS (int)(sizeof(algorithms) / sizeof(algorithms[0]))

struct plan {
	struct settings settings;
	const char *algorithm;  /* NULL: the library chooses */
	unsigned stride, phase; /* of all cases, every stride-th */
	int seconds;            /* deadline */
};

/* One call with its buffers. */
struct trial {
	struct call call;
	bool in_place;
	size_t shift; /* of the buffers from an aligned address */
	int salt;
};

/* What a rank works with: each buffer lies between guards. */
struct memory {
	unsigned char *send, *recv;
};

/* Where the two buffers of a call lie in it. */
struct buffers {
	unsigned char *send, *recv;
	size_t send_bytes, recv_bytes;
	bool send_inside, recv_inside; /* ... the other one */
};

static bool is_unsigned(enum ring_datatype type)
{
	return type == RING_UINT8 || type == RING_UINT32 || type == RING_UINT64;
}

/* So small that a sum of eight is exact in any type; 8-bit floats have whole numbers up to 8. */
static double input(const struct trial *trial, int rank, size_t index)
{
	enum ring_datatype type = trial->call.type;
	size_t mixed = index * 7 + (size_t)rank * 5 + (size_t)trial->salt;
	double value = (double)(mixed % 31) - 15;
	if (trial->call.op == RING_PROD)
		value = (double[]){1, 2, -1, 1, -2}[mixed % 5];
	else if (type == RING_FLOAT8_E4M3 || type == RING_FLOAT8_E5M2)
		value = (double)(mixed % 3) - 1;
	return is_unsigned(type) && value < 0 ? -value : value;
}

static double reduced(const struct trial *trial, int size, size_t index)
{
	enum ring_op op = trial->call.op;
	double value = input(trial, 0, index);
	for (int rank = 1; rank < size; rank++) {
		double next = input(trial, rank, index);
		if (op == RING_PROD)
			value *= next;
		else if (op == RING_MAX || op == RING_MIN)
			value = (next > value) == (op == RING_MAX) ? next : value;
		else if (op == RING_BAND)
			value = (double)((int64_t)value & (int64_t)next);
		else if (op == RING_BOR)
			value = (double)((int64_t)value | (int64_t)next);
		else if (op == RING_BXOR)
			value = (double)((int64_t)value ^ (int64_t)next);
		else
			value += next;
	}
	return op == RING_AVG ? value / size : value; /* element_put truncates for integers */
}

static double expected(const struct trial *trial, const struct harness_rank *self, size_t index)
{
	const struct call *call = &trial->call;
	size_t own = (size_t)self->rank * call->count;
	switch (call->kind) {
	case ALL_REDUCE:
	case REDUCE:
		return reduced(trial, self->size, index);
	case REDUCE_SCATTER:
		return reduced(trial, self->size, own + index);
	case ALL_GATHER:
	case GATHER:
		return input(trial, (int)(index / call->count), index % call->count);
	case ALL_TO_ALL:
		return input(trial, (int)(index / call->count), own + index % call->count);
	case SCATTER:
		return input(trial, call->root, own + index);
	default:
		return input(trial, call->root, index);
	}
}

static void fill(const struct trial *trial, int rank, unsigned char *send, size_t bytes)
{
	size_t element = element_bytes(trial->call.type);
	for (size_t i = 0; i < bytes / element; i++)
		element_put(trial->call.type, send + i * element, input(trial, rank, i));
}

/* In place, the smaller buffer lies in the larger, which alone has guards. */
static struct buffers place(const struct trial *trial, const struct harness_rank *self,
			    const struct memory *memory)
{
	struct buffers buffers = {
		.send = memory->send + trial->shift,
		.recv = memory->recv + trial->shift * 3,
		.send_bytes = call_send_bytes(&trial->call, self->size),
		.recv_bytes = call_recv_bytes(&trial->call, self->size),
	};
	size_t send_at, recv_at;
	if (!trial->in_place)
		return buffers;
	call_place(&trial->call, self->rank, &send_at, &recv_at);
	buffers.recv_inside = buffers.send_bytes >= buffers.recv_bytes;
	buffers.send_inside = !buffers.recv_inside;
	if (buffers.send_inside)
		buffers.send = buffers.recv + send_at;
	else
		buffers.recv = buffers.send + recv_at;
	return buffers;
}

static void guard(unsigned char *buffer, size_t bytes)
{
	memset(buffer - GUARD, 0xa5, GUARD);
	memset(buffer + bytes, 0x5a, GUARD);
}

static void guard_both(const struct buffers *buffers)
{
	if (!buffers->send_inside)
		guard(buffers->send, buffers->send_bytes);
	if (!buffers->recv_inside)
		guard(buffers->recv, buffers->recv_bytes);
}

static bool stands(const unsigned char *buffer, size_t bytes)
{
	for (int i = 0; i < GUARD; i++)
		if (buffer[i - GUARD] != 0xa5 || buffer[bytes + (size_t)i] != 0x5a)
			return false;
	return true;
}

static bool both_stand(const struct buffers *buffers)
{
	return (buffers->send_inside || stands(buffers->send, buffers->send_bytes)) &&
	       (buffers->recv_inside || stands(buffers->recv, buffers->recv_bytes));
}

static void put_both(const struct buffers *buffers)
{
	if (!buffers->send_inside)
		place_put(buffers->send - GUARD, buffers->send_bytes + 2 * GUARD);
	if (!buffers->recv_inside)
		place_put(buffers->recv - GUARD, buffers->recv_bytes + 2 * GUARD);
}

static void get_both(const struct buffers *buffers)
{
	if (!buffers->send_inside)
		place_get(buffers->send - GUARD, buffers->send_bytes + 2 * GUARD);
	if (!buffers->recv_inside)
		place_get(buffers->recv - GUARD, buffers->recv_bytes + 2 * GUARD);
}

static int wrong(const struct harness_rank *self, const struct trial *trial, const char *what,
		 size_t where)
{
	char text[CALL_TEXT];
	return harness_fail(self, "%s, %s, shifted by %zu: %s at element %zu",
			    call_text(&trial->call, text),
			    trial->in_place ? "in place" : "out of place", trial->shift, what,
			    where);
}

static int check_result(const struct harness_rank *self, const struct trial *trial,
			const unsigned char *recv)
{
	size_t element = element_bytes(trial->call.type);
	size_t elements = call_recv_bytes(&trial->call, self->size) / element;
	for (size_t i = 0; i < elements; i++) {
		unsigned char want[ELEMENT_BYTES_MAX];
		element_put(trial->call.type, want, expected(trial, self, i));
		if (memcmp(want, recv + i * element, element) != 0)
			return wrong(self, trial, "wrong result", i);
	}
	return 0;
}

/* Who gets no result keeps what was in recv. */
static int check_untouched(const struct harness_rank *self, const struct trial *trial,
			   const unsigned char *recv)
{
	size_t bytes = call_recv_bytes(&trial->call, self->size);
	for (size_t i = 0; !trial->in_place && i < bytes; i++)
		if (recv[i] != CANARY)
			return wrong(self, trial, "recv was changed: byte", i);
	return 0;
}

/* Where no result overwrites it the input is as it was; of a larger send, the others' parts. */
static int check_send(const struct harness_rank *self, const struct trial *trial,
		      const unsigned char *send)
{
	const struct call *call = &trial->call;
	bool has_parts = !call_has_one_result(call);
	size_t element = element_bytes(call->type);
	size_t elements = call_send_bytes(call, self->size) / element;
	if (trial->in_place && !has_parts && call_writes_recv(call, self->rank))
		return 0;
	for (size_t i = 0; i < elements; i++) {
		unsigned char was[ELEMENT_BYTES_MAX];
		bool own = trial->in_place && has_parts && i / call->count == (size_t)self->rank;
		element_put(call->type, was, input(trial, self->rank, i));
		if (!own && memcmp(was, send + i * element, element) != 0)
			return wrong(self, trial, "send was changed", i);
	}
	return 0;
}

/* Where a buffer is not used, any pointer will do, NULL among them. */
static int run_trial(struct harness_rank *self, struct ring_comm *comm, const struct trial *trial,
		     const struct memory *memory)
{
	const struct call *call = &trial->call;
	bool reads = call_reads_send(call, self->rank);
	bool writes = call_writes_recv(call, self->rank), nulls = trial->salt % 2;
	struct buffers buffers = place(trial, self, memory);
	place_mix(self->rank, trial->salt);
	guard_both(&buffers);
	if (!trial->in_place)
		memset(buffers.recv, CANARY, buffers.recv_bytes);
	fill(trial, self->rank, buffers.send, buffers.send_bytes);
	put_both(&buffers);

	if (call_make(comm, call, nulls && !reads ? NULL : place_of(buffers.send),
		      nulls && !writes ? NULL : place_of(buffers.recv), NULL))
		return wrong(self, trial, ring_comm_error(comm), 0);
	get_both(&buffers);
	if (!both_stand(&buffers))
		return wrong(self, trial, "wrote beside a buffer", 0);
	if (writes ? check_result(self, trial, buffers.recv)
		   : check_untouched(self, trial, buffers.recv))
		return 1;
	return reads ? check_send(self, trial, buffers.send) : 0;
}

/* Around nothing, the ranks, a block, a chunk, a round, and enough for every channel. */
static int choose_counts(const struct settings *settings, enum call_kind kind, size_t element,
			 size_t n, size_t *counts)
{
	size_t chunk = settings->chunk_bytes ? settings->chunk_bytes : 64 << 10;
	size_t unit = chunk / element + (chunk < element);
	size_t round = (size_t)(settings->chunks_per_round ? settings->chunks_per_round : 2);
	size_t channels = (size_t)(settings->channels ? settings->channels : 1);
	size_t all = (65536 * channels / element + 3);
	if (kind == ALL_REDUCE) {
		unit *= n;
		all *= n;
	}
	const size_t wanted[COUNTS] = {0,
				       1,
				       2,
				       n - 1,
				       n,
				       n + 1,
				       2 * n + 1,
				       unit - 1,
				       unit,
				       unit + 1,
				       unit * round,
				       unit * round + 1,
				       3 * unit * round - 1,
				       1009,
				       channels > 1 ? all : 17};
	const struct call one = {.kind = kind, .count = 1, .type = RING_INT8};
	size_t sends = call_send_bytes(&one, (int)n), receives = call_recv_bytes(&one, (int)n);
	size_t parts = sends > receives ? sends : receives;
	int have = 0;
	for (int i = 0; i < COUNTS; i++)
		if (wanted[i] * parts <= ELEMENTS_MAX && wanted[i] * parts * element <= LARGEST)
			counts[have++] = wanted[i];
	return have;
}

static bool is_chosen(const struct plan *plan, unsigned number)
{
	uint64_t state = number;
	return harness_random(&state) % plan->stride == plan->phase % plan->stride;
}

/* All cases of one kind and type, or the plan's share of them. */
static int run_cases(struct harness_rank *self, struct ring_comm *comm, enum call_kind kind,
		     enum ring_datatype type, const struct memory *memory, unsigned *number)
{
	static const size_t shifts[] = {0, 0, 4, 1, 2, 8, 3, 13};
	const struct plan *plan = self->context;
	bool reduces = call_kind_reduces(kind);
	size_t counts[COUNTS];
	int count_count = choose_counts(&plan->settings, kind, element_bytes(type),
					(size_t)self->size, counts);
	int variants = count_count * (reduces ? ELEMENT_OPS : 1) * 2;
	for (int v = 0; v < variants; v++) {
		unsigned id = (*number)++;
		enum ring_op op = reduces ? (enum ring_op)(v / 2 / count_count) : RING_SUM;
		if (!is_chosen(plan, id) || !element_has_op(type, op))
			continue;
		struct trial trial = {
			.call = {.kind = kind,
				 .count = counts[v / 2 % count_count],
				 .type = type,
				 .op = op,
				 .root = (int)(id % (unsigned)self->size)},
			.in_place = v % 2 && kind != ALL_TO_ALL,
			.shift = shifts[id / 2 % 8],
			.salt = (int)id,
		};
		for (int repeat = 0; repeat < 2; repeat++, trial.salt += 3)
			if (run_trial(self, comm, &trial, memory))
				return 1;
	}
	return 0;
}

static int run_all(struct harness_rank *self, struct ring_comm *comm, const struct memory *memory)
{
	unsigned number = 0;
	for (int kind = 0; kind < BARRIER; kind++)
		for (int t = 0; t < ELEMENT_TYPES; t++) {
			if (run_cases(self, comm, (enum call_kind)kind, (enum ring_datatype)t,
				      memory, &number))
				return 1;
			if (ring_barrier(comm, NULL))
				return harness_fail(self, "barrier: %s", ring_comm_error(comm));
		}
	struct ring_stats stats = {.size = sizeof(stats)};
	if (ring_comm_stats(comm, &stats))
		return harness_fail(self, "no statistics");
	if (self->rank == 0)
		*(uint64_t *)self->shared = stats.calls;
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.algorithm = plan->algorithm;
	options.chunk_bytes = plan->settings.chunk_bytes;
	options.depth = plan->settings.depth;
	options.chunks_per_round = plan->settings.chunks_per_round;
	options.channels = plan->settings.channels;
	if (harness_join(self, &options, &comm))
		return 1;
	size_t room = LARGEST + 2 * GUARD + 64;
	unsigned char *send = aligned_alloc(64, room), *recv = aligned_alloc(64, room);
	int bad = 1;
	if (send && recv) {
		place_make(send, room);
		place_make(recv, room);
		bad = run_all(self, comm, &(struct memory){send + GUARD, recv + GUARD});
		place_drop(send);
		place_drop(recv);
	}
	free(send);
	free(recv);
	ring_comm_destroy(comm);
	return bad;
}

/* returns the calls of rank 0, or 0 if a rank was not content */
static uint64_t run_team(const struct harness_world *world, int size, const struct plan *plan)
{
	struct harness team = {.world = world,
			       .size = size,
			       .body = be_rank,
			       .context = (void *)plan,
			       .shared_bytes = sizeof(uint64_t),
			       .seconds = plan->seconds};
	snprintf(team.label, sizeof(team.label),
		 "%s, chunk %zu, depth %d, round %d, channels %d, every %u-th case from %u",
		 plan->algorithm ? plan->algorithm : "chosen", plan->settings.chunk_bytes,
		 plan->settings.depth, plan->settings.chunks_per_round, plan->settings.channels,
		 plan->stride, plan->phase);
	int bad = harness_start(&team) || harness_wait(&team);
	uint64_t calls = bad ? 0 : *(uint64_t *)team.shared;
	harness_end(&team);
	return calls;
}

int main(int argc, char **argv)
{
	static const int sizes[] = {1, 2, 3, 5, 8};
	bool is_long = harness_is_long(argc, argv);
	bool is_emulated = getenv("RING_TEST_WIRE") && harness_is_quick();
	double begin = harness_clock();
	uint64_t calls = 0;
	unsigned teams = 0;
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		for (int s = 0; harness_is_wanted(&harness_worlds[w]) && s < 5; s++) {
			int few = is_long ? SETTINGS : place_is_far() ? 1 : 2;
			for (int k = 0; k < few; k++, teams++) {
				int chosen = is_long ? k : (int)(teams % (unsigned)SETTINGS);
				const char *algorithm = algorithms[(w + s + k) % ALGORITHMS];
				struct plan plan = {.settings = all_settings[chosen],
						    .algorithm = algorithm,
						    .stride = is_long                         ? 23
							      : place_is_far() || is_emulated ? 1300
											      : 331,
						    .seconds = is_long ? 600 : 60,
						    .phase = teams};
				uint64_t made = run_team(&harness_worlds[w], sizes[s], &plan);
				if (!made)
					return 1;
				calls += made;
			}
		}
	}
	printf("%llu calls of %u teams, 1 to 8 ranks, over %s and mixed%s: all right"
	       " (%.1f s)\n",
	       (unsigned long long)calls, teams,
	       getenv("RING_TEST_WIRE") ? getenv("RING_TEST_WIRE") : "loopback, shm, tcp",
	       place_is_far() ? ", in far memory" : "", harness_clock() - begin);
	return 0;
}
