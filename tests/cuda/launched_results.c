/* SPDX-License-Identifier: MIT */
/* They have the bits of the host's calls, and take turns with those. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/twin.h"
#include "tests/multi/elements.h"

#include "launched.h"

static uint64_t messages(const struct bench *bench)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	ring_comm_stats(bench->comm, &stats);
	return stats.sent_messages;
}

/* ---- the bits of the host's calls ------------------------------------------------------------ */

/* Values of a type whose sums and products of three are exact. */
static const struct sort {
	enum ring_datatype type;
	size_t bytes;
	uint64_t values[4];
} sorts[] = {
	{RING_INT8, 1, {0x7f, 0x80, 0xff, 3}},
	{RING_UINT8, 1, {0x7f, 0x80, 0xff, 3}},
	{RING_INT32, 4, {0x7fffffff, 0x80000000, 0xffffffff, 5}},
	{RING_UINT32, 4, {0x7fffffff, 0x80000000, 0xffffffff, 5}},
	{RING_INT64, 8, {UINT64_MAX >> 1, UINT64_C(1) << 63, UINT64_MAX, 7}},
	{RING_UINT64, 8, {UINT64_MAX >> 1, UINT64_C(1) << 63, UINT64_MAX, 7}},
	{RING_FLOAT16, 2, {0x3c00, 0x4000, 0xc200, 0x7c00}},
	{RING_BFLOAT16, 2, {0x3f80, 0x4000, 0xc040, 0x7f80}},
	{RING_FLOAT32, 4, {0x3f800000, 0x40000000, 0xc0400000, 0x7f800000}},
	{RING_FLOAT64, 8, {UINT64_C(0x3ff) << 52, UINT64_C(1) << 62, UINT64_C(0xc008) << 48, 0}},
	{RING_FLOAT8_E4M3, 1, {0x38, 0x40, 0xb8, 0}},
	{RING_FLOAT8_E5M2, 1, {0x3c, 0x40, 0xbc, 0}},
};

#define SORTS ((int)(sizeof(sorts) / sizeof(*sorts)))

struct wish {
	const struct sort *sort;
	enum ring_op op;
	int kind; /* all_reduce, reduce_scatter, all_gather, broadcast, reduce */
	size_t count;
	bool in_place;
};

static int make_call(struct bench *bench, const struct wish *wish, char *recv,
		     struct ring_stream *stream)
{
	const enum ring_datatype type = wish->sort->type;
	const char *send = wish->in_place ? recv : bench->send;
	if (wish->kind == 0)
		return ring_all_reduce(bench->comm, send, recv, wish->count, type, wish->op, stream);
	if (wish->kind == 1)
		return ring_reduce_scatter(bench->comm, bench->send, recv, wish->count, type,
					   wish->op, stream);
	if (wish->kind == 2)
		return ring_all_gather(bench->comm, bench->send, recv, wish->count, type, stream);
	const int root = (int)wish->count % bench->self->size;
	if (wish->kind == 3)
		return ring_broadcast(bench->comm, send, recv, wish->count, type, root, stream);
	return ring_reduce(bench->comm, send, recv, wish->count, type, wish->op, root, stream);
}

static void fill(struct bench *bench, const struct wish *wish)
{
	uint64_t random = 1000 * (uint64_t)bench->self->rank + wish->count;
	const size_t bytes = wish->sort->bytes;
	for (size_t i = 0; i < ROOM / bytes; i++)
		memcpy((char *)bench->near + i * bytes,
		       &wish->sort->values[harness_random(&random) % 4], bytes);
	bench_copy(bench, bench->send, bench->near, ROOM);
	bench_copy(bench, bench->recv, bench->near, ROOM);
	bench_copy(bench, bench->other, bench->near, ROOM);
}

static int try(struct bench *bench, const struct wish *wish)
{
	fill(bench, wish);
	uint64_t before = messages(bench);
	if (make_call(bench, wish, bench->recv, bench->streams[0]) || await(bench, 0))
		return bench_say(bench, "by kernels");
	if (messages(bench) != before)
		return harness_fail(bench->self, "the host carried out what kernels should");
	if (make_call(bench, wish, bench->other, NULL))
		return bench_say(bench, "by the host");
	bench_copy(bench, bench->near, bench->recv, ROOM);
	bench_copy(bench, bench->near_other, bench->other, ROOM);
	if (memcmp(bench->near, bench->near_other, ROOM) == 0)
		return 0;
	return harness_fail(bench->self, "kind %d, type %d, op %d, count %zu: other bits",
			    wish->kind, wish->sort->type, wish->op, wish->count);
}

