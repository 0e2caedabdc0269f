/* SPDX-License-Identifier: MIT */
/*
 * What crosses each device's port in a call is what the formula of its plan says, to the byte: where
 * devices reach one another, by direct plans and by kernels around the ring or in one shot, nothing
 * goes by the host; where they do not, all of it does. The fake driver counts (ports.h), in each
 * process what that moves.
 *
 * Kernels say besides that a message is there, that its slot is free again, and what the call is;
 * where they talk through memory of the host they look there for the next one, again and again.
 * Parts and shares are whole words of 16 bytes: of others' loads each counts twice, as no cache is
 * imagined.
 *
 *	ports_test [PATTERN]    only the rows whose names match
 */
#include <dlfcn.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/calls.h"

#include "driver.h"
#include "ports.h"

#define RANKS 8
#define ROOM ((size_t)4 << 20)
#define WHOLE ((size_t)16896) /* elements: all numbers of ranks cut whole words for all channels */
#define ODD ((size_t)30001)
#define SAID 1024 /* bytes that a rank's kernels say in a call, at most */

#define BIT(kind) (1u << (kind))
#define IN_PARTS (BIT(REDUCE_SCATTER) | BIT(ALL_GATHER) | BIT(ALL_TO_ALL))
#define OF_VECTORS (BIT(ALL_REDUCE) | BIT(BROADCAST) | BIT(REDUCE))
#define IN_ONE_SHOT (BIT(ALL_REDUCE) | BIT(REDUCE_SCATTER) | BIT(ALL_GATHER))

#define HOST 0u
#define KERNELS 1u
#define NVCC 2u
#define THREADS 4u

struct row {
	const char *name;
	enum call_algorithm way;
	int ranks, devices;
	const char *peers;
	unsigned by; /* KERNELS carry the calls out, else the host does; NVCC made what runs; ranks are THREADS */
	unsigned kinds; /* bits */
	size_t count;   /* elements */
};

static bool goes_by_host(const struct row *row)
{
	return row->peers[0] == '0' || (row->way == BY_RING && !(row->by & KERNELS));
}

struct seen {
	struct cuda_ports before[RANKS], after[RANKS];
};

struct work {
	struct harness_rank *self;
	const struct row *row;
	struct ring_comm *comm;
	struct CUstream_st *handle;
	struct ring_stream *stream;
	void *send, *recv;
	cuda_ports_read *read;
};

/* ---- what should cross ------------------------------------------------------------------------- */

/* All get a share of root's vector from root itself, and write it to all others. */
static uint64_t direct_broadcast(const struct call *call, int size, int from, int to)
{
	const uint64_t share = call_send_bytes(call, size) / (uint64_t)size;
	if (to == call->root)
		return 0;
	return from == call->root ? 2 * share : share;
}

/* All read their share of all vectors, and write its sum to root. */
static uint64_t direct_reduce(const struct call *call, int size, int to)
{
	const uint64_t share = call_send_bytes(call, size) / (uint64_t)size;
	return to == call->root ? 2 * share : share;
}

/* Each word of four bytes has a flag, and so has the record before them. */
static uint64_t lines(const struct call *call)
{
	const uint64_t words = (call->count * sizeof(float) + 15) / 16;
	return 2 * (sizeof(struct ring_record) + 16 * words);
}

/* From one position to another. What all hear from all is as much for each. */
static uint64_t pair_bytes(const struct call *call, const struct call_way *way, int from, int to)
{
	const uint64_t sent = call_sent_bytes(call, way, from);
	if (way->algorithm == BY_RING)
		return (from + 1) % way->size == to ? sent : 0;
	if (way->algorithm == BY_ONE_SHOT)
		return lines(call);
	if (call->kind == BROADCAST)
		return direct_broadcast(call, way->size, way->order[from], way->order[to]);
	if (call->kind == REDUCE)
		return direct_reduce(call, way->size, way->order[to]);
	return sent / (uint64_t)(way->size - 1);
}

