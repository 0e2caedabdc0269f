/* SPDX-License-Identifier: MIT */
/*
 * The table of collectives. "Part" is one rank's share of a vector with count elements per rank,
 * "block" the share that a ring cuts off a vector which has no parts.
 */
#include "collective.h"

#include <string.h>

#include "call.h"

const char *const perf_algorithms[PERF_ALGORITHMS] = {"ring",    "oneshot", "stride",
						      "twoshot", "bruck",   "staged",
						      "direct",  "tree",    "pair"};

enum perf_algorithm perf_algorithm_find(const char *name)
{
	int i = 0;
	while (i < PERF_ALGORITHMS && strcmp(name, perf_algorithms[i]) != 0)
		i++;
	return (enum perf_algorithm)i;
}

/* ---- what must be moved and reduced ---- */

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

static struct perf_work reduce_work(int n)
{
	return (struct perf_work){n > 1, n > 1, 0, n - 1};
}

/* The root's: it sends, or receives, all parts but its own. */
static struct perf_work root_work(int n)
{
	return (struct perf_work){others(n), 0, others(n), n > 1};
}

/* Of uneven parts root's may be empty, or a rank's own: what is sent is the whole vector. */
static struct perf_work whole_root_work(int n)
{
	return (struct perf_work){n > 1, 0, n > 1, n > 1};
}

/* In memory a rank copies both what it sends and what it receives. */
static struct perf_work all_to_all_work(int n)
{
	return (struct perf_work){others(n), 0, 2 * others(n), n > 1};
}

static struct perf_work send_recv_work(int n)
{
	return (struct perf_work){n > 1, 0, 2 * (n > 1), n > 1};
}

static struct perf_work barrier_work(int n)
{
	return (struct perf_work){0, 0, 0, n - 1};
}

/* ---- what each rank sends ---- */

static int rank_of(const struct perf_sender *sender)
{
	return sender->order[sender->position];
}

/* How many positions the sender is behind root on the ring. */
static int behind_root(const struct perf_call *call, const struct perf_sender *sender)
{
	int root = 0; /* its position */
	while (sender->order[root] != call->root)
		root++;
	return (sender->position + call->size - root) % call->size;
}

static size_t block_count(const struct perf_call *call, int rank)
{
	return perf_call_block_start(call, rank + 1) - perf_call_block_start(call, rank);
}

/* All of the vector to each of the others. */
static uint64_t all_to_each(const struct perf_call *call)
{
	return (uint64_t)(call->size - 1) * call->bytes;
}

int perf_algorithm_stride(enum perf_algorithm algorithm, int size)
{
	int best = size;
	if (algorithm == PERF_RING)
		return 1;
	for (int m = size; m > 0 && algorithm == PERF_STRIDE; m--)
		if (m + (size - 1) / m < best + (size - 1) / best)
			best = m;
	return best;
}

/*
 * A rank sends its summand of every block but its own. Then it sends results, its own and those of
 * ranks whole strides away, to as many ranks as a stride has. A ring has a stride of 1, and passes
 * on the results of the ranks before it.
 */
static uint64_t blocks_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	const int n = call->size, stride = perf_algorithm_stride(sender->algorithm, n);
	uint64_t elements = 0;
	for (int away = 0; away < n; away++) {
		int owner = sender->position + (sender->algorithm == PERF_RING ? n - away : away);
		size_t block = block_count(call, sender->order[owner % n]);
		int ahead = n - 1 - away < stride ? n - 1 - away : stride;
		elements += block * (size_t)((away > 0) + (away % stride == 0 ? ahead : 0));
	}
	return elements * call->type->bytes;
}

static uint64_t other_parts_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	return call->bytes - perf_call_part_bytes(call, rank_of(sender));
}

/* A ring passes on all parts but that of the next rank. */
static uint64_t all_gather_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	int next = sender->order[(sender->position + 1) % call->size];
	if (sender->algorithm == PERF_RING)
		return call->bytes - perf_call_part_bytes(call, next);
	return (uint64_t)(call->size - 1) * perf_call_part_bytes(call, rank_of(sender));
}

