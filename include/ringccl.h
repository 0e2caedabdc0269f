/* SPDX-License-Identifier: MIT */
/*
 * ringccl: collective communication over shared memory, TCP and RDMA verbs, from a ring up.
 *
 * This is the whole public interface. Five rules hold everywhere:
 *
 * errors    A call returns 0 or a negative code of RING_STATUS_LIST. Outputs are set only on
 *           success. ring_comm_error() turns a failure into a sentence that names who and where.
 *           The first failure of a communicator sticks: later calls return it at once.
 * threads   A communicator is used by one thread at a time, except ring_comm_abort(),
 *           ring_comm_status() and ring_comm_error(), which any thread may call at any time. So may
 *           it ring_stream_position(), _wait(), _test(), _notify(), _fd() and _times(), while the
 *           stream lives.
 *           Different communicators are independent. Ranks may be processes or threads.
 * order     All ranks make the same collective calls in the same order. A call that differs in
 *           kind, count, type, operation or root ends as RING_EMISMATCH on every rank, and no
 *           rank's buffers have been touched (but see ring_all_to_allv()). Sends and receives match
 *           pair by pair, in order. Calls of one stream run one after the other, and so do
 *           collectives; sends and receives on other streams, or on none, make progress beside all
 *           of them.
 * memory    Once a call has failed no rank writes to its buffers any more, not even a rank that
 *           was stopped and later continues; where that cannot be promised the sentence says so, as
 *           ringccl(7) explains.
 *
 * buffers   Host memory, or that of a CUDA device (cudaMalloc()): all of one call of a rank in
 *           either, whatever other ranks give, and on the same device in all calls of a rank on one
 *           communicator. Managed memory, and what was freed, is refused before anything is done.
 *
 * No function may be called from a signal handler.
 * After fork() a child may not use the parent's communicators: its calls return RING_EINVAL.
 */
#ifndef RINGCCL_H
#define RINGCCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RING_VERSION_MAJOR 0
#define RING_VERSION_MINOR 2
#define RING_VERSION_PATCH 0

#if defined(__GNUC__)
#define RING_API __attribute__((visibility("default")))
#else
#define RING_API
#endif

/* Every status code with its text. RING_EAGAIN is the only one that is not an error. */
#define RING_STATUS_LIST(X)                                                                        \
	X(RING_EINVAL, -1, "invalid argument")                                                     \
	X(RING_ENOMEM, -2, "out of memory")                                                        \
	X(RING_ESYSTEM, -3, "a system call failed")                                                \
	X(RING_EPEER, -4, "another rank was lost")                                                 \
	X(RING_ETIMEDOUT, -5, "another rank did not answer in time")                               \
	X(RING_EMISMATCH, -6, "the ranks disagree")                                                \
	X(RING_EABORTED, -7, "the communicator was aborted")                                       \
	X(RING_ENOTSUP, -8, "not supported")                                                       \
	X(RING_EAGAIN, -9, "not ready yet")

enum ring_status {
#define RING_STATUS_ENUM(name, value, text) name = value,
	RING_STATUS_LIST(RING_STATUS_ENUM)
#undef RING_STATUS_ENUM
};

/* Element types; the values equal NCCL's. */
enum ring_datatype {
	RING_INT8 = 0,
	RING_UINT8 = 1,
	RING_INT32 = 2,
	RING_UINT32 = 3,
	RING_INT64 = 4,
	RING_UINT64 = 5,
	RING_FLOAT16 = 6, /* IEEE 754 binary16 */
	RING_FLOAT32 = 7,
	RING_FLOAT64 = 8,
	RING_BFLOAT16 = 9,     /* the upper half of a float32 */
	RING_FLOAT8_E4M3 = 10, /* OCP OFP8: no infinity, largest 448 */
	RING_FLOAT8_E5M2 = 11, /* OCP OFP8: as float16, upper byte */
};

/*
 * Reductions; the values equal NCCL's as far as NCCL has them.
 *
 * RING_SUM   integers wrap; 16- and 8-bit floats are computed in float32 and rounded to nearest
 *            even, once per hop of a ring, once per stride, once in total in a shot: too large a
 *            16-bit number becomes infinite, an 8-bit one the largest there is (448 or 57344,
 *            also what was infinite)
 * RING_AVG   the sum, divided by the number of ranks once, at the last addition; integers truncate
 *            towards zero
 * RING_MAX, RING_MIN   a NaN in any input makes the result NaN; -0 is less than +0
 * RING_BAND, RING_BOR, RING_BXOR   bit by bit, of integers only: RING_EINVAL on floats
 *
 * A NaN that was computed is always the same quiet NaN, so that results are equal bit for bit.
 * docs/REDUCTIONS.md tells the rest. ring_op_create_premul_sum() makes further operations, and so
 * does ring_op_create() of a function.
 */
