/* SPDX-License-Identifier: MIT */
/* What pointers are said to point to, and whether pinned memory stays what both ends see. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "gpu.h"

#define BYTES ((size_t)2 << 20)
#define QUERIES 1000

/* ---- pointers -------------------------------------------------------------------------------- */

struct answer {
	int result;
	unsigned kind, managed;
	int device;
};

static struct answer ask(const void *memory)
{
	struct answer answer = {0};
	const int attributes[] = {RING_CUDA_POINTER_KIND, RING_CUDA_POINTER_DEVICE,
				  RING_CUDA_POINTER_MANAGED};
	void *values[] = {&answer.kind, &answer.device, &answer.managed};
	answer.result = cuda.pointer_attributes(3, attributes, values, memory);
	return answer;
}

/* As the library takes it: the driver knows nothing of it. */
static bool is_unknown(const struct answer *answer)
{
	return answer->result == RING_CUDA_INVALID_VALUE ||
	       answer->result == RING_CUDA_INVALID_CONTEXT || (!answer->result && !answer->kind);
}

enum expected { UNKNOWN, HOST, DEVICE, MANAGED, ANY };

static bool is_as_expected(const struct answer *answer, enum expected expected)
{
	switch (expected) {
	case UNKNOWN:
		return is_unknown(answer);
	case HOST:
		return !answer->result && answer->kind == RING_CUDA_MEMORY_HOST;
	case DEVICE:
		return !answer->result && answer->kind == RING_CUDA_MEMORY_DEVICE &&
		       !answer->managed;
	case MANAGED:
		return !answer->result && answer->managed;
	default:
		return true;
	}
}

/* Adds up nanoseconds of a query that the library makes for memory of the host. */
static bool check_answer(const char *name, const void *memory, enum expected expected, double *ns)
{
	double began = gpu_clock();
	if (!memory) {
		check_note("%s: the driver has none", name);
		return true;
	}
	for (int i = 0; i < QUERIES; i++)
		ask(memory);
	*ns = (gpu_clock() - began) / QUERIES * 1e9;
	const struct answer answer = ask(memory);
	const bool right = is_as_expected(&answer, expected);
	check_note("%s: %s, kind %u, managed %u, device %d, %.0f ns%s", name,
		   gpu_name(answer.result), answer.kind, answer.managed, answer.device, *ns,
		   right ? "" : ": not as expected");
	return right;
}

static void *pool_memory(void)
{
	void *at = NULL;
	int (*alloc)(void **, size_t, struct CUstream_st *);
	*(void **)&alloc = gpu_symbol("cuMemAllocAsync");
	struct CUstream_st *stream = gpu_stream(0);
	if (!alloc || alloc(&at, BYTES, stream))
		return NULL;
	CUDA_MUST(cuda.stream_synchronize(stream));
	return at;
}

