/* SPDX-License-Identifier: MIT */
/* How long messages between kernels take, how fast kernels reach the host, and time slices. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "gpu.h"

/* ---- hops ------------------------------------------------------------------------------------ */

#define WORD_APART 128 /* bytes: in lines of their own */
#define ENOUGH_S 0.02
#define MOST_ROUNDS 100000

struct path {
	const struct gpu *one, *other; /* may be the same */
	char *words;
};

/* returns seconds of so many rounds, of two hops each */
static double play(const struct path *path, uint32_t rounds)
{
	char *mine = path->words, *theirs = path->words + WORD_APART;
	struct CUstream_st *streams[2]; /* of different priorities: no queue is shared */
	memset(path->words, 0, 2 * WORD_APART);
	CUDA_MUST(cuda.context_set(path->one->context));
	streams[0] = gpu_stream(0);
	CUDA_MUST(cuda.context_set(path->other->context));
	streams[1] = gpu_stream(path->other->greatest);
	CUDA_MUST(gpu_hop(path->other, streams[1], theirs, mine, rounds, false));
	CUDA_MUST(cuda.context_set(path->one->context));
	double began = gpu_clock();
	CUDA_MUST(gpu_hop(path->one, streams[0], mine, theirs, rounds, true));
	CUDA_MUST(cuda.stream_synchronize(streams[0]));
	double took = gpu_clock() - began;
	CUDA_MUST(cuda.context_set(path->other->context));
	CUDA_MUST(cuda.stream_synchronize(streams[1]));
	return took;
}

/* What one takes beside the launch. */
static double hop_us(const struct path *path)
{
	uint32_t rounds = 10;
	double few = play(path, 1), many;
	while ((many = play(path, rounds)) < ENOUGH_S + few && rounds < MOST_ROUNDS)
		rounds *= 4;
	return (many - few) / (rounds - 1) / 2 * 1e6;
}

/* Words of the device cannot be zeroed by the host, so they are the kernel's, new each time. */
static double hop_in_memory_us(const struct gpu *gpu)
{
	struct CUstream_st *streams[2] = {gpu_stream(0), gpu_stream(gpu->greatest)};
	double took = 0, first = 0;
	uint32_t rounds = 1;
	for (; took < ENOUGH_S + first && rounds < MOST_ROUNDS; rounds *= 10) {
		char *words = gpu_memory(2 * WORD_APART);
		CUDA_MUST(gpu_hop(gpu, streams[1], words + WORD_APART, words, rounds, false));
		double began = gpu_clock();
		CUDA_MUST(gpu_hop(gpu, streams[0], words, words + WORD_APART, rounds, true));
		CUDA_MUST(cuda.stream_synchronize(streams[0]));
		took = gpu_clock() - began;
		first = rounds == 1 ? took : first;
		CUDA_MUST(cuda.stream_synchronize(streams[1]));
		CUDA_MUST(cuda.memory_free(words));
	}
	return (took - first) / (rounds / 10) / 2 * 1e6;
}

static int run_hop(void)
{
	const char *why;
	struct gpu gpus[2];
	int devices = gpu_find(&why);
	if (!devices)
		return CHECK_NOT_OK;
	gpu_open(&gpus[0], 0);
	struct path path = {&gpus[0], &gpus[0], gpu_pinned(2 * WORD_APART)};
	check_fact("through memory of the host %.2f us", hop_us(&path));
	check_fact("through the device's own %.2f us", hop_in_memory_us(&gpus[0]));
	if (devices > 1) {
		gpu_open(&gpus[1], 1);
		path.other = &gpus[1];
		check_fact("between two devices, through memory of the host %.2f us", hop_us(&path));
	}
	return CHECK_OK;
}

const struct check check_hop = {"a word from kernel to kernel", run_hop, 10,
				"two kernels do not see each other's words, or do not run at once: "
				"calls that GPUs carry out "
				"by themselves (RING_CUDA_ENGINE=kernel) never end here"};

/* ---- the way to the host --------------------------------------------------------------------- */

#define MOST_BYTES ((size_t)64 << 20)
#define TAIL 64 /* bytes that are compared, from the end */

/* Whether bytes that went to the device and came back are the same. */
static bool is_same(const struct gpu *gpu, uint32_t *near, char *far)
{
	struct CUstream_st *stream = gpu_stream(0);
	const size_t bytes = 64 << 10;
	for (size_t i = 0; i < bytes / 4; i++)
		near[i] = (uint32_t)(i * 2654435761u);
	CUDA_MUST(gpu_copy(gpu, stream, far, near, bytes, 4));
	CUDA_MUST(gpu_copy(gpu, stream, near + bytes / 4, far, bytes, 4));
	CUDA_MUST(cuda.stream_synchronize(stream));
	return memcmp(near, near + bytes / 4, bytes) == 0;
}

