/* SPDX-License-Identifier: MIT */
/*
 * The row `cuda` of the table of devices over the fake driver: the reference's bits from its
 * kernels, what it owns, when it says that jobs are finished, and what comes of a GPU that fails.
 * Every case is a process of its own, with the settings of the fake driver that it asks for.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"
#include "base/datatype.h"
#include "driver.h"
#include "tests/kernels/jobs.h"
#include "tests/kernels/reference.h"

#define CUDA 1 /* the row's number */
#define CHECK(condition)                                                                           \
	((condition) ? (void)0                                                                     \
		     : (printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static const struct ring_device *device;

/* ---- waiting for jobs ------------------------------------------------------------------------- */

static void post(void *semaphore)
{
	sem_post(semaphore);
}

static uint64_t finished(struct ring_device_queue *queue)
{
	uint64_t jobs;
	CHECK(device->finished(queue, &jobs) == 0);
	return jobs;
}

static void await(struct ring_device_queue *queue, uint64_t jobs)
{
	sem_t told;
	sem_init(&told, 0, 0);
	if (finished(queue) < jobs) {
		CHECK(device->tell(queue, post, &told) == 0);
		sem_wait(&told);
	}
	CHECK(finished(queue) == jobs);
	sem_destroy(&told);
}

static struct ring_device_queue *open_queue(int chip)
{
	struct ring_device_queue *queue;
	CHECK(device->queue_open(chip, &queue) == 0);
	return queue;
}

static char *allocate(int chip, size_t bytes)
{
	void *memory;
	CHECK(device->alloc(chip, bytes, &memory) == 0);
	return memory;
}

/* Memory of the host that the device reaches, until the process ends. */
static void *volatile held[100];
static int held_count;

static void *pinned(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	held[held_count++] = memory;
	CHECK(memory && device->pin(memory, (bytes + 4095) / 4096 * 4096) == 0);
	memset(memory, 0, bytes);
	return memory;
}

/* ---- bits ------------------------------------------------------------------------------------- */

/*
 * Each of a job's vectors has a mirror on the device, misaligned as it is, with guards on both
 * sides.
 */
#define GUARD 64
#define MIRROR_BYTES (2 * GUARD + JOB_COUNT_MAX * 8 + GUARD)

struct mirror {
	const char *host;
	char *far;
};

static struct mirrors {
	struct ring_device_queue *queue;
	uint64_t jobs;
	char *far, *room; /* all mirrors; what one of them is to hold, and holds */
	struct mirror mirrors[RING_REDUCE_SOURCES + RING_REDUCE_RESULTS];
	int count;
	size_t bytes; /* of each */
} mirrors;

static size_t mirror_bytes(void)
{
	return 2 * GUARD + mirrors.bytes + GUARD;
}

static void move(void *to, const void *from)
{
	CHECK(device->copy(mirrors.queue, to, from, mirror_bytes(), false) == 0);
	await(mirrors.queue, ++mirrors.jobs);
}

static char *base_of(const struct mirror *mirror)
{
	return mirror->far - GUARD - (uintptr_t)mirror->host % GUARD;
}

static void *far_of(const void *host)
{
	for (int i = 0; i < mirrors.count; i++)
		if (mirrors.mirrors[i].host == host)
			return mirrors.mirrors[i].far;
	struct mirror *mirror = &mirrors.mirrors[mirrors.count];
	mirror->host = host;
	mirror->far = mirrors.far + (size_t)mirrors.count++ * MIRROR_BYTES + GUARD +
		      (uintptr_t)host % GUARD;
	memset(mirrors.room, 0xa5, mirror_bytes());
	memcpy(mirrors.room + (mirror->far - base_of(mirror)), host, mirrors.bytes);
	move(base_of(mirror), mirrors.room);
	return mirror->far;
}

static void fetch(const struct mirror *mirror)
{
	size_t before = (size_t)(mirror->far - base_of(mirror));
	move(mirrors.room, base_of(mirror));
	for (size_t i = 0; i < mirror_bytes(); i++)
		CHECK((i >= before && i < before + mirrors.bytes) || mirrors.room[i] == (char)0xa5);
	memcpy((char *)(uintptr_t)mirror->host, mirrors.room + before, mirrors.bytes);
}

static int reduce_far(const struct reducer *reducer, const struct ring_reduction *reduction)
{
	(void)reducer;
	struct ring_reduction far = *reduction;
	mirrors.count = 0;
	mirrors.bytes = reduction->count * ring_datatype_bytes(reduction->type);
	for (int i = 0; i < far.nsources; i++)
		far.sources[i] = far_of(reduction->sources[i]);
	for (int i = 0; i < far.nresults; i++)
		far.results[i] = far_of(reduction->results[i]);
	int err = device->reduce(mirrors.queue, &far);
	if (err)
		return err;
	await(mirrors.queue, ++mirrors.jobs);
	for (int i = 0; i < mirrors.count; i++)
		fetch(&mirrors.mirrors[i]);
	return 0;
}

static void bits(void)
{
	const struct reducer reducer = {"cuda", reduce_far, NULL};
	unsigned long seed = jobs_seed_as_told();
	mirrors.queue = open_queue(RING_CHIP_ANY);
	mirrors.far = allocate(RING_CHIP_ANY,
			       (RING_REDUCE_SOURCES + RING_REDUCE_RESULTS) * MIRROR_BYTES);
	mirrors.room = pinned(MIRROR_BYTES);
	for (int type = 0; type <= RING_FLOAT8_E5M2; type++) {
		for (int op = 0; op < REFERENCE_OPS; op++) {
			const char *wrong = jobs_check_values(&reducer, (enum ring_datatype)type,
							      (enum ring_op)op);
			if (wrong)
				printf("# %s; RING_TEST_SEED=%lu\n", wrong, seed);
			CHECK(!wrong);
		}
	}
	CHECK(!jobs_check_shapes(&reducer, RING_FLOAT16, RING_SUM));
	device->queue_close(mirrors.queue);
}

/* ---- memory ----------------------------------------------------------------------------------- */

static void memory(void)
{
	char on_stack;
	char *far = allocate(RING_CHIP_ANY, 1000), *near = pinned(4096), *heap = malloc(100);
	CHECK((uintptr_t)far % 64 == 0);
	CHECK(device->owns(far) && device->owns(far + 999));
	CHECK(!device->owns(near) && !device->owns(heap) && !device->owns(&on_stack));
	CHECK(!device->owns(NULL));
	CHECK(ring_device_of(far) == device && ring_device_of(heap) == ring_devices[0]);
	device->unpin(near, 4096);
	CHECK(device->pin(near, 4096) == 0);
	device->free(far);
	CHECK(!device->owns(far));
	device->free(NULL);
	free(heap);
}

/* Memory of which the driver does not say whose it is is not the host's, and no call's. */
static void failing_queries(void)
{
	struct ring_memory_sort sort = {.chip = RING_CHIP_ANY};
	struct ring_failure failure = {0};
	char *far = allocate(RING_CHIP_ANY, 100);
	CHECK(device->owns(far) && ring_device_of(far) == device);
	CHECK(device->look(far, 100, &sort, &failure) == RING_ESYSTEM);
	CHECK(strstr(failure.text, "cuPointerGetAttributes returns CUDA_ERROR_LAUNCH_FAILED"));
	CHECK(sort.chip == RING_CHIP_ANY);
	CHECK(device->look(far, 100, &sort, NULL) == 0 && sort.chip == 0);
}

static bool child_has(const void *memory)
{
	unsigned char resident;
	int status;
	pid_t child = fork();
	if (child == 0)
		_exit(mincore((void *)memory, 4096, &resident) != 0);
	CHECK(waitpid(child, &status, 0) == child);
	return status == 0;
}

/* Else the first write behind a fork() would take the page away from the device. */
static void forked(void)
{
	char *near = pinned(4096);
	CHECK(!child_has(near));
	device->unpin(near, 4096);
	CHECK(child_has(near));
	CHECK(device->pin(near, 4096) == 0);
}

/* Jobs reach what the device allocates, where they cannot reach what exists. */
static void unable_to_pin(void)
{
	struct ring_device_queue *queue = open_queue(RING_CHIP_ANY);
	char *far = allocate(RING_CHIP_ANY, 64);
	void *near, *heap = aligned_alloc(4096, 4096);
	CHECK(device->pin(heap, 4096) == RING_ENOTSUP);
	CHECK(device->host_alloc(1000, &near) == 0);
	memset(near, 7, 1000);
	CHECK(device->copy(queue, far, near, 64, false) == 0);
	CHECK(device->copy(queue, (char *)near + 100, far, 64, false) == 0);
	await(queue, 2);
	CHECK(memcmp(near, (char *)near + 100, 64) == 0);
	device->queue_close(queue);
	device->host_free(near);
	device->host_free(NULL);
	free(heap);
}

static int device_of(const void *far)
{
	int is;
	CUDA_MUST(cuda.pointer_attribute(&is, RING_CUDA_POINTER_DEVICE, far));
	return is;
}

/* A queue and memory are on the chip that was asked for; the thread's context stays. */
static void two_devices(void)
{
	struct CUctx_st *contexts[2], *current;
	void *there;
	CUDA_MUST(cuda.init(0));
	for (int i = 0; i < 2; i++)
		CUDA_MUST(cuda.primary_retain(&contexts[i], i));
	CUDA_MUST(cuda.context_set(contexts[1]));
	CUDA_MUST(cuda.memory_alloc(&there, 1000));
	CHECK(device_of(allocate(RING_CHIP_ANY, 10)) == 1);
	CUDA_MUST(cuda.context_set(contexts[0]));
	CHECK(device_of(allocate(RING_CHIP_ANY, 10)) == 0 && device_of(allocate(1, 10)) == 1);

	char *near = pinned(4096);
	struct ring_device_queue *queue = open_queue(1);
	memset(near, 7, 1000);
	CHECK(device->copy(queue, there, near, 1000, false) == 0);
	struct ring_reduction twice = {.sources = {there, there},
				       .nsources = 2,
				       .results = {near},
				       .nresults = 1,
				       .count = 1000,
				       .type = RING_INT8};
	CHECK(device->reduce(queue, &twice) == 0);
	await(queue, 2);
	CHECK(near[0] == 14 && near[999] == 14);
	device->queue_close(queue);
	CUDA_MUST(cuda.context_current(&current));
	CHECK(current == contexts[0]);
}

/* Kernels of a newer compiler: the sentence names both versions. */
static void an_old_driver(void)
{
	struct ring_failure failure = {0};
	const char *text;
	int chip = 0;
	CHECK(device->open(&chip, &text, &failure) == RING_ENOTSUP);
	printf("# %s\n", failure.text);
	CHECK(strstr(failure.text, "the kernels need a driver of CUDA 1"));
	CHECK(strstr(failure.text, "this one is of 11.0"));
}

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

/* ---- jobs that end late ----------------------------------------------------------------------- */

#define STEPS 200

/* Each step adds to what the one before it has left; what is finished can be seen. */
static void order(void)
{
	struct ring_device_queue *queue = open_queue(RING_CHIP_ANY);
	uint32_t *seen = pinned(STEPS * 4), *one = pinned(4);
	char *far = allocate(RING_CHIP_ANY, 64);
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
		uint64_t now = i % 3 ? before : finished(queue);
		CHECK(now >= before && now <= (uint64_t)i + 2);
		for (uint64_t k = 1; k < now; k++)
			CHECK(seen[k - 1] == k);
		before = now;
	}
	CHECK(device->copy(queue, NULL, NULL, 0, false) == 0);
	await(queue, STEPS + 2);
	CHECK(seen[STEPS - 1] == STEPS);
	device->queue_close(queue);
}

/* Closing waits for what is under way, and for whoever is being told. */
static void closing(void)
{
	for (int round = 0; round < 20; round++) {
		struct ring_device_queue *queue = open_queue(RING_CHIP_ANY);
		uint32_t *seen = pinned(4);
		char *far = allocate(RING_CHIP_ANY, 64);
		sem_t told;
		int value;
		sem_init(&told, 0, 0);
		*seen = 42;
		for (int i = 0; i < 10; i++)
			CHECK(device->copy(queue, far, seen, 4, false) == 0);
		CHECK(device->tell(queue, post, &told) == 0);
		device->queue_close(queue);
		sem_getvalue(&told, &value);
		CHECK(value == 1);
	}
}

/* ---- what goes wrong -------------------------------------------------------------------------- */

/* Of whom a failure is known, at once or a moment later, and for good; nobody waits for ever. */
static void a_failing_device(void)
{
	struct ring_device_queue *queue = open_queue(RING_CHIP_ANY);
	char *far = allocate(RING_CHIP_ANY, 64), *near = pinned(4096);
	sem_t told;
	uint64_t jobs;
	int err = 0;
	sem_init(&told, 0, 0);
	for (int i = 0; i < 20 && !err; i++)
		err = device->copy(queue, far, near, 64, false);
	if (!err)
		err = device->tell(queue, post, &told);
	if (!err)
		sem_wait(&told);
	for (int i = 0; i < 1000 * HARNESS_ROOM && device->finished(queue, &jobs) == 0; i++)
		usleep(1000);
	CHECK(device->finished(queue, &jobs) == RING_ESYSTEM && jobs < 20);
	CHECK(device->copy(queue, far, near, 64, false) == RING_ESYSTEM);
	CHECK(device->tell(queue, post, &told) == RING_ESYSTEM);
	device->queue_close(queue);
}

static void no_memory(void)
{
	void *memory;
	CHECK(device->alloc(RING_CHIP_ANY, (size_t)1 << 40, &memory) == RING_ENOMEM);
	CHECK(device->alloc(RING_CHIP_ANY, 1000, &memory) == 0);
}

/* A stream that somebody captures keeps no thread from the device, and the capture stays whole. */
static void beside_a_capture(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	struct ring_device_queue *queue = open_queue(RING_CHIP_ANY);
	char *far = allocate(RING_CHIP_ANY, 64), *near = pinned(4096);
	struct CUctx_st *context;
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.capture_begin(stream, CUDA_CAPTURE_GLOBAL));
	CHECK(device->copy(queue, far, near, 64, false) == 0);
	await(queue, 1);
	device->free(allocate(RING_CHIP_ANY, 100));
	pinned(4096);
	device->queue_close(open_queue(RING_CHIP_ANY));
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
	struct ring_device_queue *queue = open_queue(RING_CHIP_ANY);
	char *far = allocate(RING_CHIP_ANY, 64), *near = pinned(4096);
	struct CUctx_st *context;
	sem_t over;
	sem_init(&over, 0, 0);
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.stream_host_function(stream, wait_for_post, &over));
	for (uint64_t jobs = 1; jobs <= 5; jobs++) {
		CHECK(device->copy(queue, far, near, 64, false) == 0);
		await(queue, jobs);
	}
	sem_post(&over);
	CUDA_MUST(cuda.stream_synchronize(stream)); /* it has left the semaphore */
	device->queue_close(queue);
}

