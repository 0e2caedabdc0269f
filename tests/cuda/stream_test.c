/* SPDX-License-Identifier: MIT */
/*
 * Calls on CUDA streams: they come behind what the stream was given before and in front of what it
 * is given later, and return at once. Streams are held meanwhile, and let go only when all has been
 * given; so whatever makes the host wait hangs, as does a stream that nobody lets go.
 *
 *	stream_test [--seed N] [--long]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/twin.h"

#include "streams.h"

#define DEVICES 2 /* that threads take turns at */
#define SHM 1     /* a world's number */
#define TCP 2     /* another one's */

struct check {
	const char *name;
	int (*run)(struct bench *bench);
};

/* ---- before and behind ----------------------------------------------------------------------- */

static int order(struct bench *bench, void *handle)
{
	struct ring_stream *stream = order_by(bench, handle);
	if (!stream)
		return 1;
	memset(bench->out, 0, CALLS * BYTES);
	harness_barrier(bench->self); /* nobody allocates any more */
	hold(bench, handle);
	int bad = 0;
	for (int call = 0; call < CALLS && !bad; call++)
		bad = give_call(bench, handle, stream, call);
	/* Another stream comes behind the last one, and what shares its queue behind that. */
	CUDA_MUST(cuda.event_record(bench->event, handle));
	CUDA_MUST(cuda.stream_wait_event(bench->beside, bench->event, 0));
	usleep(20000);
	if (!bad && ring_stream_test(stream, 1) != RING_EAGAIN)
		bad = harness_fail(bench->self, "a call did not wait for its stream");
	if (!bad && ring_stream_position(stream) != CALLS)
		bad = harness_fail(bench->self, "the stream is at another position");
	let_go(bench);
	CUDA_MUST(cuda.stream_synchronize(bench->beside));
	for (int call = 0; call < CALLS && !bad; call++)
		bad = check_sum(bench, bench->out[call], call, 1);
	if (!bad && ring_stream_wait(stream, CALLS))
		bad = harness_fail(bench->self, "%s", ring_comm_error(bench->comm));
	ring_stream_destroy(stream);
	return bad;
}

static int before_and_behind(struct bench *bench)
{
	return order(bench, bench->streams[0]) || order(bench, bench->streams[1]);
}

/* A thread of another rank on the same device would have the same legacy stream. */
static int default_streams(struct bench *bench)
{
	bool shared = bench->self->team->world->threads && bench->self->size > DEVICES;
	return (!shared && (order(bench, NULL) || order(bench, RING_CUDA_STREAM_LEGACY))) ||
	       order(bench, RING_CUDA_STREAM_PER_THREAD);
}

/* ---- two streams ----------------------------------------------------------------------------- */

