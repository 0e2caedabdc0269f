/* SPDX-License-Identifier: MIT */
/* Cases that are processes, and what they have of the row; see cases.h. */
#include "cases.h"

#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"

#define CUDA 1 /* the row's number */

const struct ring_device *device;

void cases_post(void *semaphore)
{
	sem_post(semaphore);
}

uint64_t cases_finished(struct ring_device_queue *queue)
{
	uint64_t jobs;
	CHECK(device->finished(queue, &jobs) == 0);
	return jobs;
}

void cases_await(struct ring_device_queue *queue, uint64_t jobs)
{
	sem_t told;
	sem_init(&told, 0, 0);
	if (cases_finished(queue) < jobs) {
		CHECK(device->tell(queue, cases_post, &told) == 0);
		sem_wait(&told);
	}
	CHECK(cases_finished(queue) == jobs);
	sem_destroy(&told);
}

struct ring_device_queue *cases_queue(int chip)
{
	struct ring_device_queue *queue;
	CHECK(device->queue_open(chip, &queue) == 0);
	return queue;
}

char *cases_allocate(int chip, size_t bytes)
{
	void *memory;
	CHECK(device->alloc(chip, bytes, &memory) == 0);
	return memory;
}

static void *volatile held[100];
static int held_count;

void *cases_pinned(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	held[held_count++] = memory;
	CHECK(memory && device->pin(memory, (bytes + 4095) / 4096 * 4096) == 0);
	memset(memory, 0, bytes);
	return memory;
}

struct CUstream_st *cases_stream(struct ring_device_stream **stream)
{
	struct CUctx_st *context;
	struct CUstream_st *handle;
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.stream_create(&handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CHECK(device->streams->open(handle, stream, NULL) == 0);
	return handle;
}

/* ---- processes -------------------------------------------------------------------------------- */

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

static int run_here(const struct cuda_case *it)
{
	CHECK(it->no_driver || cuda_open());
	it->run();
	return 0;
}

/* As the environment of the loader counts from the start of a program, it is started again. */
static bool run(const struct cuda_case *it, char **argv)
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

int cases_run(int argc, char **argv, const struct cuda_case *cases)
{
	int n = 0, failed = 0;
	device = ring_device_numbered(CUDA);
	if (!device) {
		printf("this build has no kernels for GPUs: configure found no nvcc\n");
		return 77;
	}
	if (argc == 1)
		cuda_use_fake(argv);
	for (; cases[n].name; n++)
		if (argc > 1 && strcmp(argv[1], cases[n].name) == 0)
			return run_here(&cases[n]);
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++)
		failed += harness_report(cases[i].name, !run(&cases[i], argv));
	return failed != 0;
}
