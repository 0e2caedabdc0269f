/* SPDX-License-Identifier: MIT */
/*
 * When the row `cuda` says that jobs are finished, and that streams have come to a place: in order,
 * whatever the program does beside it, and what comes of a GPU that fails.
 */
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "tests/harness.h"

/* ---- jobs ------------------------------------------------------------------------------------- */

#define STEPS 200

/* Each step adds to what the one before it has left; what is finished can be seen. */
static void order(void)
{
	struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
	uint32_t *seen = cases_pinned(STEPS * 4), *one = cases_pinned(4);
	char *far = cases_allocate(RING_CHIP_ANY, 64);
	uint64_t before = 0;
	*one = 1;
	CHECK(device->copy(queue, far, seen, 4, false) == 0);
	for (int i = 0; i < STEPS; i++) {
		struct ring_reduction add = {.sources = {far, one},
					     .nsources = 2,
					     .results = {far, &seen[i]},
					     .nresults = 2,
					     .count = 1,
					     .type = RING_UINT32};
		CHECK(device->reduce(queue, &add) == 0);
		uint64_t now = i % 3 ? before : cases_finished(queue);
		CHECK(now >= before && now <= (uint64_t)i + 2);
		for (uint64_t k = 1; k < now; k++)
			CHECK(seen[k - 1] == k);
		before = now;
	}
	CHECK(device->copy(queue, NULL, NULL, 0, false) == 0);
	cases_await(queue, STEPS + 2);
	CHECK(seen[STEPS - 1] == STEPS);
	device->queue_close(queue);
}

/* Closing waits for what is under way, and for whoever is being told. */
static void closing(void)
{
	for (int round = 0; round < 20; round++) {
		struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
		uint32_t *seen = cases_pinned(4);
		char *far = cases_allocate(RING_CHIP_ANY, 64);
		sem_t told;
		int value;
		sem_init(&told, 0, 0);
		*seen = 42;
		for (int i = 0; i < 10; i++)
			CHECK(device->copy(queue, far, seen, 4, false) == 0);
		CHECK(device->tell(queue, cases_post, &told) == 0);
		device->queue_close(queue);
		sem_getvalue(&told, &value);
		CHECK(value == 1);
	}
}

/* A stream that somebody captures keeps no thread from the device, and the capture stays whole. */
static void beside_a_capture(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
	char *far = cases_allocate(RING_CHIP_ANY, 64), *near = cases_pinned(4096);
	struct CUctx_st *context;
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.capture_begin(stream, CUDA_CAPTURE_GLOBAL));
	CHECK(device->copy(queue, far, near, 64, false) == 0);
	cases_await(queue, 1);
	device->free(cases_allocate(RING_CHIP_ANY, 100));
	cases_pinned(4096);
	device->queue_close(cases_queue(RING_CHIP_ANY));
	CUDA_MUST(cuda.capture_end(stream, &graph));
	CUDA_MUST(cuda.graph_destroy(graph));
	device->queue_close(queue);
}

static void wait_for_post(void *semaphore)
{
	while (sem_wait(semaphore))
		;
}

/* A program's own host function, which all others come behind: whoever waits for jobs is told. */
static void beside_a_host_function(void)
{
	struct CUstream_st *stream;
	struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
	char *far = cases_allocate(RING_CHIP_ANY, 64), *near = cases_pinned(4096);
	struct CUctx_st *context;
	sem_t over;
	sem_init(&over, 0, 0);
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.stream_host_function(stream, wait_for_post, &over));
	for (uint64_t jobs = 1; jobs <= 5; jobs++) {
		CHECK(device->copy(queue, far, near, 64, false) == 0);
		cases_await(queue, jobs);
	}
	sem_post(&over);
	CUDA_MUST(cuda.stream_synchronize(stream)); /* it has left the semaphore */
	device->queue_close(queue);
}

/* ---- streams ---------------------------------------------------------------------------------- */

static bool is_active(int number)
{
	unsigned flags;
	int active;
	CUDA_MUST(cuda.primary_state(number, &flags, &active));
	return active;
}

/* A stream is found from a thread without a context, and takes no memory of another GPU. */
static void stream_of_another(void)
{
	struct CUctx_st *context;
	struct CUstream_st *stream;
	struct ring_device_stream *opened;
	struct ring_failure failure = {0};
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, 1));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.context_set(NULL));
	CHECK(device->streams->open(stream, &opened, NULL) == 0);
	CHECK(device->streams->chip(opened) == 1 && !is_active(0));
	device->streams->close(opened);
	CHECK(device->streams->open(NULL, &opened, &failure) == RING_ENOTSUP && !is_active(0));
	CHECK(strstr(failure.text, "call cudaSetDevice() before"));
}