enum ring_op {
	RING_SUM = 0,
	RING_PROD = 1,
	RING_MAX = 2,
	RING_MIN = 3,
	RING_AVG = 4,
	RING_BAND = 5,
	RING_BOR = 6,
	RING_BXOR = 7,
};

struct ring_comm;   /* a communicator as one rank sees it; made by ring_comm_create */
struct ring_stream; /* completion positions in a communicator's queue */
struct ring_region; /* memory that was registered with a communicator */

/* What ranks must share to find one another and to prove it. Send it by any private means. */
struct ring_unique_id {
	unsigned char bytes[128];
};

/*
 * Settings of one communicator. ring_options_init() fills in the defaults, then whatever RING_*
 * variables say; fields set afterwards by the program win. Strings are copied at creation.
 * Fields marked A change the schedule and must be alike on all ranks: a difference is
 * RING_EMISMATCH naming option and rank.
 */
struct ring_options {
	size_t size; /* sizeof(struct ring_options), set by ring_options_init() */

	const char *transport;  /* A RING_TRANSPORT: transports allowed, "shm,tcp"; NULL: all */
	const char *interface;  /* RING_INTERFACE: "eth0,10.0.0.0/8", "^docker0"; NULL chooses */
	const char *port_range; /* RING_PORT_RANGE: "lo-hi" for listening ports; NULL: any */
	const char *host;       /* RING_HOST: my host's name; ranks that differ use the network */
	const char *congestion; /* RING_CONGESTION: of TCP, "reno"; NULL chooses */
	const char *trace;      /* RING_TRACE: write a Chrome trace here; %r is the rank */

	int create_timeout_ms; /* RING_CREATE_TIMEOUT_MS: until all ranks have met; 60000 */
	int call_timeout_ms;   /* RING_CALL_TIMEOUT_MS: a call, from its start; 600000; 0: never */
	int peer_lost_ms; /* RING_PEER_LOST_MS: who cannot be reached for so long is lost; 5000 */

	size_t chunk_bytes;   /* A RING_CHUNK_BYTES: largest message (ringccl(7)); 0 chooses */
	int depth;            /* A RING_DEPTH: slots of a link, 1..8; 0 chooses */
	int chunks_per_round; /* A RING_CHUNKS_PER_ROUND: pieces in flight; 0 chooses */
	int channels;         /* A RING_CHANNELS: most rings used at once, 1..8; 0 chooses */

	int spins;  /* RING_SPINS: empty looks at the links before giving up the CPU; -1 chooses */
	int yields; /* RING_YIELDS: sched_yield() calls after that, before sleeping; -1 chooses */

	/* A RING_LINK: slow links down to "1GB/s,20us", on one host; NULL: do not */
	const char *link;
	const char *algorithm; /* A RING_ALGORITHM: "ring", "oneshot", "stride", "twoshot", "bruck",
				  "staged", "direct", "tree"; NULL chooses */
	const char *tuning; /* A RING_TUNING: file of rows that choose, by ring_perf --tune; NULL */

	/*
	 * RING_DEVICE: what ring_mem_alloc gives memory of: "cuda", "cuda:1"; NULL: the host.
	 * The last field of version 0.1: new ones go behind it.
	 */
	const char *device;

	/*
	 * RING_TELL_AFTER_MS: a call that has waited for so long says on stderr, once, for whom,
	 * and what that rank does; 10000; 0: never
	 */
	int tell_after_ms;

	/* A RING_ORDER: "rank" adds floats in rank order, whatever the count; NULL: as fits best */
	const char *order;
};

/* One link as counted by its end in this rank. */
struct ring_link_stats {
	int peer;               /* the rank at the other end                              */
	int channel;            /* which ring it belongs to; -1: a link beside the rings  */
	int outgoing;           /* 1: this rank sends on it                               */
	char transport[16];     /* "loopback", "shm", "verbs", "tcp"                      */
	uint64_t messages;      /* transfers with payload                                 */
	uint64_t payload_bytes; /* bytes of user data, without headers and entry records  */
};

/* How a call was carried, and why so. */
struct ring_carried {
	char algorithm[16]; /* RING_ALGORITHM's names, or "pair"; "" before any call */
	char path[16];      /* what links ranks: "memory", "socket", "network", "verbs", "mixed" */
	char memory[16]; /* whose buffers, as far as it matters: "private", "reachable", "shared" */
	uint64_t chunk_bytes; /* largest message                                                  */
	int channels;         /* rings used at once                                               */
	char reason[320]; /* what decided: predicted times, a row of RING_TUNING, RING_ALGORITHM */
};

