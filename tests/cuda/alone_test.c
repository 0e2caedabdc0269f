/* SPDX-License-Identifier: MIT */
/*
 * One rank alone is without: its driver fails a call, or the system has no descriptor. Each call that
 * a communicator makes of the driver fails, in turn, while it comes to have streams, or memory that
 * others reach, in its calls, and while it goes. Whatever it is, all ranks have the right results, or
 * errors with sentences, soon; and nothing is left. Patterns as arguments: only the functions of the
 * driver that they match, or "descriptors". $RING_TEST_CHECKS: only checks that match. RING_TEST_LONG:
 * all calls, else some.
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/device/twin.h"

#include "bench.h"

#define RANKS 3
#define VICTIM 1
#define SHOT 100    /* elements of a call in one shot */
#define LARGE 20000 /* of one around the ring */
#define BYTES (LARGE * sizeof(int32_t))
#define CHUNK 4000
#define STEP 127  /* only each of so many faults */
#define LIMITS 24 /* of descriptors, beside those that there are: behind it there are enough */
#define NO_LIMIT (1u << 20)
#define MOST_FDS 4096
#define SECONDS 6 /* for a team, on a quiet machine */

/* When the fault comes. */
enum phase { BEFORE_RESULTS, AT_THE_END, PHASES };

struct check {
	const char *name;
	int (*run)(struct bench *bench); /* returns an error of the library's */
	const char *engine, *maps;       /* RING_CUDA_ENGINE, RING_FAKE_CUDA_MAPS */
	bool limits;                     /* descriptors run out, too */
	bool threads;                    /* ranks are those of one process, which has the fault */
};

struct trial {
	const struct check *check;
	enum phase phase;
	char fault[80];
};

#define NAME(name, symbol, ...) #symbol,
static const char *const functions[] = {RING_CUDA_CALLS(NAME) RING_CUDA_MAPPING_CALLS(NAME)};
#undef NAME
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Of the victim: how many calls of each it makes. */
struct told {
	unsigned calls[FUNCTIONS];
};

static _Thread_local struct CUgraphExec_st *graph;

/* ---- what a communicator does ------------------------------------------------------------------ */

static int add(struct bench *bench, const void *from, void *to, size_t count,
	       struct ring_stream *stream)
{
	return ring_all_reduce(bench->comm, from, to, count, RING_INT32, RING_SUM, stream);
}

static int open_stream(struct bench *bench)
{
	return ring_stream_from_cuda(bench->comm, bench->handles[0], &bench->streams[0]);
}

/* By a kernel in one shot, by one around the ring if there are any, and by the host. */
static int on_stream(struct bench *bench)
{
	int err = open_stream(bench);
	struct ring_stream *stream = bench->streams[0];
	if (!err)
		err = add(bench, bench->send, bench->recv, SHOT, stream);
	if (!err)
		err = add(bench, bench->send, bench->recv, LARGE, stream);
	if (!err)
		err = ring_all_to_all(bench->comm, bench->send, bench->other, SHOT, RING_INT32,
				      stream);
	return err ? err : ring_stream_wait(stream, ring_stream_position(stream));
}

/* Whoever captures it must end that. */
static int in_graph(struct bench *bench)
{
	struct CUgraph_st *captured = NULL;
	int err = open_stream(bench);
	if (err)
		return err;
	CUDA_MUST(cuda.capture_begin(bench->handles[0], CUDA_CAPTURE_RELAXED));
	err = add(bench, bench->send, bench->recv, LARGE, bench->streams[0]);
	int ended = cuda.capture_end(bench->handles[0], &captured);
	if (err && captured)
		CUDA_MUST(cuda.graph_destroy(captured));
	if (err || ended)
		return err ? err : RING_ESYSTEM;
	CUDA_MUST(cuda.graph_instantiate(&graph, captured, 0));
	CUDA_MUST(cuda.graph_destroy(captured));
	for (int i = 0; i < 3; i++)
		CUDA_MUST(cuda.graph_launch(graph, bench->handles[0]));
	if (cuda.stream_synchronize(bench->handles[0]))
		return RING_ESYSTEM;
	err = ring_comm_status(bench->comm);
	if (!err)
		err = ring_all_to_all(bench->comm, bench->send, bench->other, SHOT, RING_INT32,
				      bench->streams[0]);
	return err ? err
		   : ring_stream_wait(bench->streams[0], ring_stream_position(bench->streams[0]));
}

