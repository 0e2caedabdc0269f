/* SPDX-License-Identifier: MIT */
/*
 * The fake driver runs images that are texts of PTX: kernels of several streams are there at the
 * same time and may wait for the host, a device has places for so many blocks and no more, and what
 * a GPU refuses is refused with the line of the text. Every case is a process of its own.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/driver.h"
#include "tests/harness.h"

#define PLACES 8 /* for blocks on a device that the driver makes up */
#define INVALID_PTX 218
#define CHECK(condition)                                                                           \
	((condition) ? (void)0                                                                     \
		     : (printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"

static const char image[] = HEAD
	/* Every block says that it is there, and waits until it may go. */
	".visible .entry wait(.param .u64 words)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<3>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [words];\n"
	"	red.release.sys.global.add.u32 [%rd1], 1;\n"
	"$again:\n"
	"	ld.acquire.sys.global.u32 %r1, [%rd1+4];\n"
	"	setp.eq.s32 %p1, %r1, 0;\n"
	"	@%p1 bra $again;\n"
	"	ret;\n"
	"}\n"
	".visible .entry store(.param .u64 at, .param .u32 value)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [at];\n"
	"	ld.param.u32 %r1, [value];\n"
	"	st.u32 [%rd1], %r1;\n"
	"	ret;\n"
	"}\n"
	/* The first thread waits for all, and all for the first. */
	".visible .entry knot()\n"
	".maxntid 64, 1, 1\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<2>;\n"
	"	mov.u32 %r1, %tid.x;\n"
	"	setp.eq.u32 %p1, %r1, 0;\n"
	"	@%p1 bar.sync 1;\n"
	"	bar.sync 2;\n"
	"	ret;\n"
	"}\n"
	".visible .entry strange()\n"
	"{\n"
	"	frobnicate.b32;\n"
	"}\n";

static struct CUstream_st *streams[2];
static struct CUmod_st *module;
static uint32_t *words; /* that the host and the device reach */
static char *memory;

static struct CUfunc_st *function(const char *name)
{
	struct CUfunc_st *it;
	CUDA_MUST(cuda.module_function(&it, module, name));
	CUDA_MUST(cuda.function_load(it));
	return it;
}

static void start(void)
{
	struct CUctx_st *context;
	CHECK(cuda_open());
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, 0));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.module_load(&module, image));
	for (int i = 0; i < 2; i++)
		CUDA_MUST(cuda.stream_create(&streams[i], RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.host_alloc((void **)&words, 4096, 0));
	memset(words, 0, 4096);
	CUDA_MUST(cuda.memory_alloc((void **)&memory, 4096));
}

static int launch(struct CUfunc_st *kernel, int stream, unsigned blocks, unsigned threads,
		  void **arguments)
{
	return cuda.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, streams[stream], arguments, NULL);
}

/* Waits until that many blocks are there. */
static void await(unsigned blocks)
{
	const _Atomic uint32_t *there = (const _Atomic uint32_t *)words;
	while (atomic_load(there) < blocks)
		usleep(100);
}

static void let_go(void)
{
	atomic_store((_Atomic uint32_t *)words + 1, 1);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void beside_one_that_waits(void)
{
	uint32_t value = 7, read = 0;
	struct CUfunc_st *wait = function("wait"), *store = function("store");
	CUDA_MUST(launch(wait, 0, 2, 1, (void *[]){&words}));
	await(2);
	CUDA_MUST(launch(store, 1, 1, 1, (void *[]){&memory, &value}));
	CUDA_MUST(cuda.memory_copy(&read, memory, sizeof(read), streams[1]));
	CUDA_MUST(cuda.stream_synchronize(streams[1]));
	CHECK(read == 7);
	CHECK(cuda.stream_query(streams[0]) == RING_CUDA_NOT_READY);
	let_go();
	CUDA_MUST(cuda.stream_synchronize(streams[0]));
}

/* What waits keeps its place, and what has none does not begin. */
static void places(void)
{
	uint32_t value = 7, *third = words + 2;
	struct CUfunc_st *wait = function("wait"), *store = function("store");
	CUDA_MUST(launch(wait, 0, PLACES + 1, 1, (void *[]){&words}));
	await(PLACES);
	CUDA_MUST(launch(store, 1, 1, 1, (void *[]){&third, &value}));
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		CHECK(*(volatile uint32_t *)words == PLACES && *(volatile uint32_t *)third == 0);
	}
	let_go();
	CUDA_MUST(cuda.stream_synchronize(streams[0]));
	CUDA_MUST(cuda.stream_synchronize(streams[1]));
	CHECK(words[0] == PLACES + 1 && *third == 7);
}

static void a_context_that_breaks(void)
{
	uint32_t value = 7;
	char *nowhere = memory + 4096;
	struct CUfunc_st *wait = function("wait"), *store = function("store");
	CUDA_MUST(launch(wait, 0, 2, 1, (void *[]){&words}));
	await(2);
	CUDA_MUST(launch(store, 1, 1, 1, (void *[]){&nowhere, &value}));
	CHECK(cuda.stream_synchronize(streams[1]) == RING_CUDA_ILLEGAL_ADDRESS);
	CHECK(cuda.stream_synchronize(streams[0]) == RING_CUDA_ILLEGAL_ADDRESS);
}