#define RING_STATS_LINKS 32

/*
 * What a communicator has done so far, as this rank counts it. Of calls that GPUs carry out by
 * themselves calls and sent_bytes have what their plan says, the rest has nothing.
 */
struct ring_stats {
	size_t size;             /* sizeof(struct ring_stats), set by the caller          */
	uint64_t calls;          /* collectives, sends and receives completed             */
	uint64_t sent_bytes;     /* payload bytes over all outgoing links                 */
	uint64_t received_bytes; /* payload bytes over all incoming links                 */
	uint64_t sent_messages, received_messages;
	/*
	 * Held by this rank for the communicator: shared memory, which counts at the receiving
	 * rank, and of buffers in memory of its own what was ever used. Not the kernel's socket
	 * buffers, nor the stacks of threads.
	 */
	uint64_t memory_bytes;
	int link_count; /* entries of links[] in use */
	struct ring_link_stats links[RING_STATS_LINKS];
	struct ring_carried last; /* the last call */
	char numbers[16];         /* which section of RING_TUNING's numbers predicts it; "": none */
};

/* The library's version, 10000 * major + 100 * minor + patch. */
RING_API int ring_version(void);

/* The text of a status code; never NULL. */
RING_API const char *ring_strerror(int err);

/*
 * Fills options with defaults and RING_* variables. A program's struct may be shorter than that of
 * a later library, so the macro of that name says how long it is. The function by itself fills the
 * struct of version 0.1, for programs that cannot use the macro.
 */
RING_API void ring_options_init_size(struct ring_options *options, size_t size);
RING_API void ring_options_init(struct ring_options *options);
#define ring_options_init(options) ring_options_init_size(options, sizeof(*(options)))

/*
 * Makes the identity of a new communicator of any size. The calling process serves the meeting
 * of its ranks until they have met, so it must live that long; one id makes one communicator.
 *
 * id        128 bytes to hand to every rank; they hold a secret, so hand them over privately
 * returns   0; RING_ESYSTEM if no address could be listened on
 */
RING_API int ring_unique_id_create(struct ring_unique_id *id);

/*
 * Joins the communicator that id names; returns when all `size` ranks have met and are linked.
 *
 * size, rank  rank of [0, size), each exactly once
 * options     NULL takes the defaults and RING_* variables
 * returns     0; RING_ETIMEDOUT naming the ranks that never came; RING_EPEER if one died meanwhile;
 *             RING_EMISMATCH if the ranks disagree about size or options; RING_EABORTED if one gave
 *             up; the sentence is ring_comm_error(NULL) in the calling thread
 * blocking    at most create_timeout_ms, and half a second more to hear who was missing
 */
RING_API int ring_comm_create(struct ring_comm **comm, int size, int rank,
			      const struct ring_unique_id *id, const struct ring_options *options);

/*
 * Joins the communicator of all ranks of the job that a launcher started this process in: ring_run,
 * mpirun (PMIx), mpiexec (PMI-1), srun, torchrun, or whatever sets torchrun's variables. The n-th
 * calls of all ranks make one communicator. Where the launcher exchanges values between its ranks,
 * rank 0's id goes that way; else rank 0 serves the meeting where torchrun's or Slurm's variables
 * say, or at RING_ROOT_PORT, and RING_SECRET, alike on all ranks and random, keeps others out.
 * Nothing that ranks say is encrypted, or protected against change on the way. docs/LAUNCHING.md
 * has the commands.
 *
 * returns   as ring_comm_create; RING_EINVAL if the environment names no job, one that is not
 *           understood, or nonsense; RING_ESYSTEM on rank 0 if the port is taken, or if the
 *           launcher does not answer; RING_ENOTSUP if the client library of PMIx cannot be had;
 *           RING_EPEER if rank 0 has no id to give
 * blocking  as ring_comm_create, and as long again until all ranks have come to the launcher's
 *           exchange
 */
RING_API int ring_comm_create_from_env(struct ring_comm **comm, const struct ring_options *options);

/*
 * Tells whether a launcher started this process as a rank, as ring_comm_create_from_env finds out.
 * Meets nobody. A program that can also start ranks by itself asks this first.
 *
 * launcher    its name for people, "mpirun (PMIx)"; NULL if none did
 * rank, size  this process's; 0 and 1 if none did
 * returns     0; RING_EINVAL if one did that is not understood, or whose variables are nonsense;
 *             RING_ENOTSUP, RING_ESYSTEM if only PMIx knows and does not tell;
 *             ring_comm_error(NULL)
 */