/* What the library has allocated, others reach. */
static int reached(struct bench *bench)
{
	void *memory[2];
	int err = 0;
	for (int i = 0; i < 2 && !err; i++)
		err = ring_mem_alloc(bench->comm, BYTES, &memory[i]);
	if (err)
		return err;
	CUDA_MUST(cuda.memory_copy_now(memory[0], bench->near, BYTES));
	for (int i = 0; i < 3 && !err; i++)
		err = add(bench, memory[0], memory[1], LARGE, NULL);
	if (!err)
		err = ring_all_to_all(bench->comm, bench->send, bench->other, SHOT, RING_INT32,
				      NULL);
	if (!err)
		CUDA_MUST(cuda.memory_copy_now(bench->recv, memory[1], BYTES));
	for (int i = 0; i < 2; i++)
		ring_mem_free(bench->comm, memory[i]);
	return err;
}

static const struct check checks[] = {
	{"streams, kernels by memory of GPUs", on_stream, "kernel", "2", .limits = true},
	{"streams, kernels by memory of the host", on_stream, "kernel", "0", .limits = false},
	{"streams, the host", on_stream, "host", "2", .limits = false},
	{"graphs", in_graph, "kernel", "2", .limits = false},
	{"memory with descriptors", reached, "host", "2", .limits = true},
	{"memory with handles", reached, "host", "0", .limits = false},
	{"threads, streams", on_stream, "kernel", "2", .threads = true},
	{"threads, memory with descriptors", reached, "host", "2", .threads = true},
	{"threads, memory with handles", reached, "host", "0", .threads = true},
};
#define CHECKS ((int)(sizeof(checks) / sizeof(checks[0])))

/* ---- a rank ------------------------------------------------------------------------------------ */