static int bits_of(struct bench *bench, int step)
{
	static const enum ring_op ops[] = {RING_SUM, RING_PROD, RING_MAX, RING_MIN, RING_AVG};
	int bad = 0;
	for (int s = 0; s < SORTS && !bad; s += step) {
		const struct sort *sort = &sorts[s];
		const size_t counts[] = {1, 7, 301, MOST / sort->bytes};
		for (int i = 0; i < 5 && !bad; i++) {
			struct wish wish = {.sort = sort, .op = ops[i], .in_place = i % 2};
			for (wish.kind = 0; wish.kind < 3 && !bad; wish.kind++) {
				wish.count = counts[(s + i + wish.kind) % 4];
				bad = try(bench, &wish);
			}
		}
	}
	return bad;
}

/* The kinds that go in one shot, where all are larger; the others at any size. Each sort by some. */
static int bits_around(struct bench *bench)
{
	static const enum ring_op ops[] = {RING_SUM, RING_PROD, RING_MAX, RING_MIN, RING_AVG};
	const int some = harness_is_quick() ? 1 : 2;
	int bad = 0;
	for (int s = 0; s < SORTS && !bad; s++) {
		const struct sort *sort = &sorts[s];
		const size_t large[] = {MOST / sort->bytes + 1, MOST / sort->bytes + 301,
					100003 / sort->bytes, 2 * MOST / sort->bytes - 1};
		const size_t any[] = {1, 7, 5003, 100003 / sort->bytes};
		for (int k = 0; k < some && !bad; k++) {
			const int kind = (s + k) % 5, turn = s + 3 * k + bench->self->size;
			const struct wish wish = {.sort = sort,
						  .op = ops[turn % 5],
						  .kind = kind,
						  .count = (kind < 3 && !IS_WIRED ? large
										  : any)[turn % 4],
						  .in_place = turn % 2};
			bad = try(bench, &wish);
		}
	}
	return bad;
}

static int bits(struct bench *bench)
{
	return bits_of(bench, IS_WIRED ? 5 : 1);
}

#if !IS_WIRED
/* And one around the ring. */
static int few_bits(struct bench *bench)
{
	const struct wish large = {.sort = &sorts[2], .op = RING_SUM, .count = LARGE};
	return bits_of(bench, 5) || try(bench, &large);
}
#endif

/* What all ranks have in an element of a vector of `large_rounds`, behind so many sums of it. */
static float large_sum(size_t index, int size, int sums)
{
	float sum = (float)(index % 999) - 300;
	for (int i = 0; i < sums; i++)
		sum *= (float)size;
	return sum;
}

/* Chunks of the size that programs have, and many rounds of them: slots come round again and again. */
static int large_rounds(struct bench *bench)
{
	const size_t count = bench->check->count, bytes = count * sizeof(float);
	struct ring_stream *stream = bench->streams[0];
	float *far = twin_make(bytes), *near = malloc(bytes);
	const uint64_t before = messages(bench);
	for (size_t i = 0; i < count; i++)
		near[i] = large_sum(i, 1, 0);
	twin_write(far, near, bytes);
	int err = 0;
	for (int call = 0; call < 2 && !err; call++)
		err = ring_all_reduce(bench->comm, far, far, count, RING_FLOAT32, RING_SUM, stream);
	int bad = err || await(bench, 0) ? bench_say(bench, "a call") : 0;
	if (!bad && messages(bench) != before)
		bad = harness_fail(bench->self, "the host carried out what kernels should");
	twin_read(near, far, bytes);
	for (size_t i = 0; i < count && !bad; i++)
		if (near[i] != large_sum(i, bench->self->size, 2))
			bad = harness_fail(bench->self, "element %zu is %g", i, (double)near[i]);
	free(near);
	twin_end(far);
	return bad;
}

/* ---- the order of ranks ------------------------------------------------------------------------ */

/* Some element of a rank's input: near one, so that the order of additions shows. */
static void put_some(enum ring_datatype type, int rank, size_t index, void *element)
{
	uint64_t random = 77 * (uint64_t)rank + index;
	element_put_random(type, element, harness_random(&random), false);
}

