/* SPDX-License-Identifier: MIT */
/*
 * Memory of the program's own on devices that it registers: calls reach for it where it lies, also
 * for parts of an allocation, and calls of all communicators of the process; once it is deregistered
 * it can be freed. What has no name for other processes, and what is no device's memory, is served
 * otherwise or refused, by a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/twin.h"
#include "tests/harness.h"

#include "driver.h"
#include "said.h"

#define RANKS 3
#define COUNT 30001 /* elements */
#define BYTES (COUNT * sizeof(float))
#define NO_NAME "have no name by which other processes open them"
#define UNIT ((size_t)2 << 20)
#define A_WHILE_US 300000

/* A rank's communicator, perhaps one more of the same ranks, and an allocation with both buffers. */
struct place {
	struct harness_rank *self;
	struct ring_comm *comm, *other;
	char *all;
	float *in, *out;
	size_t count; /* of the last call */
	float host[COUNT];
};

/* Device by device, with both buffers anywhere in one allocation. */
static int begin(struct place *place, struct harness_rank *self,
		 int (*alloc)(void **memory, size_t bytes))
{
	struct CUctx_st *context;
	struct ring_options options;
	char device[32];
	void *all;
	place->self = self;
	CUDA_MUST(cuda.primary_retain(&context, self->rank));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(alloc(&all, 2 * BYTES + 4096));
	place->all = all;
	place->count = COUNT;
	place->in = (float *)(place->all + 4 * (1 + self->rank));
	place->out = (float *)(place->all + BYTES + 1024 + 4 * (5 - self->rank));
	harness_options(self, &options);
	snprintf(device, sizeof(device), "cuda:%d", self->rank);
	options.device = device;
	options.algorithm = "direct";
	return harness_join(self, &options, &place->comm);
}

static int say(struct place *place, struct ring_comm *comm)
{
	return harness_fail(place->self, "%s", ring_comm_error(comm));
}

/*
 * A sum that is right, and carried by that algorithm. Each has another count, as calls that were
 * made before ask only now and then where memory lies.
 */
static int sum_in(struct place *place, struct ring_comm *comm, const char *goes)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	const size_t count = --place->count, bytes = count * sizeof(float);
	for (size_t i = 0; i < count; i++)
		place->host[i] = (float)(i % 1000 + (size_t)place->self->rank);
	CUDA_MUST(cuda.memory_copy_now(place->in, place->host, bytes));
	if (ring_all_reduce(comm, place->in, place->out, count, RING_FLOAT32, RING_SUM, NULL))
		return say(place, comm);
	CUDA_MUST(cuda.memory_copy_now(place->host, place->out, bytes));
	for (size_t i = 0; i < count; i++)
		if (place->host[i] != (float)(i % 1000 * RANKS + RANKS * (RANKS - 1) / 2))
			return harness_fail(place->self, "element %zu is %g", i, place->host[i]);
	ring_comm_stats(comm, &stats);
	if (strcmp(stats.last.algorithm, goes) != 0)
		return harness_fail(place->self, "went by %s, not %s", stats.last.algorithm, goes);
	return 0;
}

static int sum(struct place *place, const char *goes)
{
	return sum_in(place, place->comm, goes);
}

static int enroll(struct place *place, void *memory, size_t bytes, struct ring_region **region)
{
	return ring_mem_register(place->comm, memory, bytes, region) ? say(place, place->comm) : 0;
}

static int strike(struct place *place, struct ring_region *region)
{
	return ring_mem_deregister(place->comm, region) ? say(place, place->comm) : 0;
}

/* In the first call all have deregistered, and before the second they let go. */
static int settle_in(struct place *place, struct ring_comm *comm)
{
	for (int call = 0; call < 2; call++)
		if (ring_barrier(comm, NULL))
			return say(place, comm);
	return 0;
}

static int settle(struct place *place)
{
	return settle_in(place, place->comm);
}

static void leave(struct ring_comm **comm)
{
	ring_comm_destroy(*comm);
	*comm = NULL;
}

