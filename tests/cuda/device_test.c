/* SPDX-License-Identifier: MIT */
/*
 * What the row `cuda` computes, the reference's bits; which memory is its own, and reached by it;
 * and when it opens which driver.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/datatype.h"
#include "cases.h"
#include "tests/kernels/jobs.h"
#include "tests/kernels/reference.h"

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
	cases_await(mirrors.queue, ++mirrors.jobs);
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
	cases_await(mirrors.queue, ++mirrors.jobs);
	for (int i = 0; i < mirrors.count; i++)
		fetch(&mirrors.mirrors[i]);
	return 0;
}

static void bits(void)
{
	const struct reducer reducer = {"cuda", reduce_far, NULL};
	unsigned long seed = jobs_seed_as_told();
	mirrors.queue = cases_queue(RING_CHIP_ANY);
	mirrors.far = cases_allocate(RING_CHIP_ANY,
				     (RING_REDUCE_SOURCES + RING_REDUCE_RESULTS) * MIRROR_BYTES);
	mirrors.room = cases_pinned(MIRROR_BYTES);
	for (int type = 0; type <= RING_FLOAT8_E5M2; type++) {
		for (int op = 0; op < REFERENCE_OPS; op++) {
			const char *wrong = NULL;
			if (ring_op_takes((enum ring_op)op, (enum ring_datatype)type))
				wrong = jobs_check_values(&reducer, (enum ring_datatype)type,
							  (enum ring_op)op);
			if (wrong)
				printf("# %s; RING_TEST_SEED=%lu\n", wrong, seed);
			CHECK(!wrong);
		}
	}
	CHECK(!jobs_check_shapes(&reducer, RING_FLOAT16, RING_SUM));
	device->queue_close(mirrors.queue);
}

static void bits_of_ptx(void)
{
	const struct reducer reducer = {"cuda", reduce_far, NULL};
	jobs_seed_as_told();
	mirrors.queue = cases_queue(RING_CHIP_ANY);
	mirrors.far = cases_allocate(RING_CHIP_ANY,
				     (RING_REDUCE_SOURCES + RING_REDUCE_RESULTS) * MIRROR_BYTES);
	mirrors.room = cases_pinned(MIRROR_BYTES);
	struct job job = {.type = RING_FLOAT16,
			  .count = 3000,
			  .nsources = 3,
			  .nresults = 2,
			  .in_place = -1,
			  .alike = true,
			  .element = jobs_mixed};
	for (; job.count > 0; job.count /= 2)
		CHECK(!job_check(&reducer, &job));
	device->queue_close(mirrors.queue);
}

/* ---- memory ----------------------------------------------------------------------------------- */

static void memory(void)
{
	char on_stack;
	char *far = cases_allocate(RING_CHIP_ANY, 1000), *near = cases_pinned(4096),
	     *heap = malloc(100);
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
	char *far = cases_allocate(RING_CHIP_ANY, 100);
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
	char *near = cases_pinned(4096);
	CHECK(!child_has(near));
	device->unpin(near, 4096);
	CHECK(child_has(near));
	CHECK(device->pin(near, 4096) == 0);
}

/* Jobs reach what the device allocates, where they cannot reach what exists. */
static void unable_to_pin(void)
{
	struct ring_device_queue *queue = cases_queue(RING_CHIP_ANY);
	char *far = cases_allocate(RING_CHIP_ANY, 64);
	void *near, *heap = aligned_alloc(4096, 4096);
	CHECK(device->pin(heap, 4096) == RING_ENOTSUP);
	CHECK(device->host_alloc(1000, &near) == 0);
	memset(near, 7, 1000);
	CHECK(device->copy(queue, far, near, 64, false) == 0);
	CHECK(device->copy(queue, (char *)near + 100, far, 64, false) == 0);
	cases_await(queue, 2);
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
	CHECK(device_of(cases_allocate(RING_CHIP_ANY, 10)) == 1);
	CUDA_MUST(cuda.context_set(contexts[0]));
	CHECK(device_of(cases_allocate(RING_CHIP_ANY, 10)) == 0 &&
	      device_of(cases_allocate(1, 10)) == 1);

	char *near = cases_pinned(4096);
	struct ring_device_queue *queue = cases_queue(1);
	memset(near, 7, 1000);
	CHECK(device->copy(queue, there, near, 1000, false) == 0);
	struct ring_reduction twice = {.sources = {there, there},
				       .nsources = 2,
				       .results = {near},
				       .nresults = 1,
				       .count = 1000,
				       .type = RING_INT8};
	CHECK(device->reduce(queue, &twice) == 0);
	cases_await(queue, 2);
	CHECK(near[0] == 14 && near[999] == 14);
	device->queue_close(queue);
	CUDA_MUST(cuda.context_current(&current));
	CHECK(current == contexts[0]);
}

static void no_memory(void)
{
	void *memory;
	CHECK(device->alloc(RING_CHIP_ANY, (size_t)1 << 40, &memory) == RING_ENOMEM);
	CHECK(device->alloc(RING_CHIP_ANY, 1000, &memory) == 0);
}

/* ---- the driver ------------------------------------------------------------------------------- */

/* Kernels of a newer compiler, or packed by one: the sentence names both versions. */
static void an_old_driver(void)
{
	struct ring_failure failure = {0};
	const char *text;
	char is[32];
	int chip = 0, version = atoi(getenv("RING_FAKE_CUDA_VERSION"));
	int err = device->open(&chip, &text, &failure);
	if (!err) {
		printf("# this build's compiler is as old\n");
		return;
	}
	printf("# %s\n", failure.text);
	snprintf(is, sizeof(is), "this one is of %d.%d:", version / 1000, version % 1000 / 10);
	CHECK(err == RING_ENOTSUP);
	CHECK(strstr(failure.text, "the kernels need a driver of CUDA 1"));
	CHECK(strstr(failure.text, is));
}