/* What all ranks' elements are, added by ranks. */
static void add_some(const struct wish *wish, size_t index, void *sum)
{
	unsigned char inputs[RANKS][ELEMENT_BYTES_MAX];
	const void *sources[RANKS];
	for (int rank = 0; rank < RANKS; rank++) {
		put_some(wish->sort->type, rank, index, inputs[rank]);
		sources[rank] = inputs[rank];
	}
	element_reduce_all(wish->sort->type, wish->op, sources, RANKS,
			   wish->op == RING_AVG ? RANKS : 1, sum);
}

static int try_in_order(struct bench *bench, const struct wish *wish)
{
	const size_t bytes = wish->sort->bytes, parts = wish->kind == 1 ? RANKS : 1;
	const size_t begin = wish->kind == 1 ? wish->count * (size_t)bench->self->rank : 0;
	for (size_t i = 0; i < parts * wish->count; i++)
		put_some(wish->sort->type, bench->self->rank, i, (char *)bench->near + i * bytes);
	bench_copy(bench, bench->send, bench->near, ROOM);
	bench_copy(bench, bench->recv, bench->near, ROOM);
	uint64_t before = messages(bench);
	if (make_call(bench, wish, bench->recv, bench->streams[0]) || await(bench, 0))
		return bench_say(bench, "in order");
	bool by_host = messages(bench) != before;
	bool is_small = wish->count * bytes <= MOST && !IS_WIRED;
	if (by_host != (wish->sort->type >= RING_FLOAT16 && !is_small))
		return harness_fail(bench->self, "%zu elements: who carried them out?", wish->count);
	bench_copy(bench, bench->near, bench->recv, ROOM);
	for (size_t i = 0; i < wish->count; i++) {
		unsigned char sum[ELEMENT_BYTES_MAX];
		add_some(wish, begin + i, sum);
		if (memcmp(sum, (char *)bench->near + i * bytes, bytes) != 0)
			return harness_fail(bench->self,
					    "kind %d, type %d, op %d, element %zu of %zu: "
					    "not the sum by ranks",
					    wish->kind, wish->sort->type, wish->op, i, wish->count);
	}
	return 0;
}

/* On streams: by kernels, and by the host where floats would go around the ring. */
static int in_order(struct bench *bench)
{
	static const enum ring_op ops[] = {RING_SUM, RING_AVG, RING_PROD};
	int bad = 0;
	for (int s = 0; s < SORTS && !bad; s++) {
		const struct sort *sort = &sorts[s];
		const size_t counts[] = {1, RANKS, 1001, MOST / sort->bytes, MOST / sort->bytes + 5};
		for (int i = 0; i < 5 && !bad; i++) {
			struct wish wish = {.sort = sort,
					    .op = ops[(s + i) % 3],
					    .count = counts[i],
					    .in_place = i % 2};
			for (wish.kind = 0; wish.kind < 2 && !bad; wish.kind++)
				if (wish.kind == 0 || wish.count * RANKS * sort->bytes <= ROOM)
					bad = try_in_order(bench, &wish);
		}
	}
	return bad;
}

/* ---- turns ------------------------------------------------------------------------------------ */

/* In one shot, around the ring, and by the host, as kernels multiply nothing first. */
static int take_turns(struct bench *bench, enum ring_op op)
{
	char *send = bench->send, *recv = bench->recv, *other = bench->other;
	struct ring_stream **streams = bench->streams;
	int err = add(bench, send, recv, 9000, streams[0]);
	if (!err)
		err = add(bench, recv, other, 9000, streams[1]);
	if (!err)
		err = add(bench, send, recv, LARGE, streams[0]);
	if (!err)
		err = ring_all_reduce(bench->comm, recv, send, LARGE, RING_INT32, op, streams[1]);
	if (!err)
		err = add(bench, send, recv, LARGE, streams[0]);
	if (!err)
		err = add(bench, recv, send, 9000, streams[1]);
	if (err || await(bench, 0) || await(bench, 1))
		return bench_say(bench, "a call");
	return add(bench, send, send, 100, NULL) ? bench_say(bench, "a call that blocks") : 0;
}

