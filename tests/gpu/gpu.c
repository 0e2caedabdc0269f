/* SPDX-License-Identifier: MIT */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define THREADS 512    /* of a block that copies */
#define ENOUGH_S 0.002 /* that a copy takes, to be timed */
#define FIRST_BYTES (64 << 10)
#define ROUNDS 5

/*
 * Drivers compile it, whatever their device is.
 *
 *	store  writes a word, for all to see
 *	hop    two of them take turns: one leads, and each tells its own word and waits for the other's
 *	copy   16 bytes at a time
 *	gaps   looks at the clock for a while: the longest gap between two looks, and all those of
 *	       100 us and more, their sum and number
 */
const char gpu_image[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry gpu_store(.param .u64 to, .param .u32 value)\n"
	"{\n"
	"	.reg .b64 %a;\n"
	"	.reg .b32 %v;\n"
	"	ld.param.u64 %a, [to];\n"
	"	ld.param.u32 %v, [value];\n"
	"	st.release.sys.global.u32 [%a], %v;\n"
	"	ret;\n"
	"}\n"
	".visible .entry gpu_hop(.param .u64 mine, .param .u64 theirs, .param .u32 rounds,\n"
	"	.param .u32 leads)\n"
	"{\n"
	"	.reg .pred %p<3>;\n"
	"	.reg .b32 %r<5>;\n"
	"	.reg .b64 %a<3>;\n"
	"	ld.param.u64 %a1, [mine];\n"
	"	ld.param.u64 %a2, [theirs];\n"
	"	ld.param.u32 %r1, [rounds];\n"
	"	ld.param.u32 %r2, [leads];\n"
	"	setp.ne.u32 %p1, %r2, 0;\n"
	"	mov.u32 %r3, 1;\n"
	"NEXT:\n"
	"	@%p1 st.release.sys.global.u32 [%a1], %r3;\n"
	"LOOK:\n"
	"	ld.acquire.sys.global.u32 %r4, [%a2];\n"
	"	setp.lt.u32 %p2, %r4, %r3;\n"
	"	@%p2 bra LOOK;\n"
	"	@!%p1 st.release.sys.global.u32 [%a1], %r3;\n"
	"	add.u32 %r3, %r3, 1;\n"
	"	setp.le.u32 %p2, %r3, %r1;\n"
	"	@%p2 bra NEXT;\n"
	"	ret;\n"
	"}\n"
	".visible .entry gpu_copy(.param .u64 to, .param .u64 from, .param .u64 words)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<10>;\n"
	"	.reg .b64 %a<9>;\n"
	"	ld.param.u64 %a1, [to];\n"
	"	ld.param.u64 %a2, [from];\n"
	"	ld.param.u64 %a3, [words];\n"
	"	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mov.u32 %r4, %nctaid.x;\n"
	"	mad.lo.u32 %r5, %r1, %r2, %r3;\n"
	"	mul.lo.u32 %r4, %r4, %r2;\n"
	"	cvt.u64.u32 %a4, %r5;\n"
	"	cvt.u64.u32 %a5, %r4;\n"
	"	setp.ge.u64 %p1, %a4, %a3;\n"
	"	@%p1 bra END;\n"
	"NEXT:\n"
	"	shl.b64 %a6, %a4, 4;\n"
	"	add.u64 %a7, %a2, %a6;\n"
	"	add.u64 %a8, %a1, %a6;\n"
	"	ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%a7];\n"
	"	st.global.v4.u32 [%a8], {%r6, %r7, %r8, %r9};\n"
	"	add.u64 %a4, %a4, %a5;\n"
	"	setp.lt.u64 %p1, %a4, %a3;\n"
	"	@%p1 bra NEXT;\n"
	"END:\n"
	"	ret;\n"
	"}\n"
	".visible .entry gpu_gaps(.param .u64 out, .param .u64 ns)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b64 %a<11>;\n"
	"	ld.param.u64 %a1, [out];\n"
	"	ld.param.u64 %a2, [ns];\n"
	"	mov.u64 %a3, %globaltimer;\n"
	"	mov.u64 %a4, %a3;\n"
	"	mov.u64 %a5, 0;\n"
	"	mov.u64 %a6, 0;\n"
	"	mov.u64 %a7, 0;\n"
	"NEXT:\n"
	"	mov.u64 %a8, %globaltimer;\n"
	"	sub.u64 %a9, %a8, %a4;\n"
	"	mov.u64 %a4, %a8;\n"
	"	max.u64 %a5, %a5, %a9;\n"
	"	setp.ge.u64 %p1, %a9, 100000;\n"
	"	@%p1 add.u64 %a6, %a6, %a9;\n"
	"	@%p1 add.u64 %a7, %a7, 1;\n"
	"	sub.u64 %a10, %a8, %a3;\n"
	"	setp.lt.u64 %p1, %a10, %a2;\n"
	"	@%p1 bra NEXT;\n"
	"	st.global.u64 [%a1], %a5;\n"
	"	st.global.u64 [%a1+8], %a6;\n"
	"	st.global.u64 [%a1+16], %a7;\n"
	"	ret;\n"
	"}\n";

/* ---- clocks and names ------------------------------------------------------------------------ */

double gpu_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void gpu_sleep(double seconds)
{
	const long ns = (long)(seconds * 1e9);
	nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

const char *gpu_name(int result)
{
	const char *name = "an unknown error";
	if (!result)
		return "0";
	cuda.error_name(result, &name);
	return name;
}

/* ---- a device -------------------------------------------------------------------------------- */

/* Older ones lack calls that only some tests make. */
bool gpu_driver(void)
{
	cuda_open();
	return cuda.init;
}

int gpu_find(const char **why)
{
	int count = 0;
	*why = "there is no driver";
	if (!gpu_driver())
		return 0;
	int result = cuda.init(0);
	if (!result)
		result = cuda.device_count(&count);
	*why = result ? gpu_name(result) : "there is no device";
	return result ? 0 : count;
}

static struct CUfunc_st *find_kernel(const struct gpu *gpu, const char *name)
{
	struct CUfunc_st *kernel;
	int registers; /* asking loads it */
	CUDA_MUST(cuda.module_function(&kernel, gpu->module, name));
	CUDA_MUST(cuda.function_attribute(&registers, RING_CUDA_REGISTERS, kernel));
	return kernel;
}

void gpu_open(struct gpu *gpu, int device)
{
	int least;
	CUDA_MUST(cuda.init(0));
	*gpu = (struct gpu){.device = device};
	CUDA_MUST(cuda.primary_retain(&gpu->context, device));
	CUDA_MUST(cuda.context_set(gpu->context));
	CUDA_MUST(cuda.context_priorities(&least, &gpu->greatest));
	CUDA_MUST(cuda.device_attribute(&gpu->multiprocessors, RING_CUDA_MULTIPROCESSORS, device));
	CUDA_MUST(cuda.module_load(&gpu->module, gpu_image));
	gpu->store = find_kernel(gpu, "gpu_store");
	gpu->hop = find_kernel(gpu, "gpu_hop");
	gpu->copy = find_kernel(gpu, "gpu_copy");
	gpu->gaps = find_kernel(gpu, "gpu_gaps");
}

void *gpu_symbol(const char *name)
{
	void *library = dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, name) : NULL;
}

struct CUstream_st *gpu_stream(int priority)
{
	struct CUstream_st *stream;
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, priority));
	return stream;
}

