/* SPDX-License-Identifier: MIT */
/*
 * Nothing is left behind: rounds of creating communicators, making every call of ringccl.h, erring and
 * destroying, with ranks as threads and with one thread that drives them all. After the first rounds
 * the process must have no more descriptors, threads, shared memory and heap, ever.
 *
 * A memory checker sees what is lost; this test also sees what is kept and never used again. Every
 * round has threads of its own, so that what the C library keeps for a thread goes with it. Under
 * valgrind:
 *
 *	GLIBC_TUNABLES=... valgrind --leak-check=full --error-exitcode=1 tests/multi/leak_test
 *
 * with the tunables below, as this program would start itself again to have them.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/holdings.h"

#define RANKS 3
#define PART 2000 /* elements of a rank's part */
#define ALL (RANKS * PART)
#define TRANSPORTS 3
#define ORDERS 6 /* of three ranks */
#define WARM_ROUNDS 6
#define TUNABLES                                                                                   \
	"glibc.pthread.stack_cache_size=0:glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"
#define LEAK_BYTES 24 /* the smallest block of the heap */

static const char *const transports[TRANSPORTS] = {"loopback", "shm", "tcp"};
static const int orders[ORDERS][RANKS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					  {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* The ranks of a round. */
struct crew {
	int round;
	pthread_barrier_t barrier;
	struct ring_unique_id id;
};

struct member {
	struct crew *crew;
	int rank;
	float *a, *b; /* [ALL] */
};

static int wrong(const struct member *member, const char *what, const struct ring_comm *comm)
{
	fprintf(stderr, "round %d, rank %d: %s: %s\n", member->crew->round, member->rank, what,
		ring_comm_error(comm));
	return 1;
}

/* ---- creating and destroying ----------------------------------------------------------------- */

static struct ring_options options_of(const struct crew *crew)
{
	struct ring_options options;
	ring_options_init(&options);
	options.transport = transports[crew->round % TRANSPORTS];
	return options;
}

static int create(struct member *member, const struct ring_options *options, struct ring_comm **comm)
{
	struct crew *crew = member->crew;
	pthread_barrier_wait(&crew->barrier);
	if (member->rank == 0 && ring_unique_id_create(&crew->id))
		return wrong(member, "identity", NULL);
	pthread_barrier_wait(&crew->barrier);
	return ring_comm_create(comm, RANKS, member->rank, &crew->id, options);
}

static int join(struct member *member, struct ring_comm **comm)
{
	struct ring_options options = options_of(member->crew);
	return create(member, &options, comm) ? wrong(member, "creation", NULL) : 0;
}

/* One after the other, in an order that changes. */
static void destroy_in_turn(struct member *member, struct ring_comm *comm)
{
	for (int turn = 0; turn < RANKS; turn++) {
		pthread_barrier_wait(&member->crew->barrier);
		if (orders[member->crew->round % ORDERS][turn] == member->rank)
			ring_comm_destroy(comm);
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int collectives(struct member *member, struct ring_comm *comm, struct ring_stream *stream)
{
	float *a = member->a, *b = member->b, scalar = 0.5f;
	const enum ring_datatype type = RING_FLOAT32;
	enum ring_op half;
	int bad = ring_op_create_premul_sum(comm, &scalar, type, &half) ||
		  ring_all_reduce(comm, a, b, ALL, type, half, stream) ||
		  ring_op_destroy(comm, half) ||
		  ring_op_create_premul_sum(comm, &scalar, type, &half);
	bad = bad || ring_all_reduce(comm, b, b, ALL, type, RING_AVG, stream) ||
	      ring_reduce_scatter(comm, a, b, PART, type, RING_SUM, stream) ||
	      ring_all_gather(comm, a, b, PART, type, stream) ||
	      ring_broadcast(comm, a, b, ALL, type, 1, stream) ||
	      ring_reduce(comm, a, b, ALL, type, RING_MAX, 2, stream) ||
	      ring_gather(comm, a, b, PART, type, 0, stream) ||
	      ring_scatter(comm, a, b, PART, type, 1, stream) ||
	      ring_all_to_all(comm, a, b, PART, type, stream) || ring_barrier(comm, stream);
	return bad ? wrong(member, "a collective", comm) : 0;
}

static int messages(struct member *member, struct ring_comm *comm, struct ring_stream *stream)
{
	const enum ring_datatype type = RING_FLOAT32;
	int rank = member->rank, next = (rank + 1) % RANKS, prev = (rank + RANKS - 1) % RANKS;
	int bad = ring_group_start() || ring_group_start();
	for (int i = 0; i < 3; i++)
		bad = bad || ring_recv(comm, member->b + i * PART, PART, type, prev, stream) ||
		      ring_send(comm, member->a, PART, type, next, stream);
	bad = bad || ring_group_end() || ring_send(comm, member->a, 1, type, rank, stream) ||
	      ring_all_reduce(comm, member->a, member->a, PART, type, RING_MIN, stream) ||
	      ring_recv(comm, member->b, 1, type, rank, stream) || ring_group_end();
	if (!bad && rank == 0)
		bad = ring_send(comm, member->a, ALL, type, 1, NULL);
	if (!bad && rank == 1)
		bad = ring_recv(comm, member->b, ALL, type, 0, NULL);
	return bad ? wrong(member, "messages", comm) : 0;
}

/* One of each is left to ring_comm_destroy(). */
static int memory(struct member *member, struct ring_comm *comm)
{
	struct ring_region *region, *kept;
	void *freed, *left;
	int bad = ring_mem_alloc(comm, 100000, &freed) || ring_mem_alloc(comm, 1, &left) ||
		  ring_mem_register(comm, member->a, ALL * sizeof(float), &region) ||
		  ring_mem_register(comm, member->b, 1, &kept) || ring_mem_free(comm, freed) ||
		  ring_mem_deregister(comm, region);
	return bad ? wrong(member, "memory", comm) : 0;
}

/* Two streams; the second one is destroyed while its calls are under way. */
static int streams(struct member *member, struct ring_comm *comm)
{
	struct ring_stream *stream, *other;
	if (ring_stream_create(comm, &stream) || ring_stream_create(comm, &other))
		return wrong(member, "streams", comm);
	int bad = collectives(member, comm, stream) || messages(member, comm, stream);
	int err = ring_stream_test(stream, ring_stream_position(stream));
	bad = bad || (err && err != RING_EAGAIN) ||
	      ring_stream_wait(stream, ring_stream_position(stream)) ||
	      collectives(member, comm, other);
	ring_stream_destroy(stream);
	ring_stream_destroy(other);
	return bad ? wrong(member, "calls on streams", comm) : 0;
}

/* Two of three ranks have a communicator of their own, which is destroyed before this one or after. */
static int all_calls(struct member *member)
{
	struct ring_comm *comm, *sub = NULL;
	struct ring_stats stats = {.size = sizeof(stats)};
	if (join(member, &comm))
		return 1;
	int color = member->rank == member->crew->round % RANKS ? RING_COLOR_NONE : 0;
	int bad = collectives(member, comm, NULL) || messages(member, comm, NULL) ||
		  memory(member, comm) || streams(member, comm) ||
		  ring_comm_split(comm, color, -member->rank, &sub) ||
		  (sub && ring_barrier(sub, NULL)) || ring_comm_stats(comm, &stats) ||
		  ring_comm_status(comm);
	if (bad)
		return wrong(member, "calls", comm);
	if (member->crew->round % 2)
		ring_comm_destroy(sub);
	destroy_in_turn(member, comm);
	if (member->crew->round % 2 == 0)
		ring_comm_destroy(sub);
	return 0;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* All are refused, and the communicator still works. */
static int refusals(struct member *member)
{
	const enum ring_datatype type = RING_FLOAT32;
	float *a = member->a, *b = member->b;
	struct ring_comm *comm, *sub;
	struct ring_stream *stream;
	struct ring_region *region;
	enum ring_op op;
	if (join(member, &comm))
		return 1;
	const int errors[] = {
		ring_all_reduce(comm, NULL, b, 1, type, RING_SUM, NULL),
		ring_reduce_scatter(comm, a, a + 1, PART, type, RING_SUM, NULL),
		ring_all_gather(comm, a, b, SIZE_MAX / 8, type, NULL),
		ring_broadcast(comm, a, b, 1, type, RANKS, NULL),
		ring_reduce(comm, a, b, 1, type, (enum ring_op)9, 0, NULL),
		ring_gather(comm, a, b, 1, (enum ring_datatype)99, 0, NULL),
		ring_scatter(comm, a, b, 1, type, -1, NULL),
		ring_all_to_all(comm, a, a, PART, type, NULL),
		ring_send(comm, a, 1, type, member->rank, NULL),
		ring_recv(comm, a, 1, type, RANKS, NULL),
		ring_comm_split(comm, -2, 0, &sub),
		ring_op_create_premul_sum(comm, NULL, type, &op),
		ring_op_destroy(comm, RING_SUM),
		ring_mem_register(comm, NULL, 1, &region),
		ring_mem_free(comm, a),
		ring_stream_create(NULL, &stream),
	};
	int bad = 0, count = sizeof(errors) / sizeof(errors[0]);
	for (int i = 0; i < count; i++)
		bad = bad || errors[i] != RING_EINVAL;
	bad = bad || ring_group_start() || ring_all_reduce(comm, a, b, 1, type, RING_SUM, NULL) ||
	      ring_send(comm, a, 1, type, RANKS, NULL) != RING_EINVAL ||
	      ring_group_end() != RING_EINVAL || ring_barrier(comm, NULL);
	if (bad)
		return wrong(member, "refusals", comm);
	destroy_in_turn(member, comm);
	return 0;
}

/* One rank differs in its count; calls that are queued behind fail with it, or are refused. */
static int mismatch(struct member *member)
{
	struct ring_comm *comm;
	struct ring_stream *stream;
	if (join(member, &comm) || ring_stream_create(comm, &stream))
		return 1;
	size_t count = PART + (member->rank == 1);
	ring_all_reduce(comm, member->a, member->b, count, RING_FLOAT32, RING_SUM, stream);
	ring_barrier(comm, stream);
	bool good = ring_barrier(comm, NULL) == RING_EMISMATCH;
	ring_stream_destroy(stream);
	if (!good)
		return wrong(member, "a mismatch", comm);
	ring_comm_destroy(comm);
	return 0;
}

/* Messages that rank 1 never takes part in: on a stream, and blocking. */
static bool is_left_waiting(struct member *member, struct ring_comm *comm,
			    struct ring_stream *stream)
{
	const enum ring_datatype type = RING_FLOAT32;
	int err = ring_group_start();
	if (!err)
		err = ring_recv(comm, member->a, PART, type, 1, stream);
	if (!err)
		err = ring_send(comm, member->b, ALL, type, 2 - member->rank, stream);
	if (!err)
		err = ring_send(comm, member->b, 1, type, 1, member->rank == 2 ? NULL : stream);
	int ended = ring_group_end();
	return (err == 0 || err == RING_EABORTED) && (ended == 0 || ended == RING_EABORTED);
}

/* Rank 1 aborts, while the others wait for messages that never come and for links being made. */
static int aborted(struct member *member)
{
	struct ring_comm *comm;
	struct ring_stream *stream;
	if (join(member, &comm) || ring_stream_create(comm, &stream))
		return 1;
	pthread_barrier_wait(&member->crew->barrier); /* it would end the others' creation, too */
	bool good = member->rank == 1 ? ring_comm_abort(comm) == 0
				      : is_left_waiting(member, comm, stream);
	good = ring_barrier(comm, NULL) == RING_EABORTED && good;
	ring_stream_destroy(stream);
	if (!good)
		return wrong(member, "an abort", comm);
	destroy_in_turn(member, comm);
	return 0;
}

/* Rank 2 has another depth: nobody gets a communicator. */
static int disagreement(struct member *member)
{
	struct ring_comm *comm = NULL;
	struct ring_options options = options_of(member->crew);
	options.depth = member->rank == 2 ? 3 : 2;
	int err = create(member, &options, &comm);
	return err != RING_EMISMATCH || comm ? wrong(member, "a disagreement", NULL) : 0;
}

static void *be_rank(void *argument)
{
	struct member *member = argument;
	member->a = calloc(ALL, sizeof(float));
	member->b = calloc(ALL, sizeof(float));
	intptr_t bad = !member->a || !member->b || all_calls(member) || refusals(member) ||
		       mismatch(member) || aborted(member) || disagreement(member);
	free(member->a);
	free(member->b);
	if (bad)
		exit(1); /* the others would wait for ever */
	return NULL;
}

/* ---- one thread, all ranks ------------------------------------------------------------------- */

static int create_group(const struct crew *crew, int first, struct ring_comm *comms[RANKS])
{
	struct ring_options options = options_of(crew);
	int bad = ring_group_start();
	for (int i = 0; !bad && i < RANKS; i++)
		ring_comm_create(&comms[i], RANKS, first + i, &crew->id, &options);
	return bad ? bad : ring_group_end();
}

static int drive_group(struct ring_comm **comms, float *send, float *recv)
{
	int bad = ring_group_start();
	for (int rank = 0; !bad && rank < RANKS; rank++)
		bad = ring_all_reduce(comms[rank], send, recv + rank * PART, PART, RING_FLOAT32,
				      RING_SUM, NULL) ||
		      ring_recv(comms[rank], recv + rank * PART, 1, RING_FLOAT32,
				(rank + 1) % RANKS, NULL) ||
		      ring_send(comms[rank], send, 1, RING_FLOAT32, (rank + 2) % RANKS, NULL);
	return bad || ring_group_end();
}

/* A communicator of one, as a launcher's environment says; its variables are set once. */
static int create_from_env(void)
{
	static char id_text[sizeof("RING_ID=") + 2 * sizeof(struct ring_unique_id)] = "RING_ID=";
	static char rank[] = "RING_RANK=0", size[] = "RING_SIZE=1";
	struct ring_unique_id id;
	struct ring_comm *comm;
	if (ring_unique_id_create(&id))
		return 1;
	char *text = id_text + strlen("RING_ID=");
	for (size_t i = 0; i < sizeof(id); i++)
		text += sprintf(text, "%02x", id.bytes[i]);
	putenv(id_text);
	putenv(rank);
	putenv(size);
	int bad = ring_comm_create_from_env(&comm, NULL) || ring_barrier(comm, NULL);
	if (!bad)
		ring_comm_destroy(comm);
	return bad;
}

static void *be_all(void *argument)
{
	struct crew *crew = argument;
	struct member member = {.crew = crew, .rank = -1};
	struct ring_comm *comms[RANKS] = {NULL};
	struct ring_unique_id noise = {.bytes = {1, 2, 3}};
	float *send = calloc(PART, sizeof(*send)), *recv = calloc(ALL, sizeof(*recv));
	if (!send || !recv || ring_comm_create(&comms[0], RANKS, 0, &noise, NULL) != RING_EINVAL ||
	    ring_unique_id_create(&crew->id) || create_group(crew, 1, comms) != RING_EINVAL ||
	    ring_group_end() != RING_EINVAL || create_from_env())
		exit(wrong(&member, "creations that are refused", NULL));
	/* The id still serves; used by nobody, it would wait for its ranks for ever. */
	if (create_group(crew, 0, comms) || drive_group(comms, send, recv))
		exit(wrong(&member, "a group of all ranks", comms[0]));
	for (int turn = 0; turn < RANKS; turn++)
		ring_comm_destroy(comms[orders[crew->round % ORDERS][turn]]);
	free(send);
	free(recv);
	return NULL;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void run_round(int round)
{
	struct crew crew = {.round = round};
	struct member members[RANKS];
	pthread_t threads[RANKS];
	pthread_barrier_init(&crew.barrier, NULL, RANKS);
	for (int rank = 0; rank < RANKS; rank++) {
		members[rank] = (struct member){.crew = &crew, .rank = rank};
		pthread_create(&threads[rank], NULL, be_rank, &members[rank]);
	}
	for (int rank = 0; rank < RANKS; rank++)
		pthread_join(threads[rank], NULL);
	pthread_create(&threads[0], NULL, be_all, &crew);
	pthread_join(threads[0], NULL);
	pthread_barrier_destroy(&crew.barrier);
}

/* What the process holds. */
struct holdings {
	int fds, threads, shared_maps;
	long heap_bytes;
};

static struct holdings look(void)
{
	struct mallinfo2 heap = mallinfo2();
	return (struct holdings){
		.fds = holdings_fds(),
		.threads = holdings_threads(),
		.shared_maps = holdings_shared_maps(),
		.heap_bytes = (long)(heap.uordblks + heap.hblkhd),
	};
}

/* Less than one block of the heap for each round. */
static bool has_grown(const struct holdings *now, const struct holdings *before, int rounds)
{
	return now->fds > before->fds || now->threads > before->threads ||
	       now->shared_maps > before->shared_maps ||
	       now->heap_bytes - before->heap_bytes >= (long)rounds * LEAK_BYTES;
}

static void print(const char *when, const struct holdings *held)
{
	printf("%-16s %4d descriptors, %2d threads, %2d shared maps, %7ld bytes of heap\n", when,
	       held->fds, held->threads, held->shared_maps, held->heap_bytes);
}

/* What the C library keeps of ended threads comes and goes, so it is told to keep nothing. */
static void keep_no_caches(char **argv)
{
	const char *given = getenv("GLIBC_TUNABLES");
	char all[1024];
	if (given && strstr(given, TUNABLES))
		return;
	snprintf(all, sizeof(all), "%s%s%s", given ? given : "", given ? ":" : "", TUNABLES);
	setenv("GLIBC_TUNABLES", all, 1);
	execv("/proc/self/exe", argv);
	perror("/proc/self/exe");
}

int main(int argc, char **argv)
{
	int rounds = harness_is_long(argc, argv) ? 100 : 2 * WARM_ROUNDS;
	struct holdings before = {0}, now;
	char when[32];
	double began = harness_clock();
	keep_no_caches(argv);
	setenv("RING_INTERFACE", "lo", 0);
	for (int round = 0; round < rounds; round++) {
		run_round(round);
		if (round == WARM_ROUNDS - 1)
			before = look();
	}
	/* Threads that have been joined may show a moment longer. */
	now = look();
	for (int i = 0; i < 100 * HARNESS_ROOM && has_grown(&now, &before, rounds - WARM_ROUNDS);
	     i++) {
		usleep(20000);
		now = look();
	}
	snprintf(when, sizeof(when), "after round %d", WARM_ROUNDS);
	print(when, &before);
	snprintf(when, sizeof(when), "after round %d", rounds);
	print(when, &now);
	printf("%.2f s\n", harness_clock() - began);
	return has_grown(&now, &before, rounds - WARM_ROUNDS);
}