static int check_turns(struct bench *bench, int round)
{
	const char *places[] = {bench->send, bench->recv, bench->other};
	const int elements[] = {LARGE, LARGE, 9000};
	const int32_t *all = bench->near;
	for (int place = 0; place < 3; place++) {
		bench_copy(bench, bench->near, places[place], LARGE * sizeof(*all));
		for (int i = 0; i < elements[place]; i++) {
			const int32_t sent = i < 100 ? 243 : i < 9000 ? 81 : 9;
			const int32_t times[] = {sent, 27, 9};
			if (all[i] != times[place] * (i + round))
				return harness_fail(bench->self, "element %d of place %d is %d", i,
						    place, all[i]);
		}
	}
	return 0;
}

/* Each takes what the one before gives; nothing of CUDA's says so where streams change. */
static int turns(struct bench *bench)
{
	int32_t *near = bench->near;
	const int32_t one = 1;
	enum ring_op op;
	if (ring_op_create_premul_sum(bench->comm, &one, RING_INT32, &op))
		return bench_say(bench, "an operation");
	int bad = 0;
	for (int round = 0; round < 4 && !bad; round++) {
		for (int i = 0; i < LARGE; i++)
			near[i] = i + round;
		bench_copy(bench, bench->send, near, LARGE * sizeof(*near));
		const uint64_t before = messages(bench);
		bad = take_turns(bench, op);
		if (!bad && messages(bench) == before)
			bad = harness_fail(bench->self, "the host carried nothing out");
		bad = bad || check_turns(bench, round);
	}
	return bad;
}

/* Many at once; the communicator goes while the last are under way. */
static int many(struct bench *bench)
{
	int32_t one[64];
	for (int i = 0; i < 64; i++)
		one[i] = 1;
	memcpy(bench->near, one, sizeof(one));
	bench_copy(bench, bench->send, bench->near, sizeof(one));
	for (int call = 0; call < (IS_WIRED ? 60 : 300); call++)
		if (add(bench, bench->send, bench->recv, 64, bench->streams[call % 2]))
			return bench_say(bench, "a call");
	for (int call = 0; call < 20; call++)
		if (add(bench, bench->send, bench->recv, LARGE, bench->streams[call % 2]))
			return bench_say(bench, "a large call");
	return 0;
}

/* The others' kernels wait for this rank meanwhile, which is not to wait for them. */
static int one_allocates(struct bench *bench)
{
	const double began = harness_clock();
	void *memory;
	harness_barrier(bench->self);
	if (bench->self->rank == 1) {
		usleep(50000);
		if (ring_mem_alloc(bench->comm, 1000, &memory))
			return bench_say(bench, "memory");
	}
	if (add(bench, bench->send, bench->recv, bench->check->count, bench->streams[0]) ||
	    await(bench, 0))
		return bench_say(bench, "a call");
	return harness_clock() - began < 1 * HARNESS_ROOM
		       ? 0
		       : harness_fail(bench->self, "it took %.1f s", harness_clock() - began);
}

/* The root leaves once its part is over, which it is not before all is sent. */
static int root_goes(struct bench *bench)
{
	int32_t *near = bench->near;
	for (int i = 0; i < LARGE; i++)
		near[i] = bench->self->rank == 0 ? i : 0;
	bench_copy(bench, bench->send, near, LARGE * sizeof(*near));
	if (ring_broadcast(bench->comm, bench->send, bench->recv, LARGE, RING_INT32, 0,
			   bench->streams[0]) ||
	    await(bench, 0))
		return bench_say(bench, "a broadcast");
	if (bench->self->rank == 0)
		return 0;
	bench_copy(bench, near, bench->recv, LARGE * sizeof(*near));
	for (int i = 0; i < LARGE; i++)
		if (near[i] != i)
			return harness_fail(bench->self, "element %d is %d", i, near[i]);
	return 0;
}

/* ---- one rank is without ---------------------------------------------------------------------- */

static int without(struct bench *bench)
{
	uint64_t before = messages(bench);
	int32_t *near = bench->near;
	for (int i = 0; i < 100; i++)
		near[i] = i;
	bench_copy(bench, bench->send, near, 400);
	if (add(bench, bench->send, bench->recv, 100, bench->streams[0]) || await(bench, 0))
		return bench_say(bench, "a call");
	bench_copy(bench, near, bench->recv, 400);
	for (int i = 0; i < 100; i++)
		if (near[i] != RANKS * i)
			return harness_fail(bench->self, "element %d is %d", i, near[i]);
	return messages(bench) > before ? 0 : harness_fail(bench->self, "who carried it out?");
}