static int run_rates(void)
{
	struct gpu gpu;
	if (!gpu_driver())
		return CHECK_NOT_OK;
	gpu_open(&gpu, 0);
	char *far = gpu_memory(MOST_BYTES), *near = gpu_pinned(MOST_BYTES);
	const int blocks[] = {1, 4, 16, gpu.multiprocessors, 0};
	bool same = is_same(&gpu, (uint32_t *)near, far);
	for (int i = 0; i < (int)(sizeof(blocks) / sizeof(*blocks)); i++) {
		size_t bytes[2];
		const struct gpu_rate load = {&gpu, far, near, MOST_BYTES, blocks[i]},
				      store = {&gpu, near, far, MOST_BYTES, blocks[i]};
		double in = gpu_measure(&load, &bytes[0]), out = gpu_measure(&store, &bytes[1]);
		char who[32] = "copy engines";
		if (blocks[i])
			snprintf(who, sizeof(who), "%d blocks", blocks[i]);
		check_fact("%s load %.2f and store %.2f GB/s", who, in, out);
		check_note("%s: of %zu and %zu bytes", who, bytes[0], bytes[1]);
	}
	if (!same)
		check_fact("what came back is not what went there");
	return same ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_rates = {
	"kernels load and store pinned memory", run_rates, 12,
	"kernels do not move data of the host rightly: no call on this device can be trusted"};

/* ---- time slices ----------------------------------------------------------------------------- */

#define SPIN_NS 300000000ull
#define MPS "nvidia-cuda-mps-control"
#define MPS_BEGINS_S 1

/* What two processes write of themselves. */
struct gaps {
	uint64_t ns[3]; /* the longest; all of 100 us and more, and their number */
	bool ready;
};

struct spinner {
	struct gaps *mine, *other;
};

static int spin(void *context)
{
	const struct spinner *spinner = context;
	struct gpu gpu;
	if (!gpu_driver())
		return 1;
	gpu_open(&gpu, 0);
	struct CUstream_st *stream = gpu_stream(0);
	uint64_t *out = gpu_pinned(sizeof(spinner->mine->ns)), ns = SPIN_NS;
	__atomic_store_n(&spinner->mine->ready, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&spinner->other->ready, __ATOMIC_ACQUIRE))
		gpu_sleep(0.0001);
	CUDA_MUST(cuda.launch(gpu.gaps, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&out, &ns}, NULL));
	CUDA_MUST(cuda.stream_synchronize(stream));
	memcpy(spinner->mine->ns, out, sizeof(spinner->mine->ns));
	return 0;
}

/* Two processes look at the clock at the same time. returns whether both came to an end */
static bool spin_both(const char *how)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS;
	struct gaps *both = mmap(NULL, 2 * sizeof(*both), PROT_READ | PROT_WRITE, flags, -1, 0);
	struct spinner one = {&both[0], &both[1]}, other = {&both[1], &both[0]};
	int status;
	pid_t second = fork();
	if (second == 0)
		exit(spin(&other));
	int first = check_apart(spin, &one);
	if (first || waitpid(second, &status, 0) != second || status)
		return false;
	const uint64_t *ns = both[0].ns;
	check_fact("%s: %ju gaps of 100 us or more in %.0f ms, %.2f ms each, %.2f at most", how,
		   (uintmax_t)ns[2], (double)SPIN_NS / 1e6,
		   ns[2] ? (double)ns[1] / (double)ns[2] / 1e6 : 0.0, (double)ns[0] / 1e6);
	munmap(both, 2 * sizeof(*both));
	return true;
}

/* In front, in this process group, so that it ends with the check. */
static pid_t start_mps(const char *folder)
{
	setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
	setenv("CUDA_MPS_LOG_DIRECTORY", folder, 1);
	pid_t daemon = fork();
	if (daemon == 0) {
		execlp(MPS, MPS, "-f", NULL);
		_exit(127);
	}
	gpu_sleep(MPS_BEGINS_S);
	return daemon > 0 && waitpid(daemon, NULL, WNOHANG) == 0 ? daemon : 0;
}

/* A server of our own, which nobody else sees. It is no fault of the driver's if there is none. */
static void spin_with_mps(void)
{
	char folder[] = "/tmp/first-mps-XXXXXX", command[64];
	if (system("command -v " MPS " >/dev/null 2>&1") || !mkdtemp(folder)) {
		check_fact("there is no MPS: no " MPS);
		return;
	}
	pid_t daemon = start_mps(folder);
	if (!daemon || !spin_both("with MPS"))
		check_fact("MPS does not start");
	if (daemon) {
		if (system("echo quit | timeout 5 " MPS " >/dev/null 2>&1"))
			kill(daemon, SIGKILL);
		waitpid(daemon, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		check_note("%s stays", folder);
}

static int run_slices(void)
{
	bool both = spin_both("time slices");
	spin_with_mps();
	return both ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_slices = {
	"two processes whose kernels spin", run_slices, 12,
	"processes that share this device do not run in turns: ranks that wait for each other in "
	"kernels on one device never end, so each rank needs a device of its own"};