RING_API int ring_job_find(const char **launcher, int *rank, int *size);

/*
 * Divides a communicator: ranks of one color get a communicator of their own, in which they are
 * ordered by key, then by their rank in comm. A collective call of all ranks of comm; the new one
 * takes over comm's options, but for the trace, and is independent of it. In a group it is only
 * noted, so that one thread can split several ranks: *sub is set when the group ends, whose other
 * calls come before.
 *
 * color     0 or more; RING_COLOR_NONE: this rank joins none and *sub becomes NULL
 * key       any number
 * returns   as ring_comm_create, or in a group 0; RING_EINVAL, RING_ENOMEM
 * blocking  like a call on comm, then at most create_timeout_ms
 */
#define RING_COLOR_NONE (-1)
RING_API int ring_comm_split(struct ring_comm *comm, int color, int key, struct ring_comm **sub);

RING_API int ring_comm_size(const struct ring_comm *comm);
RING_API int ring_comm_rank(const struct ring_comm *comm);

/* 0 while all is well, or the first error. Never blocks; any thread. */
RING_API int ring_comm_status(const struct ring_comm *comm);

/*
 * The last failed call or, once the communicator has failed, its first error, as a sentence: who,
 * where, what to do. "" if nothing failed. comm NULL: the calling thread's last failure that had
 * no communicator. Valid until the next call of this thread.
 */
RING_API const char *ring_comm_error(const struct ring_comm *comm);

/*
 * Counters of what was sent and received; stats->size must be set.
 * returns   0; RING_EINVAL
 */
RING_API int ring_comm_stats(const struct ring_comm *comm, struct ring_stats *stats);

/*
 * Ends the communicator's calls, running and to come, with RING_EABORTED on every rank, naming
 * this one. Any thread. The communicator must still be destroyed.
 */
RING_API int ring_comm_abort(struct ring_comm *comm);

/*
 * Says goodbye to the neighbours and frees everything; NULL is allowed. Calls still queued on
 * streams complete first, or fail. Blocks for at most one second beyond them. Streams must have
 * been destroyed, and no open group may hold calls on it; its operations, regions and memory go
 * with it.
 *
 * A process that ends by exit() or from main() without it says goodbye all the same, in at most a
 * second: no other rank's call fails if it needs nothing more of this one. One that ends inside a
 * call, or by _exit() or a signal, is taken for dead.
 */
RING_API void ring_comm_destroy(struct ring_comm *comm);

/*
 * Reduces `count` elements over all ranks; every rank receives the result, equal bit for bit.
 *
 * send, recv  count elements each, any alignment; equal for in place, else disjoint
 * count       elements (not bytes), equal on all ranks; 0 is allowed
 * stream      NULL blocks until recv is complete here (other ranks may still be working); else
 *             returns at once, and send and recv belong to the call until its position is complete
 * returns     0; RING_EINVAL at once on bad arguments, the communicator stays usable;
 *             RING_EPEER, RING_ETIMEDOUT, RING_EMISMATCH or RING_EABORTED if the call failed:
 *             then recv is undefined (untouched for RING_EMISMATCH) and the communicator failed;
 *             collectives before a mismatching one still complete
 * order       the block of rank r is the r-th share of the vector; shares differ by at most one
 *             element, longer first. It is added from the position after r's on the ring all the
 *             way around to r itself: ((x[p+1] + x[p+2]) + ...) + x[p], positions modulo N,
 *             whatever the algorithm, chunks, channels, transports and timing. So the bits of a sum
 *             of floats depend on the count, and on the element's place. With options.order "rank"
 *             they do not: every element is x[0] + x[1] + ... + x[N-1], by ranks
 * bytes       of P = count * element size: around the ring a rank sends 2P less its own block and
 *             the next rank's; in two shots and directly P, and its own block N - 2 times more;
 *             in one shot (N - 1) P; along a tree P to each rank right below it, and up P of its
 *             own and of each rank below it
 * source      Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms", section 3; shots:
 *             Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication
 *             operations in MPICH"
 */
RING_API int ring_all_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
			     enum ring_datatype type, enum ring_op op, struct ring_stream *stream);

/*
 * Reduces size * recv_count elements over all ranks; rank r receives the r-th part.
 *
 * send      size * recv_count elements
 * recv      recv_count elements; in place: recv == send + rank * recv_count elements
 * bytes     a rank sends (N - 1) * recv_count elements
 *
 * Otherwise as ring_all_reduce. send is not changed, except in place its own part.
 */