/* Out of a device's port, or into it. What its ranks say to one another crosses none, unless the host hears it. */
static uint64_t wanted(const struct row *row, const struct call *call, const struct call_way *way,
		       int device, bool in)
{
	uint64_t bytes = 0;
	for (int here = 0; here < way->size; here++)
		for (int there = 0; there < way->size; there++) {
			const bool apart = way->order[there] % row->devices != device;
			if (there == here || way->order[here] % row->devices != device ||
			    (!apart && !goes_by_host(row)))
				continue;
			bytes += in ? pair_bytes(call, way, there, here)
				    : pair_bytes(call, way, here, there);
		}
	return bytes;
}

/* ---- what does --------------------------------------------------------------------------------- */

static uint64_t crossed(const struct seen *seen, int from, int to)
{
	uint64_t bytes = 0;
	for (int rank = 0; rank < RANKS; rank++)
		bytes += seen->after[rank].bytes[from][to] - seen->before[rank].bytes[from][to];
	return bytes;
}

/* Between a device and the host, or all other devices. */
static uint64_t crossed_port(const struct seen *seen, int device, bool by_host, bool in)
{
	uint64_t bytes = 0;
	for (int other = 0; other < CUDA_PORTS; other++)
		if ((other == CUDA_PORTS_HOST) == by_host)
			bytes += in ? crossed(seen, other, device) : crossed(seen, device, other);
	return bytes;
}

/*
 * How many bytes too many or too few go one way through one port, between the device and the host or
 * all others; what else does goes the other of these. Kernels look at words of the host for as long
 * as they wait.
 */
static int64_t find_other(const struct work *work, const struct call *call, int device, bool host,
			  bool in)
{
	const struct row *row = work->row;
	const struct call_way way = {row->ranks, work->comm->team.order, row->way};
	const bool goes_here = host == goes_by_host(row);
	const bool says = (row->by & KERNELS) && (host || goes_here);
	const uint64_t is = crossed_port(work->self->shared, device, host, in);
	const uint64_t want = goes_here ? wanted(row, call, &way, device, in) : 0;
	const uint64_t said = says ? (uint64_t)(SAID * row->ranks / row->devices) : 0;
	if (is < want)
		return -(int64_t)(want - is);
	return is - want <= said || (says && host && in) ? 0 : (int64_t)(is - want);
}

/* Rank 0 compares for all. */
static int compare(struct work *work, const struct call *call)
{
	char text[CALL_TEXT];
	int bad = 0;
	for (int device = 0; device < work->row->devices; device++)
		for (int way = 0; way < 4; way++) {
			const bool host = way & 1, in = way & 2;
			const int64_t other = find_other(work, call, device, host, in);
			if (other)
				bad = harness_fail(work->self, "%s: %jd bytes more %s device %d, %s",
						   call_text(call, text), (intmax_t)other,
						   in ? "into" : "out of", device,
						   host ? "by the host" : "by devices");
		}
	return bad;
}

static int make(struct work *work, const struct call *call)
{
	int err = call_make(work->comm, call, work->send, work->recv, work->stream);
	if (!err && work->stream)
		err = ring_stream_wait(work->stream, ring_stream_position(work->stream));
	if (err)
		return harness_fail(work->self, "%s", ring_comm_error(work->comm));
	CUDA_MUST(cuda.stream_synchronize(work->handle)); /* a kernel may end behind its call */
	return 0;
}

/* One rank of each process reads what all of that have moved. */
static void read_ports(const struct work *work, struct cuda_ports *ports)
{
	if (work->self->rank == 0 || !(work->row->by & THREADS))
		work->read(ports);
}

