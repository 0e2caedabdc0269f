/* SPDX-License-Identifier: MIT */
/*
 * Calls on streams as kernels that the host launches and leaves alone, from their PTX over the fake
 * driver: each rank on a device of its own, with links in pinned memory. They are right between
 * others and in graphs that are launched again; nothing that the program calls meanwhile holds them
 * up; and they end where they cannot go on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "kernels/cuda/gpu/engine_call.h"
#include "tests/harness.h"
#include "transport/slot_fifo.h"

#define RANKS 4
#define CHANNELS 2
#define STREAMS 2
#define DEPTH 3
#define SLOT_BYTES 256
#define COUNT 300
#define BYTES (COUNT * sizeof(int32_t))
#define THREADS 32 /* of a block: the interpreter takes them in turn */
#define TEXT "tests/cuda/ptx/engine.ptx"

static char *text; /* the kernel's PTX */

struct rank {
	int number;
	struct CUctx_st *context;
	struct CUstream_st *streams[STREAMS];
	struct CUfunc_st *kernel;
	struct CUevent_st *last; /* behind the call before, for one on another stream */
	void *channels;          /* [CHANNELS], the device's */
	struct ring_engine_report *report;
	uint64_t launched;
	void *input, *output; /* [COUNT], the device's */
	int32_t *host;        /* the same, pinned      */
};

struct team {
	int size;
	int order[RANKS];
	struct ring_fifo *fifos[RANKS][CHANNELS]; /* to a rank */
	size_t fifo_bytes;
	struct rank ranks[RANKS];
};

/* ---- a team ----------------------------------------------------------------------------------- */

static struct ring_fifo *make_fifo(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK(device->pin(memory, bytes) == 0);
	struct ring_fifo *fifo = memory;
	fifo->depth = DEPTH;
	fifo->slot_bytes = SLOT_BYTES;
	return fifo;
}

static struct ring_engine_link end_of(struct ring_fifo *fifo)
{
	return (struct ring_engine_link){.flags = (unsigned char *)fifo->flags,
					 .slots = fifo->slots,
					 .head = (uint64_t *)&fifo->head,
					 .depth = DEPTH,
					 .slot_bytes = SLOT_BYTES};
}

static void enter(const struct rank *rank)
{
	CUDA_MUST(cuda.context_set(rank->context));
}

static void *pinned(size_t bytes)
{
	void *memory;
	CUDA_MUST(cuda.host_alloc(&memory, bytes, RING_CUDA_HOST_PORTABLE));
	memset(memory, 0, bytes);
	return memory;
}

/* Counters that the device has, and the words that it shares with the host. */
static void open_engine(const struct team *team, struct rank *rank)
{
	const size_t bytes = CHANNELS * sizeof(struct ring_engine_channel);
	struct ring_engine_channel *channels = pinned(bytes);
	struct CUmod_st *module;
	for (int c = 0; c < CHANNELS; c++) {
		channels[c].out = end_of(team->fifos[(rank->number + 1) % team->size][c]);
		channels[c].in = end_of(team->fifos[rank->number][c]);
	}
	rank->report = pinned(sizeof(*rank->report));
	CUDA_MUST(cuda.memory_alloc(&rank->channels, bytes));
	CUDA_MUST(cuda.memory_copy(rank->channels, channels, bytes, rank->streams[0]));
	CUDA_MUST(cuda.stream_synchronize(rank->streams[0]));
	CUDA_MUST(cuda.host_free(channels));
	CUDA_MUST(cuda.event_create(&rank->last, RING_CUDA_EVENT_NO_TIMING));
	CUDA_MUST(cuda.module_load(&module, text));
	CUDA_MUST(cuda.module_function(&rank->kernel, module, "call"));
	CUDA_MUST(cuda.function_load(rank->kernel));
}

static void open_rank(struct team *team, int number)
{
	struct rank *rank = &team->ranks[number];
	int devices;
	rank->number = number;
	CUDA_MUST(cuda.device_count(&devices));
	CUDA_MUST(cuda.primary_retain(&rank->context, number % devices));
	enter(rank);
	for (int i = 0; i < STREAMS; i++)
		CUDA_MUST(cuda.stream_create(&rank->streams[i], RING_CUDA_STREAM_NON_BLOCKING, 0));
	open_engine(team, rank);
	CUDA_MUST(cuda.memory_alloc(&rank->input, BYTES));
	CUDA_MUST(cuda.memory_alloc(&rank->output, BYTES));
	rank->host = pinned(BYTES);
}

static struct team *open_team(int size)
{
	static struct team team;
	CUDA_MUST(cuda.init(0));
	team = (struct team){.size = size};
	team.fifo_bytes = (ring_fifo_memory(DEPTH, SLOT_BYTES) + 4095) / 4096 * 4096;
	for (int i = 0; i < size * CHANNELS; i++)
		team.fifos[i / CHANNELS][i % CHANNELS] = make_fifo(team.fifo_bytes);
	for (int i = 0; i < size; i++)
		team.order[i] = i;
	for (int i = 0; i < size; i++)
		open_rank(&team, i);
	return &team;
}