RING_API int ring_reduce_scatter(struct ring_comm *comm, const void *send, void *recv,
				 size_t recv_count, enum ring_datatype type, enum ring_op op,
				 struct ring_stream *stream);

/*
 * Every rank receives what all ranks send, in rank order.
 *
 * send      send_count elements; in place: send == recv + rank * send_count elements
 * recv      size * send_count elements
 * bytes     a rank sends (N - 1) * send_count elements
 *
 * Otherwise as ring_all_reduce.
 */
RING_API int ring_all_gather(struct ring_comm *comm, const void *send, void *recv,
			     size_t send_count, enum ring_datatype type, struct ring_stream *stream);

/*
 * Every rank receives what root sends.
 *
 * send      count elements, read on root only; may be NULL elsewhere
 * recv      count elements; equal to send for in place
 * bytes     each rank but the last of a chain sends count elements once; in one shot, root to each;
 *           down a tree, each rank to those below it
 * stream    as ring_all_reduce
 *
 * Otherwise as ring_all_reduce.
 */
RING_API int ring_broadcast(struct ring_comm *comm, const void *send, void *recv, size_t count,
			    enum ring_datatype type, int root, struct ring_stream *stream);

/*
 * Reduces `count` elements over all ranks; root receives the result.
 *
 * send      count elements
 * recv      count elements, written on root only; may be NULL elsewhere; equal to send for in place
 * order     ((x[r+1] + x[r+2]) + ...) + x[r] for r the position of root, positions modulo N; or
 *           by ranks, as in ring_all_reduce
 * bytes     each rank but root sends count elements once
 *
 * Otherwise as ring_all_reduce.
 */
RING_API int ring_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
			 enum ring_datatype type, enum ring_op op, int root,
			 struct ring_stream *stream);

/*
 * Root receives what all ranks send, in rank order. Each part goes straight to root.
 *
 * send      send_count elements; in place on root: send == recv + root * send_count elements
 * recv      size * send_count elements, written on root only; may be NULL elsewhere
 * bytes     each rank but root sends send_count elements
 *
 * Otherwise as ring_all_reduce.
 */
RING_API int ring_gather(struct ring_comm *comm, const void *send, void *recv, size_t send_count,
			 enum ring_datatype type, int root, struct ring_stream *stream);

/*
 * Rank r receives the r-th part of what root sends. Each part goes straight to its rank.
 *
 * send      size * recv_count elements, read on root only; may be NULL elsewhere
 * recv      recv_count elements; in place on root: recv == send + root * recv_count elements
 * bytes     root sends (N - 1) * recv_count elements
 *
 * Otherwise as ring_all_reduce.
 */
RING_API int ring_scatter(struct ring_comm *comm, const void *send, void *recv, size_t recv_count,
			  enum ring_datatype type, int root, struct ring_stream *stream);

/*
 * Every rank sends a part to every rank: part r of send goes to rank r and becomes part `rank` of
 * its recv. Each part goes straight to its rank.
 *
 * send, recv  size * count_per_peer elements each, disjoint
 * bytes       a rank sends (N - 1) * count_per_peer elements
 *
 * Otherwise as ring_all_reduce.
 */
RING_API int ring_all_to_all(struct ring_comm *comm, const void *send, void *recv,
			     size_t count_per_peer, enum ring_datatype type,
			     struct ring_stream *stream);

/*
 * The same calls with parts that differ in length. counts[size] has the elements of each rank's
 * part, 0 is allowed, and begins[size] the element of the buffer at which it begins: MPI's counts
 * and displacements. begins NULL puts the parts one behind the other, in rank order; what lies
 * between them is not touched, and parts must not overlap. Both arrays are copied at once.
 *
 * Where all ranks are given all counts, these must be equal. Else what a rank sends must be what
 * its receiver expects; RING_EMISMATCH names both. In an all-to-all only the receiver finds out: it
 * tells the others, who may have completed this call by then, and fail in the next.
 *
 * Otherwise as the calls of even parts: order of additions, streams, groups, errors.
 */

/*
 * Reduces the parts over all ranks; rank r receives part r, of counts[r] elements.
 *
 * send      the parts of all ranks, one behind the other
 * recv      counts[rank] elements; in place: where this rank's part of send is
 * counts    equal on all ranks
 * bytes     a rank sends all parts but its own
 */
RING_API int ring_reduce_scatterv(struct ring_comm *comm, const void *send, void *recv,
				  const size_t *counts, enum ring_datatype type, enum ring_op op,
				  struct ring_stream *stream);