/* Where there is no driver everything is the host's, and one line says why. */
static void no_driver(void)
{
	struct ring_failure failure = {0};
	int here;
	void *memory;
	if (ring_cuda_driver(&failure)) {
		printf("# this machine has a driver of its own\n");
		return;
	}
	CHECK(failure.err == RING_ENOTSUP && !strchr(failure.text, '\n'));
	CHECK(strstr(failure.text, "NVIDIA's driver does not open: " RING_CUDA_LIBRARY));
	printf("# %s\n", failure.text);
	CHECK(!device->owns(&here));
	CHECK(device->alloc(RING_CHIP_ANY, 1, &memory) == RING_ESYSTEM);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static const struct test_case {
	const char *name;
	void (*run)(void);
	const char *environment; /* NAME=VALUE ... */
	bool no_driver;
} cases[] = {
	{"the reference's bits", bits, "RING_FAKE_CUDA_DELAY_US=0", false},
	{"memory", memory, "", false},
	{"queries that fail", failing_queries,
	 "RING_FAKE_CUDA_FAIL=cuPointerGetAttribute:1=719,cuPointerGetAttributes:1=719", false},
	{"what is pinned, and fork()", forked, "", false},
	{"a device that cannot pin", unable_to_pin, "RING_FAKE_CUDA_PINS=0", false},
	{"two devices", two_devices, "RING_FAKE_CUDA_DEVICES=2", false},
	{"an old driver", an_old_driver,
	 "RING_FAKE_CUDA_VERSION=11000 RING_FAKE_CUDA_FAIL=cuModuleLoadData:1=200", false},
	{"a stream of another device", stream_of_another, "RING_FAKE_CUDA_DEVICES=2", false},
	{"jobs in order", order, "", false},
	{"closing with jobs under way", closing, "RING_FAKE_CUDA_DELAY_US=2000", false},
	{"a device that fails", a_failing_device,
	 "RING_FAKE_CUDA_BREAK=15=719 RING_FAKE_CUDA_DELAY_US=5000", false},
	{"a device without memory left", no_memory, "", false},
	{"beside a capture", beside_a_capture, "", false},
	{"beside a host function that does not end", beside_a_host_function, "", false},
	{"no driver", no_driver, "LD_LIBRARY_PATH=", true},
};

static void set_environment(const char *settings)
{
	char copy[256], *rest;
	snprintf(copy, sizeof(copy), "%s", settings);
	for (char *one = strtok_r(copy, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(one, '=');
		*value = 0;
		setenv(one, value + 1, 1);
	}
}

static int run_here(const struct test_case *it)
{
	CHECK(it->no_driver || cuda_open());
	it->run();
	return 0;
}

/* As the environment of the loader counts from the start of a program, it is started again. */
static bool run(const struct test_case *it, char **argv)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		set_environment(it->environment);
		alarm(60 * HARNESS_ROOM);
		execl("/proc/self/exe", argv[0], it->name, NULL);
		_exit(99);
	}
	while (waitpid(child, &status, 0) != child)
		;
	if (status)
		printf("# ended with status 0x%x\n", (unsigned)status);
	return status == 0;
}

int main(int argc, char **argv)
{
	const int n = (int)(sizeof(cases) / sizeof(cases[0]));
	int failed = 0;
	device = ring_device_numbered(CUDA);
	if (!device) {
		printf("this build has no kernels for GPUs: configure found no nvcc\n");
		return 77;
	}
	if (argc == 1)
		cuda_use_fake(argv);
	for (int i = 0; argc > 1 && i < n; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return run_here(&cases[i]);
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		bool good = run(&cases[i], argv);
		printf("%s %d - %s\n", good ? "ok" : "not ok", i + 1, cases[i].name);
		failed += !good;
	}
	return failed != 0;
}