static void stop(const struct rank *rank)
{
	__atomic_store_n(&rank->report->stop, 1, __ATOMIC_RELAXED);
}

static void close_team(struct team *team)
{
	for (int i = 0; i < team->size; i++) {
		struct rank *rank = &team->ranks[i];
		enter(rank);
		stop(rank);
		for (int k = 0; k < STREAMS; k++) {
			CUDA_MUST(cuda.stream_synchronize(rank->streams[k]));
			CUDA_MUST(cuda.stream_destroy(rank->streams[k]));
		}
		CUDA_MUST(cuda.event_destroy(rank->last));
		CUDA_MUST(cuda.memory_free(rank->channels));
		CUDA_MUST(cuda.host_free(rank->report));
		CUDA_MUST(cuda.memory_free(rank->input));
		CUDA_MUST(cuda.memory_free(rank->output));
		CUDA_MUST(cuda.host_free(rank->host));
	}
	for (int i = 0; i < team->size * CHANNELS; i++) {
		device->unpin(team->fifos[i / CHANNELS][i % CHANNELS], team->fifo_bytes);
		munmap(team->fifos[i / CHANNELS][i % CHANNELS], team->fifo_bytes);
	}
}

/* ---- calls ------------------------------------------------------------------------------------ */

static struct ring_engine_call call_of(const struct team *team, const struct rank *rank, int count)
{
	struct ring_engine_call call = {
		.params = {.kind = RING_KIND_ALL_REDUCE,
			   .algorithm = RING_ALGORITHM_RING,
			   .size = team->size,
			   .position = rank->number,
			   .count = (uint64_t)count,
			   .element_bytes = sizeof(int32_t),
			   .chunk_bytes = SLOT_BYTES,
			   .chunks_per_round = DEPTH - 1,
			   .channels = CHANNELS},
		.record = ring_record_make(RING_KIND_ALL_REDUCE, 0, (uint64_t)count, RING_INT32,
					   RING_SUM, -1),
		.input = rank->input,
		.output = rank->output,
		.timeout_ns = UINT64_C(60000000000),
		.channels = rank->channels,
		.report = rank->report,
	};
	for (int i = 0; i < team->size; i++)
		call.order[i] = i;
	return call;
}

/* Behind the call before, whatever stream that was on; but a graph's are ordered by the program. */
static uint64_t launch(struct rank *rank, const struct ring_engine_call *from, int stream)
{
	struct CUstream_st *handle = rank->streams[stream];
	struct ring_engine_call call = *from;
	int status;
	call.number = ++rank->launched;
	CUDA_MUST(cuda.is_capturing(handle, &status));
	if (status == RING_CUDA_CAPTURE_NONE)
		CUDA_MUST(cuda.stream_wait_event(handle, rank->last, 0));
	CUDA_MUST(cuda.launch(rank->kernel, CHANNELS, 1, 1, THREADS, 1, 1, 0, handle,
			      (void *[]){&call}, NULL));
	if (status == RING_CUDA_CAPTURE_NONE)
		CUDA_MUST(cuda.event_record(rank->last, handle));
	return call.number;
}

/* The last call that is complete on all channels. */
static uint64_t progress(const struct rank *rank)
{
	uint64_t least = UINT64_MAX;
	for (int c = 0; c < CHANNELS; c++) {
		uint64_t number = __atomic_load_n(&rank->report->numbers[c], __ATOMIC_ACQUIRE);
		least = number < least ? number : least;
	}
	return least;
}

/* returns the first channel that says why it has ended a call early; -1: none does */
static int find_error(const struct rank *rank, struct ring_engine_error *error)
{
	for (int c = 0; c < CHANNELS; c++)
		if (__atomic_load_n(&rank->report->errors[c].err, __ATOMIC_ACQUIRE)) {
			*error = rank->report->errors[c];
			return c;
		}
	return -1;
}

/* The input, out and back in again, all on the stream. */
static void give_input(struct rank *rank, int32_t value, int stream)
{
	for (int i = 0; i < COUNT; i++)
		rank->host[i] = value + i;
	CUDA_MUST(cuda.memory_copy(rank->input, rank->host, BYTES, rank->streams[stream]));
}

static void check_output(struct rank *rank, int32_t value, int32_t each, int stream)
{
	CUDA_MUST(cuda.stream_synchronize(rank->streams[stream]));
	CUDA_MUST(cuda.memory_copy(rank->host, rank->output, BYTES, rank->streams[stream]));
	CUDA_MUST(cuda.stream_synchronize(rank->streams[stream]));
	for (int i = 0; i < COUNT; i++)
		CHECK(rank->host[i] == value + each * i);
}