/*
 * Every rank receives what all ranks send.
 *
 * send      counts[rank] elements; in place: where this rank's part of recv is
 * recv      counts[r] elements of each rank r, from element begins[r] on
 * counts    equal on all ranks; begins need not be
 * bytes     around the ring a rank sends all parts but that of the next one; in one shot its own
 *           part N - 1 times
 */
RING_API int ring_all_gatherv(struct ring_comm *comm, const void *send, void *recv,
			      const size_t *counts, const size_t *begins, enum ring_datatype type,
			      struct ring_stream *stream);

/*
 * Root receives what all ranks send.
 *
 * send         send_count elements; in place on root: where its part of recv is
 * recv         recv_counts[r] elements of each rank r; it, recv_counts and recv_begins are read on
 *              root only and may be NULL elsewhere
 * recv_counts  each must equal that rank's send_count
 * bytes        each rank but root sends send_count elements
 */
RING_API int ring_gatherv(struct ring_comm *comm, const void *send, size_t send_count, void *recv,
			  const size_t *recv_counts, const size_t *recv_begins,
			  enum ring_datatype type, int root, struct ring_stream *stream);

/*
 * Rank r receives part r of what root sends.
 *
 * send         send_counts[r] elements for each rank r; it, send_counts and send_begins are read on
 *              root only and may be NULL elsewhere
 * send_counts  each must equal that rank's recv_count
 * recv         recv_count elements; in place on root: where its part of send is
 * bytes        root sends all parts but its own
 */
RING_API int ring_scatterv(struct ring_comm *comm, const void *send, const size_t *send_counts,
			   const size_t *send_begins, void *recv, size_t recv_count,
			   enum ring_datatype type, int root, struct ring_stream *stream);

/*
 * Every rank sends a part to every rank, itself too.
 *
 * send, recv   send_counts[r] elements for each rank r, and recv_counts[r] from it; disjoint
 * recv_counts  each must equal what that rank's send_counts say of this one
 * bytes        a rank sends all parts but the one to itself
 */
RING_API int ring_all_to_allv(struct ring_comm *comm, const void *send, const size_t *send_counts,
			      const size_t *send_begins, void *recv, const size_t *recv_counts,
			      const size_t *recv_begins, enum ring_datatype type,
			      struct ring_stream *stream);

/*
 * Names the calls that the calling thread makes from now on, for people: "ALLREDUCE 12 of bucket 3"
 * stands in traces, beside the call, and in sentences about it. The text is copied; of more than
 * RING_TAG_BYTES - 1 bytes the rest is left out, and control characters become '?'. NULL or "" ends
 * it. Each thread has its own; ranks need not agree.
 */
#define RING_TAG_BYTES 64
RING_API void ring_call_tag(const char *tag);

/* Returns, or completes on its stream, once every rank has entered; else as ring_all_reduce. */
RING_API int ring_barrier(struct ring_comm *comm, struct ring_stream *stream);

/*
 * Sends `count` elements to rank `peer`, which must receive as many of the same type. Messages
 * between two ranks arrive in the order in which they were sent; 0 elements are a message too.
 *
 * stream    as ring_all_reduce; makes progress beside calls of other streams, collectives too, so
 *           ranks may exchange with the send on one and the receive on another
 * order     those to one rank leave in the order of the calls, whatever streams they are on, and
 *           those of one stream run one after the other, with its other calls. Nothing else is
 *           ordered: what a message brings is for calls of its stream, or for whoever has waited
 * blocking  without a stream, until buffer may change again, which may be before or after the peer
 *           receives; to exchange without streams, or with oneself, put both into a group
 * returns   0; RING_EMISMATCH if count or type differ: at once at the receiver, whose buffer is
 *           untouched, in this call or the next at the sender; otherwise as ring_all_reduce
 * bytes     count elements, straight to the peer
 */
RING_API int ring_send(struct ring_comm *comm, const void *buffer, size_t count,
		       enum ring_datatype type, int peer, struct ring_stream *stream);

/*
 * Receives what rank `peer` sends with ring_send; blocks until it is here. RING_EPEER within two
 * seconds if the peer destroyed its communicator instead. Otherwise as ring_send.
 */
RING_API int ring_recv(struct ring_comm *comm, void *buffer, size_t count, enum ring_datatype type,
		       int peer, struct ring_stream *stream);

/*
 * Opens a group in the calling thread: calls up to the matching ring_group_end() are only noted,
 * and run together there. Groups nest; the outermost counts.
 *
 * What a group may hold: sends and receives, which progress at the same time, in any order;
 * collectives, which run in the order of their calls, beside the group's sends and receives; calls
 * of several communicators, which progress at the same time; and ring_comm_create() and
 * ring_comm_split() for several ranks in one thread, where *comm or *sub is set when the group
 * ends. A communicator must outlive an open group that holds its calls.
 *
 * returns   0; RING_ENOMEM
 */