/* What the process says from now on. */
static FILE *listen_to_errors(void)
{
	FILE *said = tmpfile();
	CHECK(said && dup2(fileno(said), STDERR_FILENO) == STDERR_FILENO);
	return said;
}

static bool is_said(FILE *said, const char *what)
{
	char line[1024];
	bool found = false;
	rewind(said);
	while (fgets(line, sizeof(line), said))
		found |= strstr(line, what) != NULL;
	return found;
}

/* A stream of the program's, whoever has started the driver. returns whether lazy loading is told */
static bool lazy_loading_is_told(void)
{
	FILE *said = listen_to_errors();
	struct ring_device_stream *stream;
	cases_stream(&stream);
	device->streams->close(stream);
	return is_said(said, "set CUDA_MODULE_LOADING=EAGER");
}

/* Another thread may be reading the environment meanwhile: the list that it reads stays. */
static void loading_by_the_library(void)
{
	int mode;
	setenv("RING_TEST", "makes setenv() allocate the environment", 1);
	char **before = environ, *first = environ[0], *second = environ[1];
	device->queue_close(cases_queue(RING_CHIP_ANY));
	CUDA_MUST(cuda.module_loading(&mode));
	CHECK(mode == RING_CUDA_LOADING_EAGER && !lazy_loading_is_told());
	CHECK(before != environ && before[0] == first && before[1] == second);
	CHECK(strcmp(getenv("RING_TEST"), "makes setenv() allocate the environment") == 0);
}

static void loading_by_the_program(void)
{
	int mode;
	CUDA_MUST(cuda.init(0));
	device->queue_close(cases_queue(RING_CHIP_ANY));
	CUDA_MUST(cuda.module_loading(&mode));
	CHECK(mode == RING_CUDA_LOADING_LAZY && lazy_loading_is_told());
	CHECK(!getenv("CUDA_MODULE_LOADING"));
}

/* A kernel would wait for the call instead, but not for as long as calls may take. */
static void kernels_that_are_ended(void)
{
	struct ring_failure failure = {0};
	struct ring_device_stream *stream;
	struct CUctx_st *context;
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CHECK(device->streams->open(NULL, &stream, &failure) == RING_ENOTSUP);
	CHECK(strstr(failure.text, "only by a kernel, and ends kernels that run for some seconds"));
}

static bool is_opened(void)
{
	return dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

/* Calls on the host's memory, some of them once more. */
static void call_on_the_host(void)
{
	struct ring_unique_id id;
	struct ring_comm *comm;
	int numbers[2] = {1, 2};
	CHECK(ring_unique_id_create(&id) == 0);
	CHECK(ring_comm_create(&comm, 1, 0, &id, NULL) == 0);
	for (int i = 0; i < 100; i++)
		CHECK(ring_all_reduce(comm, numbers, numbers, 2, RING_INT32, RING_SUM, NULL) == 0);
	ring_comm_destroy(comm);
}

/* Who has nothing to do with devices does not open the driver; who does later is noticed. */
static void the_host_alone(void)
{
	struct ring_memory_sort sort = {.chip = RING_CHIP_ANY};
	struct CUctx_st *context;
	void *far;
	call_on_the_host();
	CHECK(!device->owns(&sort) && device->look(&sort, 1, &sort, NULL) == 0);
	CHECK(!is_opened());
	CHECK(cuda_open() && is_opened());
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.memory_alloc(&far, 100));
	CHECK(device->look(far, 100, &sort, NULL) == 0 && sort.chip == 0);
	CHECK(device->owns(far));
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

static const struct cuda_case cases[] = {
	{"the reference's bits", bits, "RING_FAKE_CUDA_DELAY_US=0", false},
	{"bits of PTX", bits_of_ptx, "RING_FAKE_CUDA_PTX=1", false},
	{"memory", memory, "", false},
	{"queries that fail", failing_queries,
	 "RING_FAKE_CUDA_FAIL=cuPointerGetAttribute:1=719,cuPointerGetAttributes:1=719", false},
	{"what is pinned, and fork()", forked, "", false},
	{"a device that cannot pin", unable_to_pin, "RING_FAKE_CUDA_PINS=0", false},
	{"two devices", two_devices, "RING_FAKE_CUDA_DEVICES=2", false},
	{"a device without memory left", no_memory, "", false},
	{"a driver that cannot unpack the kernels", an_old_driver, "RING_FAKE_CUDA_VERSION=12030",
	 false},
	{"a driver older than the compiler of the kernels", an_old_driver,
	 "RING_FAKE_CUDA_VERSION=12080", false},
	{"kernels are loaded as the library says", loading_by_the_library, "RING_LOG=warn", false},
	{"kernels are loaded as the program says", loading_by_the_program, "RING_LOG=warn", false},
	{"streams that only kernels stop, which are ended", kernels_that_are_ended,
	 "RING_FAKE_CUDA_WORDS=0 RING_FAKE_CUDA_LIMIT_MS=100", false},
	{"a program of the host alone", the_host_alone, "", true},
	{"no driver", no_driver, "LD_LIBRARY_PATH=", true},
	{NULL, NULL, NULL, false},
};

int main(int argc, char **argv)
{
	return cases_run(argc, argv, cases);
}