/* Two regions that are parts of one allocation; it can be freed once both are gone. */
static int parts(struct place *place)
{
	struct ring_region *in, *out;
	int bad = sum(place, "ring") || enroll(place, place->in, BYTES, &in) ||
		  sum(place, "ring") || enroll(place, place->out, BYTES, &out);
	for (int turn = 0; turn < 3 && !bad; turn++)
		bad = sum(place, "direct");
	bad = bad || strike(place, out) || sum(place, "ring") || strike(place, in) || settle(place);
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* All of it; other memory comes to lie there, of which the registration knew nothing. */
static int whole(struct place *place)
{
	struct ring_region *region;
	int bad = 0;
	for (int turn = 0; turn < 4 && !bad; turn++) {
		void *all;
		bad = enroll(place, place->all, 2 * BYTES + 4096, &region) ||
		      sum(place, "direct") || strike(place, region) || settle(place);
		CUDA_MUST(cuda.memory_free(place->all));
		CUDA_MUST(cuda.memory_alloc(&all, 2 * BYTES + 4096));
		place->in = (float *)((char *)all + ((char *)place->in - place->all));
		place->out = (float *)((char *)all + ((char *)place->out - place->all));
		place->all = all;
		bad = bad || sum(place, "ring");
	}
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* It stays registered until the communicator goes. */
static int kept(struct place *place)
{
	struct ring_region *region;
	int bad = enroll(place, place->all, 2 * BYTES + 4096, &region) || sum(place, "direct");
	leave(&place->comm);
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* ---- several communicators -------------------------------------------------------------------- */

/* All of it is registered once, by the first, and both reach it. */
static int reach_in_both(struct place *place, struct ring_region **region)
{
	if (ring_comm_split(place->comm, 0, place->self->rank, &place->other))
		return say(place, place->comm);
	int bad = enroll(place, place->all, 2 * BYTES + 4096, region);
	for (int turn = 0; turn < 3 && !bad; turn++)
		bad = sum(place, "direct") || sum_in(place, place->other, "direct");
	return bad;
}

/* Both live on. It can be freed once peers have let go in both. */
static int struck(struct place *place)
{
	struct ring_region *region;
	int bad = reach_in_both(place, &region) || strike(place, region) ||
		  sum_in(place, place->other, "ring") || sum(place, "ring") ||
		  settle_in(place, place->other) || settle(place);
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* The other one goes first, and the registration stays. */
static int outlives(struct place *place)
{
	struct ring_region *region;
	int bad = reach_in_both(place, &region);
	leave(&place->other);
	bad = bad || sum(place, "direct") || strike(place, region) || sum(place, "ring") ||
	      settle(place);
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* The one that registered it goes first, and the registration with it. */
static int orphaned(struct place *place)
{
	struct ring_region *region;
	int bad = reach_in_both(place, &region);
	leave(&place->comm);
	bad = bad || sum_in(place, place->other, "ring") || settle_in(place, place->other);
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

#define KEPT "device 1 must not be freed"

/* A stream of the other one's that waits keeps rank 0 from closing what it has open. */
static int lingers(struct place *place)
{
	struct CUstream_st *handle;
	struct ring_stream *stream = NULL;
	struct ring_region *region;
	const bool first = place->self->rank == 0;
	CUDA_MUST(cuda.stream_create(&handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	int bad = enroll(place, place->all, 2 * BYTES + 4096, &region);
	for (int call = 0; call < 4 && !bad; call++) /* behind them nothing is to be closed */
		bad = sum(place, "direct");
	if (ring_comm_split(place->comm, 0, place->self->rank, &place->other) ||
	    ring_stream_from_cuda(place->other, handle, &stream))
		return say(place, place->comm);
	if (first)
		bad |= ring_barrier(place->other, stream);
	else
		usleep(A_WHILE_US); /* rank 0 is gone before the others stop waiting */
	leave(&place->comm);
	harness_barrier(place->self);
	if (!first)
		bad |= ring_barrier(place->other, stream);
	bad |= ring_stream_wait(stream, ring_stream_position(stream));
	ring_stream_destroy(stream);
	leave(&place->other);
	harness_barrier(place->self); /* now it is closed */
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* ---- what has no name ------------------------------------------------------------------------- */

static int unnamed(struct place *place)
{
	struct ring_region *region;
	return enroll(place, place->all, 2 * BYTES + 4096, &region) || sum(place, "ring") ||
	       strike(place, region);
}

static int pooled(struct place *place)
{
	int bad = unnamed(place);
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* It lies in two units of addresses. */
static void unmap(void *all)
{
	void *start = (char *)all - (uintptr_t)all % UNIT;
	CUDA_MUST(cuda.addresses_unmap(start, 2 * UNIT));
	CUDA_MUST(cuda.addresses_free(start, 2 * UNIT));
}

static int mapped(struct place *place)
{
	struct ring_region *region;
	int bad = 0;
	for (int turn = 0; turn < 2; turn++)
		bad = bad || enroll(place, place->all, 2 * BYTES + 4096, &region) ||
		      sum(place, "direct") || strike(place, region) || settle(place);
	unmap(place->all);
	return bad;
}

static int mapped_unnamed(struct place *place)
{
	int bad = unnamed(place);
	unmap(place->all);
	return bad;
}

static int refused(struct place *place, void *memory, size_t bytes, const char *what)
{
	struct ring_region *region;
	int err = ring_mem_register(place->comm, memory, bytes, &region);
	const char *said = ring_comm_error(place->comm);
	if (err == RING_EINVAL && strstr(said, what))
		return 0;
	return harness_fail(place->self, "returns %d, \"%s\", for \"%s\"", err, said, what);
}

static int others(struct place *place)
{
	void *managed;
	CUDA_MUST(cuda.memory_alloc_managed(&managed, BYTES, 1));
	int bad = refused(place, place->all, 1 << 28, "memory begins in memory of cuda device") ||
		  refused(place, managed, BYTES, "memory is managed memory");
	CUDA_MUST(cuda.memory_free(managed));
	CUDA_MUST(cuda.memory_free(place->all));
	return bad;
}

/* ---- cases ------------------------------------------------------------------------------------ */

static int from_pool(void **memory, size_t bytes)
{
	return cuda.memory_alloc_pooled(memory, bytes, NULL);
}

static int from_driver(void **memory, size_t bytes)
{
	return cuda.memory_alloc(memory, bytes);
}

/* So many pieces of physical memory; the first unit ends between the two buffers. */
static int map(void **memory, int pieces, int handles)
{
	struct ring_cuda_physical what = {.kind = RING_CUDA_PHYSICAL_PINNED, .handles = handles};
	struct ring_cuda_access access = {.flags = RING_CUDA_READ_AND_WRITE};
	const size_t bytes = 2 * UNIT / (size_t)pieces;
	uint64_t physical;
	void *start;
	what.site.kind = RING_CUDA_SITE_DEVICE;
	CUDA_MUST(cuda.context_device(&what.site.id));
	access.site = what.site;
	CUDA_MUST(cuda.addresses_reserve(&start, 2 * UNIT, 0, NULL, 0));
	for (int i = 0; i < pieces; i++) {
		CUDA_MUST(cuda.physical_create(&physical, bytes, &what, 0));
		CUDA_MUST(cuda.addresses_map((char *)start + (size_t)i * bytes, bytes, 0, physical,
					     0));
		CUDA_MUST(cuda.physical_release(physical));
	}
	*memory = (char *)start + UNIT - BYTES - 512;
	return cuda.addresses_open(start, 2 * UNIT, &access, 1);
}

static int from_mapping(void **memory, size_t bytes)
{
	(void)bytes;
	return map(memory, 1, RING_CUDA_HANDLE_FD);
}

static int from_closed_mapping(void **memory, size_t bytes)
{
	(void)bytes;
	return map(memory, 1, 0);
}

static int from_mappings(void **memory, size_t bytes)
{
	(void)bytes;
	return map(memory, 2, RING_CUDA_HANDLE_FD);
}

static const struct a_case {
	const char *name;
	int (*alloc)(void **memory, size_t bytes);
	int (*body)(struct place *place);
	int tellers;       /* ranks that say that memory has no name ... */
	const char *words; /* ... or this, of which processes alone have reason to; NULL */
} cases[] = {
	{"parts of an allocation", from_driver, parts, .tellers = 0},
	{"all of it, again and again", from_driver, whole, .tellers = 0},
	{"never deregistered", from_driver, kept, .tellers = 0},
	{"two communicators", from_driver, struck, .tellers = 0},
	{"two communicators, the other goes first", from_driver, outlives, .tellers = 0},
	{"two communicators, the first goes first", from_driver, orphaned, .tellers = 0},
	{"two communicators, one closes late", from_driver, lingers, 1, KEPT},
	{"memory of pools", from_pool, pooled, .tellers = RANKS},
	{"mapped memory", from_mapping, mapped, .tellers = 0},
	{"mapped memory without descriptors", from_closed_mapping, mapped_unnamed, .tellers = RANKS},
	{"memory of two mappings", from_mappings, mapped_unnamed, .tellers = RANKS},
	{"what cannot be registered", from_driver, others, .tellers = 0},
};

static int run(struct harness_rank *self)
{
	const struct a_case *a_case = self->context;
	struct place *place = calloc(1, sizeof(*place));
	int bad = !place || begin(place, self, a_case->alloc) || a_case->body(place);
	if (place) {
		ring_comm_destroy(place->other);
		ring_comm_destroy(place->comm);
	}
	free(place);
	return bad;
}

static int run_case(struct harness *team, const struct a_case *a_case)
{
	if (!a_case->words)
		return said_run(team, NO_NAME, a_case->tellers);
	return said_run(team, a_case->words, team->world->threads ? 0 : a_case->tellers);
}

int main(void)
{
	const int n = (int)(sizeof(cases) / sizeof(cases[0]));
	int bad = 0;
	setenv("RING_FAKE_CUDA_DEVICES", "3", 1);
	setenv("RING_FAKE_CUDA_LEFT", "1", 1);
	printf("1..%d\n", n * 2);
	for (int c = 0; c < n; c++)
		for (int w = 0; w < 2; w++) { /* threads, and processes */
			struct harness team = {.world = &harness_worlds[w],
					       .size = RANKS,
					       .body = run,
					       .context = (void *)&cases[c]};
			snprintf(team.label, sizeof(team.label), "%s, %s", cases[c].name,
				 team.world->name);
			bad |= harness_report(team.label, run_case(&team, &cases[c]));
		}
	return bad != 0;
}