/* Calls before it have made links, and told who reaches whom. */
static int measure(struct work *work, const struct call *call)
{
	struct seen *seen = work->self->shared;
	for (int i = 0; i < 3; i++)
		if (make(work, call))
			return 1;
	harness_barrier(work->self);
	read_ports(work, &seen->before[work->self->rank]);
	harness_barrier(work->self);
	if (make(work, call))
		return 1;
	harness_barrier(work->self);
	read_ports(work, &seen->after[work->self->rank]);
	harness_barrier(work->self);
	int bad = work->self->rank == 0 ? compare(work, call) : 0;
	harness_barrier(work->self);
	return bad;
}

static int measure_all(struct work *work)
{
	int bad = 0;
	for (int kind = 0; kind < CALL_COLLECTIVES; kind++) {
		const struct call call = {.kind = (enum call_kind)kind,
					  .count = work->row->count,
					  .type = RING_FLOAT32,
					  .op = RING_SUM,
					  .root = 1};
		if (work->row->kinds & BIT(kind))
			bad |= measure(work, &call);
	}
	return bad;
}

/* ---- ranks ------------------------------------------------------------------------------------- */

static int allocate(struct work *work)
{
	void **memory[] = {&work->send, &work->recv};
	for (int i = 0; i < 2; i++)
		if (work->row->by & KERNELS)
			CUDA_MUST(cuda.memory_alloc(memory[i], ROOM));
		else if (ring_mem_alloc(work->comm, ROOM, memory[i]))
			return harness_fail(work->self, "%s", ring_comm_error(work->comm));
	cuda_fill(work->send, ROOM, 0);
	return 0;
}

static int join(struct work *work)
{
	struct ring_options options;
	struct CUctx_st *context;
	char device[32];
	const int number = work->self->rank % work->row->devices;
	void *library = dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	*(void **)&work->read = library ? dlsym(library, CUDA_PORTS_SYMBOL) : NULL;
	if (!work->read || !cuda_open())
		return harness_fail(work->self, "this driver counts nothing");
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, number));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&work->handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	snprintf(device, sizeof(device), "cuda:%d", number);
	harness_options(work->self, &options);
	options.device = device;
	options.algorithm = (work->row->by & KERNELS)   ? NULL
			    : work->row->way == BY_RING ? "ring"
							: "direct";
	return harness_join(work->self, &options, &work->comm);
}

static int be_rank(struct harness_rank *self)
{
	struct work work = {.self = self, .row = self->context};
	if (join(&work) || allocate(&work))
		return 1;
	if ((work.row->by & KERNELS) && ring_stream_from_cuda(work.comm, work.handle, &work.stream))
		return harness_fail(self, "%s", ring_comm_error(work.comm));
	int bad = measure_all(&work);
	ring_stream_destroy(work.stream);
	if (!(work.row->by & KERNELS) &&
	    (ring_mem_free(work.comm, work.send) || ring_mem_free(work.comm, work.recv)))
		bad = harness_fail(self, "%s", ring_comm_error(work.comm));
	ring_comm_destroy(work.comm);
	return bad;
}