static int result_at(char *address)
{
	uint32_t value = 7;
	CUDA_MUST(launch(function("store"), 0, 1, 1, (void *[]){&address, &value}));
	return cuda.stream_synchronize(streams[0]);
}

static void the_last_word(void)
{
	CHECK(result_at(memory + 4092) == 0);
}

static void behind_the_end(void)
{
	CHECK(result_at(memory + 4096) == RING_CUDA_ILLEGAL_ADDRESS);
}

static void memory_of_the_host(void)
{
	static char here[64];
	CHECK(result_at(here) == RING_CUDA_ILLEGAL_ADDRESS);
}

static void freed_memory(void)
{
	CUDA_MUST(cuda.memory_free(memory));
	CHECK(result_at(memory) == RING_CUDA_ILLEGAL_ADDRESS);
}

static void misaligned(void)
{
	CHECK(result_at(memory + 2) == RING_CUDA_MISALIGNED_ADDRESS);
}

static void threads_that_wait_for_each_other(void)
{
	struct CUfunc_st *knot = function("knot");
	CHECK(launch(knot, 0, 1, 65, (void *[]){NULL}) == RING_CUDA_INVALID_VALUE);
	CUDA_MUST(launch(knot, 0, 1, 64, (void *[]){NULL}));
	CHECK(cuda.stream_synchronize(streams[0]) == RING_CUDA_LAUNCH_FAILED);
}

static void an_instruction_that_is_unknown(void)
{
	struct CUfunc_st *it;
	CHECK(cuda.module_function(&it, module, "strange") == INVALID_PTX);
	CHECK(cuda.module_function(&it, module, "absent") == RING_CUDA_NOT_FOUND);
}

/* As nvcc writes one with --no-compress: PTX 7.0 for compute_80. */
static void out_of_a_fatbin(void)
{
	static struct fatbin {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t bytes;
		uint16_t kind, kind_version;
		uint32_t entry_header_bytes;
		uint64_t entry_bytes;
		uint32_t compressed_bytes, options;
		uint16_t minor, major;
		uint32_t capability;
		uint64_t others[3];
		char text[(sizeof(image) + 7) / 8 * 8];
	} fatbin = {.magic = 0xba55ed50,
		    .version = 1,
		    .header_bytes = offsetof(struct fatbin, kind),
		    .bytes = sizeof(fatbin) - offsetof(struct fatbin, kind),
		    .kind = 1,
		    .kind_version = 1,
		    .entry_header_bytes = offsetof(struct fatbin, text) -
					  offsetof(struct fatbin, kind),
		    .entry_bytes = sizeof(fatbin.text),
		    .major = 7,
		    .capability = 80};
	memcpy(fatbin.text, image, sizeof(image));
	CUDA_MUST(cuda.module_load(&module, &fatbin));
	CHECK(result_at(memory) == 0);
}

static const struct test_case {
	const char *name;
	void (*run)(void);
	const char *says; /* on stderr, which nothing else does */
} cases[] = {
	{"beside one that waits", beside_one_that_waits, ""},
	{"places", places, ""},
	{"a context that breaks", a_context_that_breaks, "of store, thread 0 of block 0, error 700"},
	{"out of a fatbin", out_of_a_fatbin, ""},
	{"the last word", the_last_word, ""},
	{"behind the end", behind_the_end, "line 23 of the PTX of store, thread 0"},
	{"memory of the host", memory_of_the_host, "error 700: 4 bytes at 0x"},
	{"freed memory", freed_memory, "error 700: 4 bytes at 0x"},
	{"misaligned", misaligned, "error 716: 4 bytes at 0x"},
	{"threads that wait for each other", threads_that_wait_for_each_other,
	 "all threads of knot wait for each other"},
	{"an instruction that is unknown", an_instruction_that_is_unknown,
	 "line 39 of the PTX of strange: \"frobnicate.b32\" is not known"},
};

/* returns what it says on stderr, at most so much; the status of its end */
static int run_apart(const struct test_case *it, char *said, size_t room)
{
	int ends[2], status;
	size_t length = 0;
	ssize_t n;
	fflush(stdout);
	if (pipe(ends))
		return -1;
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		alarm(60 * HARNESS_ROOM);
		start();
		it->run();
		exit(0);
	}
	close(ends[1]);
	while (length + 1 < room && (n = read(ends[0], said + length, room - 1 - length)) > 0)
		length += (size_t)n;
	said[length] = '\0';
	close(ends[0]);
	while (waitpid(child, &status, 0) != child)
		;
	return status;
}

int main(int argc, char **argv)
{
	const int n = (int)(sizeof(cases) / sizeof(cases[0]));
	int failed = 0;
	(void)argc;
	cuda_use_fake(argv);
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		char said[4096];
		const int status = run_apart(&cases[i], said, sizeof(said));
		const bool good = status == 0 && strstr(said, cases[i].says) &&
				  (*cases[i].says || !*said);
		if (!good)
			printf("# ended with status 0x%x, and said: %s\n", (unsigned)status, said);
		printf("%s %d - %s\n", good ? "ok" : "not ok", i + 1, cases[i].name);
		failed += !good;
	}
	return failed != 0;
}