/* Rank r has r + turn + i at i. */
static void call_all(struct team *team, int turn, int stream)
{
	int sum = 0;
	for (int r = 0; r < team->size; r++) {
		struct rank *rank = &team->ranks[r];
		struct ring_engine_call call = call_of(team, rank, COUNT);
		enter(rank);
		give_input(rank, r + turn, stream);
		launch(rank, &call, stream);
		sum += r + turn;
	}
	for (int r = 0; r < team->size; r++) {
		enter(&team->ranks[r]);
		check_output(&team->ranks[r], sum, team->size, stream);
	}
}

static void any_number_of_ranks(void)
{
	for (int size = 1; size <= RANKS; size++) {
		struct team *team = open_team(size);
		for (int turn = 0; turn < 3; turn++)
			call_all(team, turn, 0);
		for (int r = 0; r < size; r++)
			CHECK(progress(&team->ranks[r]) == 3);
		close_team(team);
	}
}

/* Calls on streams in turn, which nothing but the engine orders: none waits for another by the host. */
static void several_streams(void)
{
	struct team *team = open_team(2);
	for (int r = 0; r < 2; r++) {
		enter(&team->ranks[r]);
		give_input(&team->ranks[r], r, 0);
		CUDA_MUST(cuda.stream_synchronize(team->ranks[r].streams[0]));
	}
	for (int r = 0; r < 2; r++) {
		struct rank *rank = &team->ranks[r];
		struct ring_engine_call call = call_of(team, rank, COUNT);
		enter(rank);
		for (int turn = 0; turn < 20; turn++)
			CHECK(launch(rank, &call, turn % STREAMS) == (uint64_t)turn + 1);
	}
	for (int r = 0; r < 2; r++) {
		enter(&team->ranks[r]);
		check_output(&team->ranks[r], 1, 2, 1);
		CHECK(progress(&team->ranks[r]) == 20);
	}
	close_team(team);
}

/* ---- graphs ----------------------------------------------------------------------------------- */

#define REPLAYS 10

static struct CUgraphExec_st *capture(struct team *team, struct rank *rank)
{
	struct ring_engine_call call = call_of(team, rank, COUNT);
	struct CUgraph_st *graph;
	struct CUgraphExec_st *exec;
	enter(rank);
	CUDA_MUST(cuda.capture_begin(rank->streams[0], CUDA_CAPTURE_GLOBAL));
	for (int i = 0; i < 3; i++)
		launch(rank, &call, 0);
	CUDA_MUST(cuda.capture_end(rank->streams[0], &graph));
	CUDA_MUST(cuda.graph_instantiate(&exec, graph, 0));
	CUDA_MUST(cuda.graph_destroy(graph));
	return exec;
}

static void graphs_between_calls(void)
{
	struct CUgraphExec_st *execs[RANKS];
	struct team *team = open_team(3);
	call_all(team, 5, 0);
	for (int r = 0; r < team->size; r++)
		execs[r] = capture(team, &team->ranks[r]);
	for (int replay = 0; replay < REPLAYS; replay++) {
		for (int r = 0; r < team->size; r++) {
			enter(&team->ranks[r]);
			give_input(&team->ranks[r], r + replay, 0);
			CUDA_MUST(cuda.graph_launch(execs[r], team->ranks[r].streams[0]));
		}
		for (int r = 0; r < team->size; r++) {
			enter(&team->ranks[r]);
			check_output(&team->ranks[r], 3 + 3 * replay, 3, 0);
		}
		if (replay % 5 == 0)
			call_all(team, replay, 0);
	}
	for (int r = 0; r < team->size; r++)
		CUDA_MUST(cuda.graph_exec_destroy(execs[r]));
	close_team(team);
}

/* ---- what the program calls meanwhile ---------------------------------------------------------- */

enum deed { LOAD, ALLOC, FREE, FILL, SYNCHRONIZE, DEEDS };

static struct team *busy_team;
static enum deed deed;
static atomic_int called;

/* All that waits for what the device was given, and some of it with the context's lock in hand. */
static void do_deed(struct rank *rank, void *spare)
{
	struct CUmod_st *module;
	struct CUfunc_st *store;
	uint32_t *word = rank->input, value = 1;
	void *memory;
	switch (deed) {
	case LOAD:
	case FILL:
		CUDA_MUST(cuda.module_load(&module, "traps"));
		CUDA_MUST(cuda.module_function(&store, module, "trap_store"));
		for (int i = 0; i < (deed == FILL ? 2000 : 1); i++)
			CUDA_MUST(cuda.launch(store, 1, 1, 1, 1, 1, 1, 0, rank->streams[deed == LOAD],
					      (void *[]){&word, &value}, NULL));
		break;
	case ALLOC:
		CUDA_MUST(cuda.memory_alloc(&memory, 100));
		break;
	case FREE:
		CUDA_MUST(cuda.memory_free(spare));
		break;
	default:
		CUDA_MUST(cuda.context_synchronize());
	}
}