static uint64_t all_to_all_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	int rank = rank_of(sender);
	return call->bytes - perf_call_part_bytes(call, perf_call_part_between(call, rank, rank));
}

/* Bytes of a rank's share of a vector that is not in parts. */
static uint64_t vector_share(const struct perf_call *call, int rank)
{
	size_t n = (size_t)call->size, r = (size_t)rank;
	return (call->count / n + (r < call->count % n)) * call->type->bytes;
}

/*
 * How many children a place of a tree has: those 1, 2, 4 ... ahead, below the lowest bit of its
 * number.
 */
static uint64_t tree_children(int n, int place)
{
	uint64_t children = 0;
	for (int ahead = 1; place + ahead < n && !(place & ahead); ahead *= 2)
		children++;
	return children;
}

/*
 * How many places are below it: those before place + its lowest bit, or all others below the first.
 */
static uint64_t tree_descendants(int n, int place)
{
	int next = place > 0 ? place + (place & -place) : n;
	return (uint64_t)((next < n ? next : n) - place - 1);
}

static uint64_t all_reduce_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	int place = sender->position;
	switch (sender->algorithm) {
	case PERF_ONE_SHOT:
	case PERF_BRUCK:
		return all_to_each(call);
	case PERF_TREE: /* inputs up, except from the first place; sums down to its children */
		return (tree_children(call->size, place) +
			(place > 0 ? 1 + tree_descendants(call->size, place) : 0)) *
		       call->bytes;
	default:
		return blocks_sent(call, sender);
	}
}

/* The chain begins at the root and ends before it. */
static uint64_t broadcast_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	switch (sender->algorithm) {
	case PERF_ONE_SHOT:
	case PERF_DIRECT: /* counted as root's, whichever rank moves the bytes */
		return rank_of(sender) == call->root ? all_to_each(call) : 0;
	case PERF_TREE:
		return tree_children(call->size, behind_root(call, sender)) * call->bytes;
	default:
		return behind_root(call, sender) == call->size - 1 ? 0 : call->bytes;
	}
}

/* Direct: each rank adds its share of all vectors, and writes the sum to root. */
static uint64_t reduce_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	bool is_root = rank_of(sender) == call->root;
	if (sender->algorithm == PERF_DIRECT && is_root)
		return call->bytes - vector_share(call, rank_of(sender));
	return is_root ? 0 : call->bytes;
}

static uint64_t sent_to_root(const struct perf_call *call, const struct perf_sender *sender)
{
	return rank_of(sender) == call->root ? 0 : perf_call_part_bytes(call, rank_of(sender));
}

static uint64_t sent_by_root(const struct perf_call *call, const struct perf_sender *sender)
{
	return rank_of(sender) == call->root ? other_parts_sent(call, sender) : 0;
}

static uint64_t all_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	(void)sender;
	return call->bytes;
}

static uint64_t nothing_sent(const struct perf_call *call, const struct perf_sender *sender)
{
	(void)call;
	(void)sender;
	return 0;
}

/* ---- where each element of a result comes from ---- */

static struct perf_stretch each_block(const struct perf_call *call, int rank, int i)
{
	(void)rank;
	return (struct perf_stretch){i, perf_call_block_start(call, i), block_count(call, i)};
}

/* A part of a rank's input that has all parts. */
static struct perf_stretch part_of(const struct perf_call *call, int origin, int part)
{
	return (struct perf_stretch){origin, perf_call_part_start(call, part),
				     perf_call_part_count(call, part)};
}

static struct perf_stretch own_part_reduced(const struct perf_call *call, int rank, int i)
{
	(void)i;
	return part_of(call, rank, rank);
}

static struct perf_stretch all_of_each(const struct perf_call *call, int rank, int i)
{
	(void)rank;
	return (struct perf_stretch){i, 0, perf_call_part_count(call, i)};
}