struct CUevent_st *gpu_event(void)
{
	struct CUevent_st *event;
	CUDA_MUST(cuda.event_create(&event, RING_CUDA_EVENT_NO_TIMING));
	return event;
}

void *gpu_pinned(size_t bytes)
{
	void *memory;
	CUDA_MUST(cuda.host_alloc(&memory, bytes, RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED));
	memset(memory, 0, bytes);
	return memory;
}

void *gpu_memory(size_t bytes)
{
	void *memory;
	CUDA_MUST(cuda.memory_alloc(&memory, bytes));
	CUDA_MUST(cuda.memory_set(memory, 0, bytes, NULL));
	CUDA_MUST(cuda.stream_synchronize(NULL));
	return memory;
}

/* ---- kernels --------------------------------------------------------------------------------- */

int gpu_store(struct CUfunc_st *store, struct CUstream_st *stream, void *to, uint32_t value)
{
	return cuda.launch(store, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&to, &value}, NULL);
}

int gpu_copy(const struct gpu *gpu, struct CUstream_st *stream, void *to, const void *from,
	     size_t bytes, int blocks)
{
	uint64_t words = bytes / 16;
	return cuda.launch(gpu->copy, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, stream,
			   (void *[]){&to, &from, &words}, NULL);
}

int gpu_hop(const struct gpu *gpu, struct CUstream_st *stream, void *mine, void *theirs,
	    uint32_t rounds, bool leads)
{
	uint32_t first = leads;
	return cuda.launch(gpu->hop, 1, 1, 1, 1, 1, 1, 0, stream,
			   (void *[]){&mine, &theirs, &rounds, &first}, NULL);
}

/* ---- rates ----------------------------------------------------------------------------------- */

/* returns seconds */
static double time_copy(const struct gpu_rate *rate, struct CUstream_st *stream, size_t bytes)
{
	double began = gpu_clock();
	if (rate->blocks)
		CUDA_MUST(gpu_copy(rate->gpu, stream, rate->to, rate->from, bytes, rate->blocks));
	else
		CUDA_MUST(cuda.memory_copy(rate->to, rate->from, bytes, stream));
	CUDA_MUST(cuda.stream_synchronize(stream));
	return gpu_clock() - began;
}

double gpu_measure(const struct gpu_rate *rate, size_t *bytes)
{
	struct CUstream_st *stream = gpu_stream(0);
	double best;
	*bytes = FIRST_BYTES < rate->room ? FIRST_BYTES : rate->room;
	time_copy(rate, stream, *bytes);
	while ((best = time_copy(rate, stream, *bytes)) < ENOUGH_S && *bytes * 4 <= rate->room)
		*bytes *= 4;
	for (int round = 1; round < ROUNDS; round++) {
		double took = time_copy(rate, stream, *bytes);
		best = took < best ? took : best;
	}
	CUDA_MUST(cuda.stream_destroy(stream));
	return (double)*bytes / best / 1e9;
}