static void *be_busy(void *argument)
{
	struct rank *rank = argument;
	struct ring_engine_call call = call_of(busy_team, rank, COUNT);
	void *spare;
	enter(rank);
	CUDA_MUST(cuda.memory_alloc(&spare, 100));
	/* The later one calls when the other is likely to hold its context's lock. */
	while (rank->number == 1 && !atomic_load(&called))
		usleep(1000);
	usleep(rank->number * 20000);
	launch(rank, &call, 0);
	atomic_store(&called, 1);
	do_deed(rank, spare);
	CUDA_MUST(cuda.context_synchronize());
	return NULL;
}

static void whatever_else_is_called(void)
{
	pthread_t threads[2];
	busy_team = open_team(2);
	for (int i = 0; i < DEEDS; i++) {
		deed = (enum deed)i;
		atomic_store(&called, 0);
		for (int r = 0; r < 2; r++)
			CHECK(!pthread_create(&threads[r], NULL, be_busy, &busy_team->ranks[r]));
		for (int r = 0; r < 2; r++)
			pthread_join(threads[r], NULL);
	}
	close_team(busy_team);
}

/* ---- calls that cannot go on ------------------------------------------------------------------- */

static struct ring_engine_error await_error(const struct rank *rank)
{
	struct ring_engine_error error;
	while (find_error(rank, &error) < 0)
		usleep(1000);
	return error;
}

static void a_mismatch(void)
{
	struct team *team = open_team(2);
	for (int r = 0; r < 2; r++) {
		struct ring_engine_call call = call_of(team, &team->ranks[r], COUNT - r);
		enter(&team->ranks[r]);
		launch(&team->ranks[r], &call, 0);
	}
	for (int r = 0; r < 2; r++) {
		struct ring_engine_error error = await_error(&team->ranks[r]);
		CHECK(error.err == RING_EMISMATCH && error.peer == 1 - r && error.sequence == 1);
		CHECK(error.record.count == COUNT - 1 + (uint64_t)r);
		CHECK(error.record.kind == RING_KIND_ALL_REDUCE && error.record.sequence == 1);
		CHECK(progress(&team->ranks[r]) == 0);
	}
	close_team(team);
}

static void a_rank_that_never_calls(void)
{
	struct team *team = open_team(2);
	struct ring_engine_call call = call_of(team, &team->ranks[0], COUNT);
	call.timeout_ns = 100000000;
	enter(&team->ranks[0]);
	launch(&team->ranks[0], &call, 0);
	struct ring_engine_error error = await_error(&team->ranks[0]);
	CHECK(error.err == RING_ETIMEDOUT && error.peer == 1 && !error.outgoing);
	CHECK(error.want == 1 && error.have == 0);
	CUDA_MUST(cuda.stream_synchronize(team->ranks[0].streams[0]));
	close_team(team);
}

static void a_stop(void)
{
	struct team *team = open_team(2);
	struct ring_engine_call call = call_of(team, &team->ranks[0], COUNT);
	struct ring_engine_error error;
	enter(&team->ranks[0]);
	launch(&team->ranks[0], &call, 0);
	usleep(20000);
	CHECK(cuda.stream_query(team->ranks[0].streams[0]) == RING_CUDA_NOT_READY);
	stop(&team->ranks[0]);
	CUDA_MUST(cuda.stream_synchronize(team->ranks[0].streams[0]));
	CHECK(find_error(&team->ranks[0], &error) < 0);
	CHECK(progress(&team->ranks[0]) == 0);
	close_team(team);
}

/* ---- main -------------------------------------------------------------------------------------- */

#define DEVICES "RING_FAKE_CUDA_DEVICES=4"

static const struct cuda_case cases[] = {
	{"any number of ranks", any_number_of_ranks, DEVICES, false},
	{"calls on several streams", several_streams, DEVICES, false},
	{"graphs between calls", graphs_between_calls, DEVICES, false},
	{"whatever else the program calls meanwhile", whatever_else_is_called,
	 DEVICES " RING_FAKE_CUDA_LOCKS=1", false},
	{"a mismatch names the other call", a_mismatch, DEVICES, false},
	{"a rank that never calls", a_rank_that_never_calls, DEVICES, false},
	{"a stop ends a call that waits", a_stop, DEVICES, false},
	{NULL, NULL, NULL, false},
};

int main(int argc, char **argv)
{
	size_t bytes;
	text = harness_read(TEXT, &bytes);
	if (!text) {
		printf("there is no %s: it is run elsewhere\n", TEXT);
		return 77;
	}
	return cases_run(argc, argv, cases);
}
