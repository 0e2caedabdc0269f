/* SPDX-License-Identifier: MIT */
/*
 * The table of collectives and the arithmetic of their buffers.
 */
#include "collective.h"

/* The share of the vector that is not a rank's own. */
static double others(int n)
{
	return (double)(n - 1) / n;
}

static struct perf_work all_reduce_work(int n)
{
	return (struct perf_work){2 * others(n), others(n), others(n), 2 * (n - 1)};
}

static struct perf_work reduce_scatter_work(int n)
{
	return (struct perf_work){others(n), others(n), 0, n - 1};
}

static struct perf_work all_gather_work(int n)
{
	return (struct perf_work){others(n), 0, others(n), n - 1};
}

static struct perf_work broadcast_work(int n)
{
	return (struct perf_work){n > 1, 0, n > 1, n - 1};
}

static struct perf_work barrier_work(int n)
{
	return (struct perf_work){0, 0, 0, n - 1};
}

static uint64_t block_bytes(const struct perf_call *call, int rank)
{
	size_t count = perf_call_block_start(call, rank + 1) - perf_call_block_start(call, rank);
	return count * call->type->bytes;
}

static uint64_t all_reduce_sent(const struct perf_call *call, int rank, int next)
{
	return 2 * call->bytes - block_bytes(call, rank) - block_bytes(call, next);
}

static uint64_t part_sent(const struct perf_call *call, int rank, int next)
{
	(void)rank;
	(void)next;
	return (uint64_t)(call->size - 1) * call->count * call->type->bytes;
}

/* The chain begins at the root and ends before it. */
static uint64_t broadcast_sent(const struct perf_call *call, int rank, int next)
{
	(void)rank;
	return next == call->root ? 0 : call->bytes;
}

static uint64_t nothing_sent(const struct perf_call *call, int rank, int next)
{
	(void)call;
	(void)rank;
	(void)next;
	return 0;
}

static int run_all_reduce(struct ring_comm *comm, const struct perf_call *call, const void *send,
			  void *recv, struct ring_stream *stream)
{
	return ring_all_reduce(comm, send, recv, call->count, call->type->type, call->op, stream);
}

static int run_reduce_scatter(struct ring_comm *comm, const struct perf_call *call,
			      const void *send, void *recv, struct ring_stream *stream)
{
	return ring_reduce_scatter(comm, send, recv, call->count, call->type->type, call->op,
				   stream);
}

static int run_all_gather(struct ring_comm *comm, const struct perf_call *call, const void *send,
			  void *recv, struct ring_stream *stream)
{
	return ring_all_gather(comm, send, recv, call->count, call->type->type, stream);
}

static int run_broadcast(struct ring_comm *comm, const struct perf_call *call, const void *send,
			 void *recv, struct ring_stream *stream)
{
	return ring_broadcast(comm, send, recv, call->count, call->type->type, call->root, stream);
}

static int run_barrier(struct ring_comm *comm, const struct perf_call *call, const void *send,
		       void *recv, struct ring_stream *stream)
{
	(void)call;
	(void)send;
	(void)recv;
	return ring_barrier(comm, stream);
}

const struct perf_collective perf_collectives[PERF_COLLECTIVES] = {
	{"all_reduce", true, false, false, true, all_reduce_work, all_reduce_sent, run_all_reduce},
	{"reduce_scatter", true, false, true, true, reduce_scatter_work, part_sent,
	 run_reduce_scatter},
	{"all_gather", false, false, true, true, all_gather_work, part_sent, run_all_gather},
	{"broadcast", false, true, false, true, broadcast_work, broadcast_sent, run_broadcast},
	{"barrier", false, false, false, false, barrier_work, nothing_sent, run_barrier},
};

void perf_call_set_bytes(struct perf_call *call, size_t bytes)
{
	size_t parts = call->collective->per_rank ? (size_t)call->size : 1;
	call->count = bytes / (parts * call->type->bytes);
	if (call->count == 0)
		call->count = 1;
	if (!call->collective->has_data)
		call->count = 0;
	call->bytes = call->count * parts * call->type->bytes;
}

static size_t part_bytes(const struct perf_call *call)
{
	return call->count * call->type->bytes;
}

/* Of the two that have a count per rank, the one that reduces sends everything. */
size_t perf_call_send_bytes(const struct perf_call *call)
{
	return call->collective->reduces ? call->bytes : part_bytes(call);
}

size_t perf_call_recv_bytes(const struct perf_call *call)
{
	return call->collective->reduces ? part_bytes(call) : call->bytes;
}

size_t perf_call_send_offset(const struct perf_call *call, int rank)
{
	bool is_part = perf_call_send_bytes(call) < call->bytes;
	return is_part ? (size_t)rank * part_bytes(call) : 0;
}

size_t perf_call_recv_offset(const struct perf_call *call, int rank)
{
	bool is_part = perf_call_recv_bytes(call) < call->bytes;
	return is_part ? (size_t)rank * part_bytes(call) : 0;
}

size_t perf_call_block_start(const struct perf_call *call, int rank)
{
	size_t n = (size_t)call->size, b = (size_t)rank;
	size_t count = call->bytes / call->type->bytes;
	size_t longer = count % n;
	return b * (count / n) + (b < longer ? b : longer);
}