/* A stream that waits for the word to be 1, and a place behind that. */
static struct ring_device_stream *open_held_stream(const uint32_t *word, uint32_t *place)
{
	struct ring_device_stream *stream;
	CUDA_MUST(cuda.stream_wait_value(cases_stream(&stream), word, 1, RING_CUDA_WAIT_GEQ));
	CHECK(device->streams->mark(stream, place) == 0);
	return stream;
}

/* The driver is not asked each time: it would fail at the 1,000th. */
static void many_looks_at_a_stream(void)
{
	uint32_t place, *word = cases_pinned(4096);
	struct ring_device_stream *stream = open_held_stream(word, &place);
	for (int look = 0; look < 10000; look++)
		CHECK(device->streams->has_come(stream, place) == RING_EAGAIN);
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	while (device->streams->has_come(stream, place) == RING_EAGAIN)
		usleep(1000);
	CHECK(device->streams->has_come(stream, place) == 0);
	device->streams->close(stream);
}

/* ---- a GPU that fails -------------------------------------------------------------------------- */

/* Of whom a failure is known, at once or a moment later, and for good; nobody waits for ever. */
static void a_failing_device(void)
{
	struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
	char *far = cases_allocate(RING_CHIP_ANY, 64), *near = cases_pinned(4096);
	sem_t told;
	uint64_t jobs;
	int err = 0;
	sem_init(&told, 0, 0);
	for (int i = 0; i < 20 && !err; i++)
		err = device->copy(queue, far, near, 64, false);
	if (!err)
		err = device->tell(queue, cases_post, &told);
	if (!err)
		sem_wait(&told);
	for (int i = 0; i < 1000 * HARNESS_ROOM && device->finished(queue, &jobs) == 0; i++)
		usleep(1000);
	CHECK(device->finished(queue, &jobs) == RING_ESYSTEM && jobs < 20);
	CHECK(device->copy(queue, far, near, 64, false) == RING_ESYSTEM);
	CHECK(device->tell(queue, cases_post, &told) == RING_ESYSTEM);
	device->queue_close(queue);
}

/* Kernels of the device may not go to memory of the host that nobody has pinned. */
static void break_the_device(void *reached)
{
	struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
	uint32_t here = 1;
	struct ring_reduction add = {.sources = {&here, &here},
				     .nsources = 2,
				     .results = {reached},
				     .nresults = 1,
				     .count = 1,
				     .type = RING_UINT32};
	CHECK(device->reduce(queue, &add) == 0);
	device->queue_close(queue);
}

/* Whoever waits for a stream that never comes, as the device has failed, learns of it. */
static void a_stream_of_a_failing_device(void)
{
	uint32_t place, *word = cases_pinned(4096);
	struct ring_device_stream *stream = open_held_stream(word, &place);
	sem_t told;
	sem_init(&told, 0, 0);
	CHECK(device->streams->has_come(stream, place) == RING_EAGAIN);
	CHECK(device->streams->tell(stream, place, cases_post, &told) == 0);
	break_the_device(word + 1);
	sem_wait(&told);
	CHECK(device->streams->has_come(stream, place) == RING_ESYSTEM);
	device->streams->close(stream);
}

static const struct cuda_case cases[] = {
	{"jobs in order", order, "", false},
	{"closing with jobs under way", closing, "RING_FAKE_CUDA_DELAY_US=2000", false},
	{"beside a capture", beside_a_capture, "", false},
	{"beside a host function that does not end", beside_a_host_function, "", false},
	{"a stream of another device", stream_of_another, "RING_FAKE_CUDA_DEVICES=2", false},
	{"many looks at a stream", many_looks_at_a_stream,
	 "RING_FAKE_CUDA_FAIL=cuEventQuery:1000=719", false},
	{"a device that fails", a_failing_device,
	 "RING_FAKE_CUDA_BREAK=15=719 RING_FAKE_CUDA_DELAY_US=5000", false},
	{"a stream of a device that fails", a_stream_of_a_failing_device, "", false},
	{NULL, NULL, NULL, false},
};

int main(int argc, char **argv)
{
	return cases_run(argc, argv, cases);
}