static struct perf_stretch all_of_root(const struct perf_call *call, int rank, int i)
{
	(void)rank;
	(void)i;
	return (struct perf_stretch){call->root, 0, call->count};
}

static struct perf_stretch own_part_of_root(const struct perf_call *call, int rank, int i)
{
	(void)i;
	return part_of(call, call->root, rank);
}

/* Behind those of the ranks before it. */
static struct perf_stretch own_part_of_each(const struct perf_call *call, int rank, int i)
{
	size_t first = 0;
	for (int other = 0; other < rank; other++)
		first += perf_call_part_count(call, perf_call_part_between(call, i, other));
	return (struct perf_stretch){
		i, first, perf_call_part_count(call, perf_call_part_between(call, i, rank))};
}

static struct perf_stretch all_of_previous(const struct perf_call *call, int rank, int i)
{
	(void)i;
	return (struct perf_stretch){(rank + call->size - 1) % call->size, 0, call->count};
}

/* ---- the calls ---- */

#define RUN(name, ...)                                                                             \
	static int run_##name(struct ring_comm *comm, const struct perf_call *call,                \
			      const void *send, void *recv, struct ring_stream *stream)            \
	{                                                                                          \
		return ring_##name(comm, send, recv, call->count, call->type->type, __VA_ARGS__);  \
	}

RUN(all_reduce, call->ring_op, stream)
RUN(reduce_scatter, call->ring_op, stream)
RUN(all_gather, stream)
RUN(broadcast, call->root, stream)
RUN(reduce, call->ring_op, call->root, stream)
RUN(gather, call->root, stream)
RUN(scatter, call->root, stream)
RUN(all_to_all, stream)

static void list_parts(const struct perf_call *call, size_t counts[])
{
	for (int part = 0; part < call->size; part++)
		counts[part] = perf_call_part_count(call, part);
}

/* Uneven parts lie one behind the other. */
#define RUN_UNEVEN(name, ...)                                                                      \
	static int run_##name(struct ring_comm *comm, const struct perf_call *call,                \
			      const void *send, void *recv, struct ring_stream *stream)            \
	{                                                                                          \
		const int rank = ring_comm_rank(comm);                                             \
		size_t counts[call->size];                                                         \
		list_parts(call, counts);                                                          \
		(void)rank;                                                                        \
		return ring_##name(comm, send, __VA_ARGS__, stream);                               \
	}

RUN_UNEVEN(reduce_scatterv, recv, counts, call->type->type, call->ring_op)
RUN_UNEVEN(all_gatherv, recv, counts, NULL, call->type->type)
RUN_UNEVEN(gatherv, counts[rank], recv, counts, NULL, call->type->type, call->root)
RUN_UNEVEN(scatterv, counts, NULL, recv, counts[rank], call->type->type, call->root)

static int run_all_to_allv(struct ring_comm *comm, const struct perf_call *call, const void *send,
			   void *recv, struct ring_stream *stream)
{
	const int rank = ring_comm_rank(comm);
	size_t to[call->size], from[call->size];
	for (int r = 0; r < call->size; r++) {
		to[r] = perf_call_part_count(call, perf_call_part_between(call, rank, r));
		from[r] = perf_call_part_count(call, perf_call_part_between(call, r, rank));
	}
	return ring_all_to_allv(comm, send, to, NULL, recv, from, NULL, call->type->type, stream);
}