static void *map(int protection, int flags, int fd)
{
	void *at = mmap(NULL, BYTES, protection, flags, fd, 0);
	if (at == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	return at;
}

static int run_pointers(void)
{
	struct gpu gpu;
	void *managed = NULL;
	double heap_ns, far_ns, ns;
	bool right = true;
	if (!gpu_driver())
		return CHECK_NOT_OK;
	gpu_open(&gpu, 0);
	char *far = gpu_memory(BYTES), *freed = gpu_memory(BYTES), *heap = calloc(1, BYTES);
	CUDA_MUST(cuda.memory_free(freed));
	if (cuda.memory_alloc_managed(&managed, BYTES, 1))
		managed = NULL;
	const void *pinned = gpu_pinned(BYTES), *pool = pool_memory(), *mapped = check_map(BYTES, 0);
	CUDA_MUST(cuda.context_set(NULL));
	right &= check_answer("the heap", heap, UNKNOWN, &heap_ns);
	right &= check_answer("the stack", &gpu, UNKNOWN, &ns);
	right &= check_answer("PROT_NONE", map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), UNKNOWN,
			      &ns);
	right &= check_answer("pinned", pinned, HOST, &ns);
	right &= check_answer("of the device", far + BYTES - 1, DEVICE, &far_ns);
	right &= check_answer("freed", freed, ANY, &ns);
	right &= check_answer("managed", managed, MANAGED, &ns);
	right &= check_answer("of a pool", pool, DEVICE, &ns);
	right &= check_answer("mapped by cuMemMap", mapped, DEVICE, &ns);
	check_fact(
		"a query takes %.0f ns for the heap, %.0f ns for the device's, without a context",
		heap_ns, far_ns);
	free(heap);
	return right ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_pointers = {"what pointers are said to point to", run_pointers, 8,
				     "the library takes some buffers for memory that they are not: "
				     "it reads where it may not, or "
				     "refuses what works"};

/* ---- pinned memory --------------------------------------------------------------------------- */

enum word { BY_CHILD, BY_PARENT, BY_SECOND, BEHIND_FORK, READY, WORDS };

static void pin(void *memory)
{
	CUDA_MUST(cuda.host_register(memory, BYTES, RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED));
}

static bool write_and_see(const struct gpu *gpu, uint32_t *at, const uint32_t *seen, uint32_t value)
{
	struct CUstream_st *stream = gpu_stream(0);
	CUDA_MUST(gpu_store(gpu->store, stream, at, value));
	CUDA_MUST(cuda.stream_synchronize(stream));
	CUDA_MUST(cuda.stream_destroy(stream));
	return __atomic_load_n(seen, __ATOMIC_ACQUIRE) == value;
}

/* The other process: pins the same pages as long as this one has them pinned, too. */
static void be_second(int fd)
{
	struct gpu gpu;
	uint32_t *words = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	while (!__atomic_load_n(&words[READY], __ATOMIC_ACQUIRE))
		gpu_sleep(0.001);
	gpu_open(&gpu, 0);
	pin(words);
	exit(!write_and_see(&gpu, &words[BY_CHILD], &words[BY_CHILD], 11));
}

/* Whether the GPU and this process still see the same page once a child has been forked. */
static bool survives_fork(const struct gpu *gpu, int sharing)
{
	uint32_t *words = map(PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1);
	words[READY] = 1;
	pin(words);
	pid_t child = fork();
	if (child == 0)
		for (;;)
			pause();
	words[READY] = 2; /* of private memory this is a new page */
	bool same = write_and_see(gpu, &words[BEHIND_FORK], &words[BEHIND_FORK], 14);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return same;
}

static int run_pinned(void)
{
	struct gpu gpu;
	int fd = memfd_create("first", MFD_CLOEXEC), status;
	if (fd < 0 || ftruncate(fd, (off_t)BYTES) || !gpu_driver())
		return CHECK_NOT_OK;
	pid_t child = fork();
	if (child == 0)
		be_second(fd);
	gpu_open(&gpu, 0);
	uint32_t *words = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	uint32_t *again = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	pin(words);
	__atomic_store_n(&words[READY], 1, __ATOMIC_RELEASE);
	bool both = write_and_see(&gpu, &words[BY_PARENT], &again[BY_PARENT], 12);
	both &= waitpid(child, &status, 0) == child && status == 0 && words[BY_CHILD] == 11;
	check_fact("a memfd that two processes have pinned: %s", both ? "both are seen" : "wrong");
	pin(again);
	bool twice = write_and_see(&gpu, &again[BY_SECOND], &words[BY_SECOND], 13);
	check_fact("pinned twice in one: %s", twice ? "seen" : "wrong");
	bool shared = survives_fork(&gpu, MAP_SHARED), own = survives_fork(&gpu, MAP_PRIVATE);
	check_fact("behind a fork: shared memory %s, private memory %s", shared ? "seen" : "wrong",
		   own ? "seen" : "is another page");
	return both && twice && shared ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_pinned = {"memory that several have pinned, and a fork in between",
				   run_pinned, 10,
				   "what a GPU writes to memory that ranks share does not come to "
				   "the other rank: calls on its "
				   "buffers are wrong without an error"};