/* No kernel may wait for as long as this rank takes. */
static int without_kernels(struct bench *bench)
{
	if (bench->self->rank == 1)
		usleep(3000 * atoi(bench->check->limit));
	return without(bench);
}

/* ---- all of them ------------------------------------------------------------------------------ */

#define LARGE_ROUNDS .count = 3000001, .algorithm = "ring", .whole_chunks = true

const struct check launched_results[] = {
	{"the bits of the host's calls", .run = bits},
	{"the bits around the ring, 2 ranks", .run = bits_around, .size = 2, .algorithm = "ring"},
	{"the bits around the ring, 3 ranks", .run = bits_around, .size = 3, .algorithm = "ring"},
	{"the bits around the ring, 4 ranks", .run = bits_around, .size = 4, .algorithm = "ring"},
	{"whole chunks, 2 ranks", .run = large_rounds, .size = 2, LARGE_ROUNDS},
	{"whole chunks, 3 ranks", .run = large_rounds, .size = 3, LARGE_ROUNDS},
#if IS_WIRED
	{"the bits around the ring, 4 ranks of 2 hosts", .run = bits_around, .size = 4,
	 .algorithm = "ring", .world = 3},
#endif
	{"the bits around the ring, 2 threads", .run = bits_around, .size = 2, .algorithm = "ring",
	 .threads = true},
	{"the bits around the ring, 3 threads", .run = bits_around, .algorithm = "ring",
	 .threads = true},
	{"the bits around the ring, 2 processes of 2 threads", .run = bits_around, .size = 4,
	 .algorithm = "ring", .threads = true, .together = 2},
	{"many calls of threads", .run = many, .size = 4, .threads = true, .races = true},
	{"the root of a broadcast goes", .run = root_goes, .size = 2, .link = "1MB/s,1ms"},
	{"in the order of ranks", .run = in_order, .order = "rank"},
	{"turns with calls of the host's", .run = turns},
	{"one thread allocates before its call", .run = one_allocates, .count = LARGE,
	 .threads = true, .races = true},
	{"turns of threads", .run = turns, .threads = true},
	{"many calls", .run = many},
	{"devices that end kernels", .run = without_kernels, .limit = "100"},
#if !IS_WIRED
	{"memory of the host cannot be pinned", .run = few_bits, .pins = "0"},
	{"devices are said to reach others", .run = few_bits, .peers = "2"},
	{"devices are said to read others' memory", .run = few_bits, .peers = "3"},
	{"devices are said to write others' memory", .run = few_bits, .peers = "4"},
	{"devices do not reach others", .run = few_bits, .peers = "0"},
	{"the bits of 4 threads", .run = few_bits, .size = 4, .threads = true},
	{"threads whose devices are said to reach others", .run = few_bits, .peers = "2",
	 .threads = true},
	{"threads whose devices are said to read others' memory", .run = few_bits, .peers = "3",
	 .threads = true},
	{"threads whose devices are said to write others' memory", .run = few_bits, .peers = "4",
	 .threads = true},
	{"threads whose devices do not reach others", .run = few_bits, .peers = "0", .threads = true},
	{"threads of which two devices do not reach one another", .run = few_bits, .size = 4,
	 .apart = "1-2", .threads = true},
	{"threads where nothing can be asked", .run = few_bits, .locks = "2", .threads = true},
	{"2 processes of 2 threads", .run = few_bits, .size = 4, .threads = true, .together = 2},
	{"2 processes of 2 threads whose devices do not reach others", .run = few_bits, .size = 4,
	 .peers = "0", .threads = true, .together = 2},
	{"one rank's memory has no descriptor", .run = few_bits, .fails_alone = true,
	 .fault = "cuMemExportToShareableHandle:2=999"},
	{"one rank's memory cannot be cleared", .run = few_bits, .fails_alone = true,
	 .fault = "cuMemsetD8Async:1=999"},
	{"one rank opens no other's memory", .run = few_bits, .fails_alone = true,
	 .fault = "cuMemImportFromShareableHandle:3=999"},
#endif
#if !IS_WIRED
	{"no more memory can be lent", .run = without, .lends = 260, .algorithm = "direct",
	 .says = "RING_CUDA_ENGINE=kernel has no effect"},
#endif
	{"one rank is without", .run = without, .engine = ""},
	{"one rank says that the host should", .run = without, .engine = "host"},
	{0},
};