static int highest_fd(void)
{
	int highest = 0;
	for (int fd = 0; fd < MOST_FDS; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			highest = fd;
	return highest;
}

/* So many descriptors may be opened beside those that there are; none of these is free before. */
static void limit(unsigned more)
{
	static int fill[MOST_FDS];
	static int filled;
	struct rlimit is;
	while (filled)
		close(fill[--filled]);
	getrlimit(RLIMIT_NOFILE, &is);
	is.rlim_cur = is.rlim_max;
	if (more < NO_LIMIT) {
		const int upto = highest_fd() + 1;
		while (filled < MOST_FDS && (fill[filled] = dup(0)) < upto && fill[filled] >= 0)
			filled++;
		close(fill[filled]);
		is.rlim_cur = (rlim_t)upto + more;
	}
	setrlimit(RLIMIT_NOFILE, &is);
}

static void arm(struct harness_rank *self, enum phase phase)
{
	const struct trial *trial = self->context;
	unsigned more;
	if (self->rank != VICTIM || trial->phase != phase)
		return;
	if (sscanf(trial->fault, "descriptors:%u", &more) == 1)
		limit(more);
	else
		cuda_fail(trial->fault);
}

static void disarm(struct harness_rank *self, enum phase phase)
{
	const struct trial *trial = self->context;
	struct told *told = self->shared;
	if (self->rank != VICTIM || trial->phase != phase)
		return;
	for (size_t i = 0; i < FUNCTIONS; i++)
		told->calls[i] = cuda_made(functions[i]);
	cuda_fail("");
	limit(NO_LIMIT);
}

static int32_t element(int rank, size_t i)
{
	return (int32_t)i * 7 + rank;
}

static void furnish(struct bench *bench)
{
	bench->send = twin_make(BYTES);
	bench->recv = twin_make(BYTES);
	bench->other = twin_make(BYTES);
	CUDA_MUST(cuda.host_alloc(&bench->near, BYTES, 0));
	CUDA_MUST(cuda.stream_create(&bench->handles[0], RING_CUDA_STREAM_NON_BLOCKING, 0));
	int32_t *near = bench->near;
	for (size_t i = 0; i < LARGE; i++)
		near[i] = element(bench->self->rank, i);
	bench_copy(bench, bench->send, near, BYTES);
}

static int check_results(struct bench *bench)
{
	const int32_t *near = bench->near;
	bench_copy(bench, bench->near, bench->recv, BYTES);
	for (size_t i = 0; i < LARGE; i++)
		if (near[i] != RANKS * element(0, i) + RANKS * (RANKS - 1) / 2)
			return harness_fail(bench->self, "element %zu is %d", i, near[i]);
	bench_copy(bench, bench->near, bench->other, RANKS * SHOT * sizeof(int32_t));
	for (size_t i = 0; i < RANKS * SHOT; i++)
		if (near[i] != element((int)(i / SHOT), (size_t)bench->self->rank * SHOT + i % SHOT))
			return harness_fail(bench->self, "element %zu that was exchanged is %d", i,
					    near[i]);
	return 0;
}

/* A rank that is refused something alone is to let the others know. No rank has died. */
static int check_error(struct bench *bench, int err)
{
	const char *sentence = ring_comm_error(bench->comm);
	if (!sentence[0] || strstr(sentence, ring_strerror(RING_EPEER)))
		return harness_fail(bench->self, "%s: \"%s\"", ring_strerror(err), sentence);
	if (!ring_comm_status(bench->comm))
		ring_comm_abort(bench->comm);
	return 0;
}

static int check_time(struct bench *bench, double began, const char *what)
{
	const double took = harness_clock() - began;
	return took > 1. * HARNESS_ROOM ? harness_fail(bench->self, "%s takes %.1f s", what, took)
					: 0;
}

static int leave(struct bench *bench)
{
	const double began = harness_clock();
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	arm(bench->self, AT_THE_END);
	ring_stream_destroy(bench->streams[0]);
	ring_comm_destroy(bench->comm);
	disarm(bench->self, AT_THE_END);
	if (graph)
		CUDA_MUST(cuda.graph_exec_destroy(graph));
	return check_time(bench, began, "the end");
}

static int run(struct harness_rank *self)
{
	const struct trial *trial = self->context;
	struct ring_options options;
	struct bench bench = {.self = self};
	furnish(&bench);
	harness_options(self, &options);
	options.device = "cuda";
	options.chunk_bytes = CHUNK;
	if (harness_join(self, &options, &bench.comm))
		return 1;
	harness_barrier(self);
	const double began = harness_clock();
	arm(self, BEFORE_RESULTS);
	int err = trial->check->run(&bench);
	int bad = err ? check_error(&bench, err) : 0;
	bad |= check_time(&bench, began, "all of it");
	disarm(self, BEFORE_RESULTS);
	harness_barrier(self); /* nothing fails here */
	if (!err)
		bad |= check_results(&bench);
	return bad | leave(&bench);
}

/* ---- faults ------------------------------------------------------------------------------------ */

static char **patterns;
static int tried, wrong;

static bool is_asked_for(const char *function)
{
	bool any = false;
	for (char **pattern = patterns; *pattern; pattern++) {
		if (fnmatch(*pattern, function, 0) == 0)
			return true;
		any = any || **pattern != '-';
	}
	return !any;
}

/*
 * By these the library learns what memory is, and that it is at rest: whatever they answer but 0, it
 * is no mapping, and there is no context any more.
 */
static bool is_believed(const char *function)
{
	return strcmp(function, "cuMemRetainAllocationHandle") == 0 ||
	       strcmp(function, "cuStreamSynchronize") == 0;
}

static void try(const struct trial *trial, struct told *told)
{
	struct harness team = {.world = &harness_worlds[!trial->check->threads],
			       .size = RANKS,
			       .body = run,
			       .context = (void *)trial,
			       .seconds = SECONDS,
			       .shared_bytes = sizeof(*told)};
	snprintf(team.label, sizeof(team.label), "%s, %s%s", trial->check->name, trial->fault,
		 trial->phase == AT_THE_END ? " at the end" : "");
	setenv("RING_CUDA_ENGINE", trial->check->engine, 1);
	setenv("RING_FAKE_CUDA_MAPS", trial->check->maps, 1);
	setenv("RING_FAKE_CUDA_DEVICES", trial->check->threads ? "4" : "2", 1);
	int bad = harness_start(&team);
	if (!bad)
		bad = harness_wait(&team);
	*told = *(struct told *)team.shared;
	harness_end(&team);
	tried++;
	wrong += bad != 0;
	if (bad)
		printf("# wrong: %s\n", team.label);
	fflush(stdout);
}

static bool is_next(bool is_long)
{
	static int turn;
	return ++turn % (is_long ? 1 : STEP) == 0;
}

/* What these were to free, or tell of it, stays: that is the driver's. */
static bool ends_something(const char *function)
{
	static const char *const ending[] = {"cuMemAddressFree",
					     "cuMemGetAddressRange_v2",
					     "cuMemRelease",
					     "cuMemUnmap",
					     "cuPointerGetAttributes",
					     "cuCtxPushCurrent_v2",
					     "cuThreadExchangeStreamCaptureMode"};
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (strcmp(function, ending[i]) == 0)
			return true;
	return false;
}

static void try_function(struct trial *trial, const char *function, unsigned calls, bool is_long)
{
	static const int errors[] = {999, 2, 801};
	struct told unused;
	setenv("RING_FAKE_CUDA_LEFT", ends_something(function) ? "0" : "1", 1);
	for (unsigned call = 1; call <= calls; call++) {
		if (!is_next(is_long))
			continue;
		snprintf(trial->fault, sizeof(trial->fault), "%s:%u=%d", function, call,
			 errors[tried % 3]);
		try(trial, &unused);
	}
}

static void try_limits(struct trial *trial, bool is_long)
{
	struct told unused;
	for (int more = 0; more < LIMITS; more++) {
		snprintf(trial->fault, sizeof(trial->fault), "descriptors:%d", more);
		if (is_long || !harness_is_quick())
			try(trial, &unused);
	}
}

static int try_check(const struct check *check, bool is_long)
{
	struct told told;
	tried = wrong = 0;
	for (enum phase phase = 0; phase < PHASES; phase++) {
		struct trial trial = {.check = check, .phase = phase};
		setenv("RING_FAKE_CUDA_LEFT", "1", 1);
		try(&trial, &told); /* no fault: how many calls there are */
		if (phase == BEFORE_RESULTS && check->limits && is_asked_for("descriptors"))
			try_limits(&trial, is_long);
		for (size_t i = 0; i < FUNCTIONS; i++)
			if (is_asked_for(functions[i]) && !is_believed(functions[i]))
				try_function(&trial, functions[i], told.calls[i], is_long);
	}
	printf("# %d faults, %d wrong\n", tried, wrong);
	return harness_report(check->name, wrong > 0);
}

int main(int argc, char **argv)
{
	const bool is_long = harness_is_long(argc, argv);
	const char *wanted = getenv("RING_TEST_CHECKS");
	int bad = 0;
	patterns = argv + 1;
	setenv("RING_FAKE_CUDA_FREES_WAIT", "0", 0);
	setenv("RING_FAKE_CUDA_DELAY_US", "20", 0);
	printf("1..%d\n", CHECKS);
	for (int i = 0; i < CHECKS; i++)
		if (!wanted || fnmatch(wanted, checks[i].name, 0) == 0)
			bad |= try_check(&checks[i], is_long);
	return bad;
}