RING_API int ring_group_start(void);

/*
 * Runs the group's calls. Those on streams are queued, the others are complete when it returns.
 *
 * returns   0; RING_EINVAL if no group is open; RING_EINVAL if one of the group's calls had bad
 *           arguments: then none of them was made; else the first error of a call that ran here
 * blocking  as the calls would
 */
RING_API int ring_group_end(void);

/*
 * Makes an operation: the sum of every rank's elements, each multiplied by the rank's own scalar
 * first. Usable in the reducing calls of this communicator with elements of `type`.
 *
 * scalar    one element of type in host memory, copied at once; ranks may have different ones
 * returns   0; RING_EINVAL; RING_ENOMEM
 */
RING_API int ring_op_create_premul_sum(struct ring_comm *comm, const void *scalar,
				       enum ring_datatype type, enum ring_op *op);

/*
 * What a program's own operation does: to[i] becomes to[i] op from[i], for `count` elements of the
 * type that it was made for. Both are in host memory, disjoint, aligned to their elements, and its
 * only until it returns.
 */
typedef void ring_op_function(void *to, const void *from, size_t count, void *context);

/*
 * Makes an operation of a function of the program. Usable in the reducing calls of this
 * communicator with elements of `type` in host memory: RING_EINVAL on a device's.
 *
 * A call is cut into pieces of any number of elements, and the function is called for pieces of two
 * ranks' inputs, or of what it made of them. It must be associative, or its results depend on the
 * order of ring_all_reduce(), and commute bit for bit, or ranks may receive different bits. All
 * ranks must give the same function; handles may differ.
 *
 * context   given to the function as it is; must live as long as the operation and its calls
 * threads   the function is called by the thread that makes the call or by one of the library's,
 *           never by two at a time for one communicator, and must call no function of this library.
 *           Rounding is to nearest meanwhile
 * returns   0; RING_EINVAL; RING_ENOMEM
 */
RING_API int ring_op_create(struct ring_comm *comm, ring_op_function *function, void *context,
			    enum ring_datatype type, enum ring_op *op);

/* Forgets the operation; calls already made with it are not concerned. returns 0; RING_EINVAL */
RING_API int ring_op_destroy(struct ring_comm *comm, enum ring_op op);

/*
 * Allocates memory that ranks of the same host can share, page-aligned and zeroed. A local call;
 * the memory can be used like any other, and in calls on any communicator of this process.
 *
 * Where options.device names a device it is memory of that, aligned to 64 bytes and not zeroed: of
 * the device with that number, else of the one that the communicator's calls have used, else the
 * calling thread's own or the first. No stream may be waiting for this thread.
 *
 * returns   0; RING_EINVAL; RING_ENOMEM; RING_ENOTSUP if there is no such device; RING_ESYSTEM
 */
RING_API int ring_mem_alloc(struct ring_comm *comm, size_t bytes, void **memory);

/* Frees what ring_mem_alloc() gave; no call may be using it. returns 0; RING_EINVAL */
RING_API int ring_mem_free(struct ring_comm *comm, void *memory);

/*
 * Announces that calls of any communicator will use this memory often. A hint: no result depends on
 * it. The memory stays the caller's, mapped as it is while it is registered: RDMA devices send from
 * where it lies, and receive there. Other devices of the host reach a device's memory (cudaMalloc)
 * where it lies, as that of ring_mem_alloc(). Other processes cannot open memory of pools
 * (cudaMallocAsync): calls on it go by memory of the host, which the log says.
 *
 * Deregister memory before it is freed. Other processes may still have a device's memory open: free
 * it after two more calls of all ranks in each communicator that used it, made while no stream
 * waits for another call, or once that is gone.
 *
 * returns   0; RING_EINVAL if the range is empty, not mapped, or not within one device's memory;
 *           RING_ENOMEM; RING_ESYSTEM
 */
RING_API int ring_mem_register(struct ring_comm *comm, void *memory, size_t bytes,
			       struct ring_region **region);
RING_API int ring_mem_deregister(struct ring_comm *comm, struct ring_region *region);

/*
 * Makes a stream. From the first one on, a thread of the library runs the communicator's calls:
 * collectives one after the other in the order they were made, whichever stream they name; sends
 * and receives beside them, as ring_send says; a stream's calls one after the other. All run in
 * that one thread, so none is held up by another that waits.
 *
 * returns   0; RING_EINVAL, RING_ENOMEM, RING_ESYSTEM
 */
RING_API int ring_stream_create(struct ring_comm *comm, struct ring_stream **stream);