/* As nccl-tests: to the next rank and from the previous one, at once. */
static int run_send_recv(struct ring_comm *comm, const struct perf_call *call, const void *send,
			 void *recv, struct ring_stream *stream)
{
	int rank = ring_comm_rank(comm), n = call->size;
	int err = ring_group_start();
	if (err)
		return err;
	err = ring_send(comm, send, call->count, call->type->type, (rank + 1) % n, stream);
	if (!err)
		err = ring_recv(comm, recv, call->count, call->type->type, (rank + n - 1) % n,
				stream);
	int end_err = ring_group_end();
	return err ? err : end_err;
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
	{"all_reduce", "all_reduce", PERF_DATA | PERF_REDUCES | PERF_BOTH_PLACES, all_reduce_work,
	 all_reduce_sent, each_block, run_all_reduce},
	{"reduce_scatter", "reduce_scatter",
	 PERF_DATA | PERF_REDUCES | PERF_PER_RANK | PERF_RECEIVES_PART | PERF_RESULTS_DIFFER |
		 PERF_BOTH_PLACES,
	 reduce_scatter_work, other_parts_sent, own_part_reduced, run_reduce_scatter},
	{"all_gather", "all_gather", PERF_DATA | PERF_PER_RANK | PERF_SENDS_PART | PERF_BOTH_PLACES,
	 all_gather_work, all_gather_sent, all_of_each, run_all_gather},
	{"broadcast", "broadcast", PERF_DATA | PERF_ROOTED | PERF_ROOT_SENDS | PERF_BOTH_PLACES,
	 broadcast_work, broadcast_sent, all_of_root, run_broadcast},
	{"reduce", "reduce",
	 PERF_DATA | PERF_REDUCES | PERF_ROOTED | PERF_ROOT_RECEIVES | PERF_BOTH_PLACES,
	 reduce_work, reduce_sent, all_of_root, run_reduce},
	{"gather", "gather",
	 PERF_DATA | PERF_ROOTED | PERF_PER_RANK | PERF_SENDS_PART | PERF_ROOT_RECEIVES |
		 PERF_BOTH_PLACES,
	 root_work, sent_to_root, all_of_each, run_gather},
	{"scatter", "scatter",
	 PERF_DATA | PERF_ROOTED | PERF_PER_RANK | PERF_RECEIVES_PART | PERF_ROOT_SENDS |
		 PERF_RESULTS_DIFFER | PERF_BOTH_PLACES,
	 root_work, sent_by_root, own_part_of_root, run_scatter},
	{"all_to_all", "alltoall", PERF_DATA | PERF_PER_RANK | PERF_RESULTS_DIFFER, all_to_all_work,
	 all_to_all_sent, own_part_of_each, run_all_to_all},
	{"sendrecv", "sendrecv", PERF_DATA | PERF_RESULTS_DIFFER, send_recv_work, all_sent,
	 all_of_previous, run_send_recv},
	{"reduce_scatterv", "reduce_scatterv",
	 PERF_DATA | PERF_REDUCES | PERF_PER_RANK | PERF_RECEIVES_PART | PERF_RESULTS_DIFFER |
		 PERF_BOTH_PLACES | PERF_UNEVEN,
	 reduce_work, other_parts_sent, own_part_reduced, run_reduce_scatterv},
	{"all_gatherv", "all_gatherv",
	 PERF_DATA | PERF_PER_RANK | PERF_SENDS_PART | PERF_BOTH_PLACES | PERF_UNEVEN,
	 broadcast_work, all_gather_sent, all_of_each, run_all_gatherv},
	{"gatherv", "gatherv",
	 PERF_DATA | PERF_ROOTED | PERF_PER_RANK | PERF_SENDS_PART | PERF_ROOT_RECEIVES |
		 PERF_BOTH_PLACES | PERF_UNEVEN,
	 whole_root_work, sent_to_root, all_of_each, run_gatherv},
	{"scatterv", "scatterv",
	 PERF_DATA | PERF_ROOTED | PERF_PER_RANK | PERF_RECEIVES_PART | PERF_ROOT_SENDS |
		 PERF_RESULTS_DIFFER | PERF_BOTH_PLACES | PERF_UNEVEN,
	 whole_root_work, sent_by_root, own_part_of_root, run_scatterv},
	{"all_to_allv", "alltoallv", PERF_DATA | PERF_PER_RANK | PERF_RESULTS_DIFFER | PERF_UNEVEN,
	 send_recv_work, all_to_all_sent, own_part_of_each, run_all_to_allv},
	{"barrier", "barrier", 0, barrier_work, nothing_sent, NULL, run_barrier},
};