/* The second stream's call takes what the first one's gives; nothing of CUDA's says so. */
static int two_streams(struct bench *bench)
{
	struct ring_stream *first = order_by(bench, bench->streams[0]);
	struct ring_stream *second = order_by(bench, bench->streams[1]);
	if (!first || !second)
		return 1;
	harness_barrier(bench->self);
	hold(bench, bench->streams[0]);
	CUDA_MUST(cuda.memory_copy(bench->far[0], bench->in[0], BYTES, bench->streams[0]));
	int bad = all_reduce(bench, bench->far[0], bench->far[1], first);
	bad = bad || all_reduce(bench, bench->far[1], bench->far[2], second);
	CUDA_MUST(cuda.memory_copy(bench->out[1], bench->far[2], BYTES, bench->streams[1]));
	bad = bad || all_reduce(bench, bench->far[2], bench->far[3], first);
	CUDA_MUST(cuda.memory_copy(bench->out[2], bench->far[3], BYTES, bench->streams[0]));
	usleep(10000);
	if (!bad && ring_stream_test(second, 1) != RING_EAGAIN)
		bad = harness_fail(bench->self, "a call overtook another stream's");
	let_go(bench);
	int size = bench->self->size;
	CUDA_MUST(cuda.stream_synchronize(bench->streams[1]));
	bad = bad || check_sum(bench, bench->out[1], 0, size);
	CUDA_MUST(cuda.stream_synchronize(bench->streams[0]));
	bad = bad || check_sum(bench, bench->out[2], 0, size * size);
	ring_stream_destroy(first);
	ring_stream_destroy(second);
	return bad;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* To the next rank, from the one before; both on the stream, or each on one of two. */
static int exchange(struct bench *bench, const void *send, void *recv, struct ring_stream *out,
		    struct ring_stream *in)
{
	int size = bench->self->size, rank = bench->self->rank;
	int err = ring_send(bench->comm, send, COUNT, RING_INT32, (rank + 1) % size, out);
	if (!err)
		err = ring_recv(bench->comm, recv, COUNT, RING_INT32, (rank + size - 1) % size, in);
	return err;
}

static int check_values(struct bench *bench, const int32_t *is, int call)
{
	int from = (bench->self->rank + bench->self->size - 1) % bench->self->size;
	for (int i = 0; i < COUNT; i++)
		if (is[i] != value(from, call, i))
			return harness_fail(bench->self, "message %d: element %d is %d, not %d",
					    call, i, is[i], value(from, call, i));
	return 0;
}

static int groups(struct bench *bench)
{
	struct CUstream_st **handles = bench->streams;
	struct ring_stream *first = order_by(bench, handles[0]),
			   *second = order_by(bench, handles[1]);
	if (!first || !second)
		return 1;
	int32_t **far = bench->far;
	harness_barrier(bench->self);
	hold(bench, handles[0]);
	CUDA_MUST(cuda.memory_copy(far[0], bench->in[0], BYTES, handles[0]));
	ring_group_start();
	int err = exchange(bench, far[0], far[1], first, second);
	if (!err)
		err = exchange(bench, far[0], far[2], first, first);
	if (!err)
		err = ring_all_reduce(bench->comm, far[0], far[3], COUNT, RING_INT32, RING_SUM,
				      second);
	int ended = ring_group_end();
	CUDA_MUST(cuda.memory_copy(bench->out[0], far[2], BYTES, handles[0]));
	CUDA_MUST(cuda.memory_copy(bench->out[1], far[1], BYTES, handles[1]));
	CUDA_MUST(cuda.memory_copy(bench->out[2], far[3], BYTES, handles[1]));
	let_go(bench);
	CUDA_MUST(cuda.stream_synchronize(handles[0]));
	CUDA_MUST(cuda.stream_synchronize(handles[1]));
	ring_stream_destroy(first);
	ring_stream_destroy(second);
	if (err || ended)
		return harness_fail(bench->self, "%s", ring_comm_error(bench->comm));
	return check_values(bench, bench->out[0], 0) || check_values(bench, bench->out[1], 0) ||
	       check_sum(bench, bench->out[2], 0, 1);
}

/* Messages of the host's memory between those of the device's, over the same links. */
static int host_memory_between(struct bench *bench)
{
	static _Thread_local int32_t mine[COUNT], theirs[COUNT];
	struct ring_stream *stream = order_by(bench, bench->streams[0]), *hosts;
	if (!stream || ring_stream_create(bench->comm, &hosts))
		return 1;
	int err = 0;
	memcpy(mine, bench->in[1], BYTES);
	harness_barrier(bench->self);
	hold(bench, bench->streams[0]);
	for (int call = 0; call < 3 && !err; call++) {
		CUDA_MUST(cuda.memory_copy(bench->far[0], bench->in[2 * call], BYTES,
					   bench->streams[0]));
		ring_group_start();
		err = call == 1 ? exchange(bench, mine, theirs, hosts, hosts)
				: exchange(bench, bench->far[0], bench->far[1], stream, stream);
		int ended = ring_group_end();
		err = err ? err : ended;
		CUDA_MUST(cuda.memory_copy(bench->out[call], bench->far[1], BYTES,
					   bench->streams[0]));
	}
	let_go(bench);
	CUDA_MUST(cuda.stream_synchronize(bench->streams[0]));
	ring_stream_destroy(hosts);
	ring_stream_destroy(stream);
	if (err)
		return harness_fail(bench->self, "%s", ring_comm_error(bench->comm));
	return check_values(bench, bench->out[0], 0) || check_values(bench, theirs, 1) ||
	       check_values(bench, bench->out[2], 4);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* The capture stays whole, and the communicator as good as it was. */
static int captured(struct bench *bench)
{
	struct CUstream_st *handle = bench->streams[0];
	struct CUgraph_st *graph;
	struct ring_stream *stream = order_by(bench, handle), *other = NULL;
	if (!stream)
		return 1;
	harness_barrier(bench->self);
	CUDA_MUST(cuda.capture_begin(handle, CUDA_CAPTURE_GLOBAL));
	int err = ring_gather(bench->comm, bench->far[0], bench->far[1], 1, RING_INT32, 0, stream);
	int bad = check_refused(bench, err, RING_ENOTSUP, "being captured");
	err = ring_stream_from_cuda(bench->comm, handle, &other);
	bad = bad || check_refused(bench, err, RING_ENOTSUP, "being captured");
	ring_group_start();
	ring_barrier(bench->comm, stream);
	err = ring_group_end();
	bad = bad || check_refused(bench, err, RING_ENOTSUP, "being captured");
	if (!bad && (other || ring_stream_position(stream) != 0))
		bad = harness_fail(bench->self, "something happened before it was refused");
	CUDA_MUST(cuda.capture_end(handle, &graph));
	CUDA_MUST(cuda.graph_destroy(graph));
	harness_barrier(bench->self);
	ring_stream_destroy(stream);
	return bad || order(bench, handle);
}

/* A group whose stream begins to be captured once its calls have been noted. */
static int captured_in_a_group(struct bench *bench)
{
	struct CUstream_st *handle = bench->streams[0];
	struct CUgraph_st *graph;
	struct ring_stream *stream = order_by(bench, handle);
	if (!stream)
		return 1;
	harness_barrier(bench->self);
	ring_group_start();
	int err = ring_barrier(bench->comm, stream);
	CUDA_MUST(cuda.capture_begin(handle, CUDA_CAPTURE_GLOBAL));
	int ended = ring_group_end();
	CUDA_MUST(cuda.capture_end(handle, &graph));
	CUDA_MUST(cuda.graph_destroy(graph));
	int bad = err ? harness_fail(bench->self, "%s", ring_comm_error(bench->comm))
		      : check_refused(bench, ended, RING_ENOTSUP, "being captured");
	harness_barrier(bench->self);
	ring_stream_destroy(stream);
	return bad;
}

/* The legacy stream cannot be used while a stream is captured that it would wait for. */
static int captured_beside_the_legacy_stream(struct bench *bench)
{
	struct CUstream_st *blocking;
	struct CUgraph_st *graph;
	struct ring_stream *stream = NULL;
	CUDA_MUST(cuda.stream_create(&blocking, 0, 0));
	CUDA_MUST(cuda.capture_begin(blocking, CUDA_CAPTURE_RELAXED));
	int err = ring_stream_from_cuda(bench->comm, NULL, &stream);
	CUDA_MUST(cuda.capture_end(blocking, &graph));
	CUDA_MUST(cuda.graph_destroy(graph));
	CUDA_MUST(cuda.stream_destroy(blocking));
	return check_refused(bench, err, RING_ENOTSUP, "legacy stream would wait for");
}

static int captures(struct bench *bench)
{
	return captured(bench) || captured_in_a_group(bench) ||
	       captured_beside_the_legacy_stream(bench);
}

struct visitor {
	struct bench *bench;
	struct ring_stream *stream;
	int err;
};

static void *call_from_elsewhere(void *argument)
{
	struct visitor *visitor = argument;
	visitor->err = ring_barrier(visitor->bench->comm, visitor->stream);
	return NULL;
}

static int other_refusals(struct bench *bench)
{
	struct CUstream_st *handle;
	struct ring_stream *stream = NULL;
	int least, greatest;
	pthread_t thread;
	CUDA_MUST(cuda.context_priorities(&least, &greatest));
	CUDA_MUST(cuda.stream_create(&handle, RING_CUDA_STREAM_NON_BLOCKING, greatest));
	int err = ring_stream_from_cuda(bench->comm, handle, &stream);
	int bad = check_refused(bench, err, RING_ENOTSUP, "create it with a lower priority");
	CUDA_MUST(cuda.stream_destroy(handle));
	bad = bad || check_refused(bench, ring_stream_from_cuda(bench->comm, handle, &stream),
				   RING_ESYSTEM, "the stream was destroyed");
	bad = bad || check_refused(bench, ring_stream_from_cuda(bench->comm, NULL, NULL),
				   RING_EINVAL, "stream is NULL");
	struct visitor visitor = {.bench = bench,
				  .stream = order_by(bench, RING_CUDA_STREAM_PER_THREAD)};
	if (bad || !visitor.stream)
		return 1;
	pthread_create(&thread, NULL, call_from_elsewhere, &visitor);
	pthread_join(thread, NULL);
	bad = check_refused(bench, visitor.err, RING_EINVAL, "of another thread");
	ring_stream_destroy(visitor.stream);
	return bad;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Streams that nothing holds but the calls. */
static int check_released(struct bench *bench, struct ring_stream *stream, int err)
{
	int is = ring_stream_wait(stream, ring_stream_position(stream));
	if (is != err)
		return harness_fail(bench->self, "%s, not %s: %s", ring_strerror(is),
				    ring_strerror(err), ring_comm_error(bench->comm));
	return 0;
}

/* The call before it completes; what lies behind the one that differs still runs. */
static int mismatch(struct bench *bench)
{
	struct CUstream_st *handle = bench->streams[0];
	struct ring_stream *stream = order_by(bench, handle);
	if (!stream)
		return 1;
	harness_barrier(bench->self);
	hold(bench, handle);
	int bad = give_call(bench, handle, stream, 0);
	int err = ring_all_reduce(bench->comm, bench->far[0], bench->far[1],
				  bench->self->rank ? COUNT : COUNT - 1, RING_INT32, RING_SUM,
				  stream);
	CUDA_MUST(cuda.memory_copy(bench->out[1], bench->in[1], BYTES, handle));
	if (!err)
		err = ring_barrier(bench->comm, stream);
	CUDA_MUST(cuda.memory_copy(bench->out[2], bench->in[2], BYTES, handle));
	if (err)
		bad = harness_fail(bench->self, "%s", ring_comm_error(bench->comm));
	harness_barrier(bench->self); /* all have made their calls */
	let_go(bench);
	CUDA_MUST(cuda.stream_synchronize(handle));
	bad = bad || check_released(bench, stream, RING_EMISMATCH) || ring_stream_wait(stream, 1) ||
	      check_sum(bench, bench->out[0], 0, 1);
	if (!bad && (memcmp(bench->out[1], bench->in[1], BYTES) ||
		     memcmp(bench->out[2], bench->in[2], BYTES)))
		bad = harness_fail(bench->self, "what lies behind a failed call did not run");
	ring_stream_destroy(stream);
	return bad;
}

/* Calls fail though their stream has not come to them, and do not stop it when it comes. */
static int abort_while_held(struct bench *bench)
{
	struct CUstream_st *handle = bench->streams[0];
	struct ring_stream *stream = order_by(bench, handle);
	if (!stream)
		return 1;
	harness_barrier(bench->self);
	hold(bench, handle);
	int bad = all_reduce(bench, bench->far[0], bench->far[1], stream) ||
		  all_reduce(bench, bench->far[0], bench->far[1], stream);
	CUDA_MUST(cuda.memory_copy(bench->out[1], bench->in[1], BYTES, handle));
	harness_barrier(bench->self);
	if (bench->self->rank == 0)
		ring_comm_abort(bench->comm);
	bad = bad || check_released(bench, stream, RING_EABORTED);
	ring_stream_destroy(stream); /* before it comes */
	let_go(bench);
	CUDA_MUST(cuda.stream_synchronize(handle));
	if (!bad && memcmp(bench->out[1], bench->in[1], BYTES))
		bad = harness_fail(bench->self, "what lies behind a failed call did not run");
	return bad;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void set_bench(struct bench *bench)
{
	for (int i = 0; i < 4; i++)
		bench->far[i] = twin_make(BYTES);
	CUDA_MUST(cuda.host_alloc((void **)&bench->in, CALLS * BYTES, 0));
	CUDA_MUST(cuda.host_alloc((void **)&bench->out, CALLS * BYTES, 0));
	CUDA_MUST(cuda.host_alloc((void **)&bench->gate, sizeof(*bench->gate), 0));
	for (int i = 0; i < 2; i++)
		CUDA_MUST(cuda.stream_create(&bench->streams[i], RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.stream_create(&bench->beside, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.event_create(&bench->event, RING_CUDA_EVENT_NO_TIMING));
	*bench->gate = 0;
	sem_init(&bench->opened, 0, 0);
	const char *words = getenv("RING_FAKE_CUDA_WORDS");
	bench->by_function = words && *words == '0';
	for (int call = 0; call < CALLS; call++)
		for (int i = 0; i < COUNT; i++)
			bench->in[call][i] = value(bench->self->rank, call, i);
}

/* A bench stays until the process ends, as freeing would wait for the other ranks' streams. */
static int run(struct harness_rank *self)
{
	const struct check *check = self->context;
	struct ring_options options;
	struct bench bench = {.self = self};
	harness_options(self, &options);
	options.call_timeout_ms = 10000 * HARNESS_ROOM;
	if (harness_join(self, &options, &bench.comm))
		return 1;
	set_bench(&bench);
	int bad = check->run(&bench);
	harness_barrier(self);
	ring_comm_destroy(bench.comm);
	return bad;
}

static const struct check checks[] = {
	{"before and behind", before_and_behind},
	{"default streams", default_streams},
	{"two streams", two_streams},
	{"groups", groups},
	{"host memory between", host_memory_between},
	{"host memory of one", streams_host_memory_of_one},
	{"barriers when mixed", streams_barriers_when_mixed},
	{"captures", captures},
	{"other refusals", other_refusals},
	{"mismatch", mismatch},
	{"links and barriers", streams_links_and_barriers},
	{"abort while held", abort_while_held},
};

/* How a device may be; each with all checks. */
static const struct setting {
	const char *name, *variable, *value;
	/* Of ranks that share a device and its queue one may hold up what another waits for. */
	bool apart;
	int world; /* that it has a meaning in; -1: all */
} settings[] = {
	{"as it comes", "RING_FAKE_CUDA_WORDS", "1", false, -1},
	{"one hardware queue", "CUDA_DEVICE_MAX_CONNECTIONS", "1", true, -1},
	{"one queue of copies", "CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1", true, -1},
	{"streams that know no words", "RING_FAKE_CUDA_WORDS", "0", false, -1},
	{"calls by kernels", "RING_CUDA_ENGINE", "kernel", false, SHM},
	{"calls by kernels", "RING_CUDA_ENGINE", "kernel", false, TCP},
};

/* Each setting with one way of linking ranks, the first with all. */
static bool is_wanted(int s, int turn, int world)
{
	if (settings[s].world >= 0)
		return world == settings[s].world;
	return s == 0 || world == turn % HARNESS_WORLDS;
}

static int run_check(const struct setting *setting, const struct check *check, int world,
		     uint64_t seed)
{
	struct harness team = {.world = &harness_worlds[world],
			       .size = setting->apart && harness_worlds[world].threads ? DEVICES : 3,
			       .body = run,
			       .context = (void *)(uintptr_t)check};
	char text[24];
	snprintf(text, sizeof(text), "%u", (unsigned)(seed & 0xffff));
	setenv("RING_FAKE_CUDA_SEED", text, 1);
	snprintf(team.label, sizeof(team.label), "%s, %s, %s, --seed %ju", check->name,
		 setting->name, team.world->name, (uintmax_t)seed);
	return harness_report(team.label, harness_run(&team));
}

int main(int argc, char **argv)
{
	const int nchecks = (int)(sizeof(checks) / sizeof(*checks));
	const int nsettings = (int)(sizeof(settings) / sizeof(*settings));
	uint64_t seed = harness_seed(argc, argv);
	int rounds = harness_is_long(argc, argv) ? 20 : 1, tests = 0, bad = 0;
	for (int round = 0; round < rounds; round++)
		for (int s = 0; s < nsettings; s++) {
			setenv(settings[s].variable, settings[s].value, 1);
			for (int c = 0; c < nchecks; c++) {
				for (int w = 0; w < HARNESS_WORLDS; w++) {
					if (!is_wanted(s, c + s + round, w))
						continue;
					bad |= run_check(&settings[s], &checks[c], w, seed++);
					tests++;
				}
			}
			unsetenv(settings[s].variable);
		}
	printf("1..%d\n", tests);
	return bad != 0;
}