/*
 * Makes a stream whose calls are ordered by one of CUDA's. A call begins once all is done that the
 * CUDA stream was given before it, and what the CUDA stream is given afterwards waits until the
 * call is complete. The host does not wait: calls return at once. Among each other they are ordered
 * as those of other streams.
 *
 * A call that fails also lets the CUDA stream go on: what lies after it runs, on buffers whose
 * contents are undefined. ring_stream_wait(), ring_stream_test() and ring_comm_status() tell.
 *
 * cuda_stream  a cudaStream_t or CUstream of any device's primary context, of a lower priority than
 *              the highest; it must live until the ring_stream is destroyed. NULL and
 *              cudaStreamLegacy: the legacy default stream of the thread's current device;
 *              cudaStreamPerThread: the calling thread's, which alone can make calls on it then
 * blocking     the first one of a communicator is a collective call of all ranks, and makes all
 *              links at once that calls on the device's memory may need. It allocates and pins
 *              memory, so it also waits for all work that the device was given. In a group
 *              ring_group_end() does that, and calls on the stream may follow behind it
 * returns      0; RING_ENOTSUP if there is no CUDA, or no way to order calls by that stream;
 *              RING_ENOTSUP if it is being captured, as calls on it do then that the host carries
 *              out, before anything has happened; RING_EINVAL, RING_ENOMEM, RING_ESYSTEM; else
 *              as a call
 */
RING_API int ring_stream_from_cuda(struct ring_comm *comm, void *cuda_stream,
				   struct ring_stream **stream);

/*
 * Waits for the stream's calls, and for those who are told of them, then frees it; NULL is allowed.
 * No other thread may use it then.
 */
RING_API void ring_stream_destroy(struct ring_stream *stream);

/*
 * The position of the stream's latest call; 0 if it had none. Positions grow by one per call. Any
 * thread.
 */
RING_API uint64_t ring_stream_position(const struct ring_stream *stream);

/*
 * Waits until the call at `position` and all before it on this stream are complete. Any thread, and
 * any number of them, for any positions.
 * returns   0; the error of the first of them that failed; RING_EINVAL if there is no such call
 */
RING_API int ring_stream_wait(struct ring_stream *stream, uint64_t position);

/* As ring_stream_wait, but never blocks: RING_EAGAIN if not complete. */
RING_API int ring_stream_test(struct ring_stream *stream, uint64_t position);

/*
 * Has done(context, result) called, once, when the call at `position` and all before it on this
 * stream are complete; result is what ring_stream_wait() returns then. Any thread.
 *
 * The library's thread that runs the communicator's calls calls it, or this thread, before it
 * returns, if they are complete already. Those of one stream are called in the order of their
 * positions. No call of the communicator goes on until done() returns: it must not block, nor throw
 * in C++. It may call ring_stream_position(), _test(), _times() and _notify(), ring_comm_status(),
 * ring_comm_error() and ring_comm_abort(), and nothing else of this communicator's.
 *
 * A call that fails is complete as well, so done() is called whatever happens: at the latest in
 * ring_stream_destroy(), which returns when all of the stream's have returned.
 *
 * returns   0; RING_EINVAL if there is no such call; RING_ENOMEM; then it is never called
 */
RING_API int ring_stream_notify(struct ring_stream *stream, uint64_t position,
				void (*done)(void *context, int result), void *context);

/*
 * Opens a descriptor for poll(2), select(2) or epoll(7), which is readable from when the call at
 * `position` and all before it on this stream are complete, or have failed: ring_stream_test()
 * tells. Any thread.
 *
 * fd        the caller's to close(2), at any time, also after the stream is gone; nothing need be
 *           read from it. It is close-on-exec
 * returns   0; RING_EINVAL if there is no such call; RING_ENOMEM; RING_ESYSTEM: there are no
 *           descriptors left
 */
RING_API int ring_stream_fd(struct ring_stream *stream, uint64_t position, int *fd);

/*
 * Tells when the call at `position` ran, in nanoseconds of CLOCK_MONOTONIC. It began when the calls
 * before it were done, and may have waited for other ranks since; it ended when it was complete
 * here, or had failed. A stream remembers its last RING_STREAM_TIMES complete calls.
 *
 * returns   0; RING_EAGAIN if not complete; RING_EINVAL if there is no such call, or it is
 *           forgotten
 */
#define RING_STREAM_TIMES 256
RING_API int ring_stream_times(struct ring_stream *stream, uint64_t position, uint64_t *began_ns,
			       uint64_t *ended_ns);

#ifdef __cplusplus
}
#endif
#endif