#define ALL (IN_PARTS | OF_VECTORS)
#define RINGS (ALL & ~BIT(ALL_TO_ALL))
static const struct row rows[] = {
	{"direct, 2 devices", DIRECTLY, 2, 2, "1", HOST, ALL, WHOLE},
	{"direct, 3 devices", DIRECTLY, 3, 3, "1", HOST, ALL, WHOLE},
	{"direct, 4 devices", DIRECTLY, 4, 4, "1", HOST, ALL, WHOLE},
	{"direct, 2 devices, odd", DIRECTLY, 2, 2, "1", HOST, OF_VECTORS & ~BIT(REDUCE), ODD},
	{"direct, 4 devices, small", DIRECTLY, 4, 4, "1", HOST, BIT(ALL_REDUCE), 4},
	{"direct, 8 ranks of 4 devices", DIRECTLY, 8, 4, "1", HOST, IN_PARTS | BIT(ALL_REDUCE),
	 WHOLE},
	{"direct, 4 ranks of 1 device", DIRECTLY, 4, 1, "1", HOST, ALL, WHOLE},
	{"ring by the host, 4 devices", BY_RING, 4, 4, "1", HOST, ALL, WHOLE},
	{"ring by the host, 4 devices, odd", BY_RING, 4, 4, "1", HOST,
	 OF_VECTORS & ~BIT(ALL_REDUCE), ODD},
	{"ring by the host, 3 ranks of 2 devices", BY_RING, 3, 2, "1", HOST, ALL, WHOLE},
	{"no peers, 3 devices", BY_RING, 3, 3, "0", HOST, ALL, WHOLE},
	{"kernels, ring, 2 devices", BY_RING, 2, 2, "1", KERNELS, RINGS, WHOLE},
	{"kernels, ring, 4 devices", BY_RING, 4, 4, "1", KERNELS, RINGS, WHOLE},
	{"kernels, ring, 4 devices, odd", BY_RING, 4, 4, "1", KERNELS, OF_VECTORS, ODD},
	{"kernels, ring, 4 ranks of 2 devices", BY_RING, 4, 2, "1", KERNELS, RINGS, WHOLE},
	{"kernels, ring by the host, 4 devices", BY_RING, 4, 4, "0", KERNELS, RINGS, WHOLE},
	{"kernels, ring, 4 threads of 4 devices", BY_RING, 4, 4, "1", KERNELS | THREADS, RINGS,
	 WHOLE},
	{"kernels, one shot, 4 threads of 4 devices", BY_ONE_SHOT, 4, 4, "1", KERNELS | THREADS,
	 IN_ONE_SHOT, 840},
	{"direct, 4 threads of 4 devices", DIRECTLY, 4, 4, "1", THREADS, ALL, WHOLE},
	{"kernels, one shot, 4 devices", BY_ONE_SHOT, 4, 4, "1", KERNELS, IN_ONE_SHOT, 840},
	{"kernels, one shot, 3 devices, odd", BY_ONE_SHOT, 3, 3, "1", KERNELS, IN_ONE_SHOT, 7},
	{"kernels, ring, 2 devices, by nvcc", BY_RING, 2, 2, "1", KERNELS | NVCC, BIT(ALL_REDUCE),
	 WHOLE},
	{"kernels, one shot, 2 devices, by nvcc", BY_ONE_SHOT, 2, 2, "1", KERNELS | NVCC,
	 IN_ONE_SHOT, 7},
	{"direct, 2 devices, by nvcc", DIRECTLY, 2, 2, "1", NVCC, BIT(ALL_REDUCE), WHOLE},
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static bool is_asked_for(const struct row *row, char **patterns)
{
	bool any = false;
	for (; *patterns; patterns++) {
		if (fnmatch(*patterns, row->name, 0) == 0)
			return true;
		any = true;
	}
	return !any;
}

static int run_row(const struct row *row)
{
	struct harness team = {.world = &harness_worlds[row->by & THREADS ? 0 : 1],
			       .size = row->ranks,
			       .body = be_rank,
			       .context = (void *)(uintptr_t)row,
			       .shared_bytes = sizeof(struct seen)};
	snprintf(team.label, sizeof(team.label), "%s", row->name);
	setenv("RING_CUDA_ENGINE", (row->by & KERNELS) ? "kernel" : "host", 1);
	setenv("RING_FAKE_CUDA_PEERS", row->peers, 1);
	setenv("RING_FAKE_CUDA_PTX", row->by & NVCC ? "1" : "0", 1);
	return harness_report(row->name, harness_run(&team));
}

int main(int argc, char **argv)
{
	int bad = 0, asked = 0;
	(void)argc;
	setenv("RING_FAKE_CUDA_DEVICES", "4", 1);
	cuda_use_fake(argv);
	for (int i = 0; i < ROWS; i++)
		asked += is_asked_for(&rows[i], argv + 1);
	printf("1..%d\n", asked);
	for (int i = 0; i < ROWS; i++)
		if (is_asked_for(&rows[i], argv + 1))
			bad |= run_row(&rows[i]);
	return bad;
}
