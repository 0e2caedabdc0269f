/* SPDX-License-Identifier: MIT */
/*
 * What ring_mem_alloc() gives on devices, and pointers that no call can work on: each is refused
 * before anything is done, by a sentence that says what it is, and calls go on.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/twin.h"
#include "tests/harness.h"

#include "driver.h"

#define COUNT 1000
#define BYTES (COUNT * sizeof(float))

/* ---- memory of either device ------------------------------------------------------------------ */

/* Both devices' contexts are made, and the thread's is the first one's. */
static void begin(void)
{
	struct CUctx_st *contexts[2];
	twin_end(twin_make(1)); /* the driver is started */
	for (int i = 0; i < 2; i++)
		CUDA_MUST(cuda.primary_retain(&contexts[i], i));
	CUDA_MUST(cuda.context_set(contexts[0]));
}

static void *on_device(int device, size_t bytes)
{
	struct CUctx_st *context;
	void *memory;
	CUDA_MUST(cuda.primary_retain(&context, device));
	CUDA_MUST(cuda.context_push(context));
	CUDA_MUST(cuda.memory_alloc(&memory, bytes));
	CUDA_MUST(cuda.context_pop(&context));
	return memory;
}

static int device_of(const void *far)
{
	int is = -1;
	CUDA_MUST(cuda.pointer_attribute(&is, RING_CUDA_POINTER_DEVICE, far));
	return is;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* A sum that is right, from and to memory that is the communicator's. */
static int sum(struct harness_rank *self, struct ring_comm *comm, void *far)
{
	float host[COUNT];
	for (int i = 0; i < COUNT; i++)
		host[i] = (float)(i + self->rank);
	CUDA_MUST(cuda.memory_copy_now(far, host, BYTES));
	int err = ring_all_reduce(comm, far, far, COUNT, RING_FLOAT32, RING_SUM, NULL);
	if (err)
		return harness_fail(self, "%s", ring_comm_error(comm));
	CUDA_MUST(cuda.memory_copy_now(host, far, BYTES));
	for (int i = 0; i < COUNT; i++)
		if (host[i] != (float)(2 * i + 1))
			return harness_fail(self, "element %d is %g", i, host[i]);
	return 0;
}

/* The call did not begin, and the sentence has both parts. */
static int refused(struct harness_rank *self, struct ring_comm *comm, const void *send, void *recv,
		   const char *what, const char *advice)
{
	int err = ring_all_reduce(comm, send, recv, COUNT, RING_FLOAT32, RING_SUM, NULL);
	const char *said = ring_comm_error(comm);
	if (err == RING_EINVAL && strstr(said, what) && strstr(said, advice))
		return 0;
	return harness_fail(self, "returns %d, \"%s\", for \"%s ... %s\"", err, said, what, advice);
}

static int join(struct harness_rank *self, const char *device, struct ring_comm **comm)
{
	struct ring_options options;
	harness_options(self, &options);
	options.device = device;
	return harness_join(self, &options, comm);
}

/* ---- cases ------------------------------------------------------------------------------------ */

/* Memory is where the option says, good for calls, and gone once it is freed. */
static int allocate(struct harness_rank *self)
{
	static const struct {
		const char *device;
		int is;
	} cases[] = {{"cuda", 0}, {"cuda:0", 0}, {"cuda:1", 1}};
	int bad = 0;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]) && !bad; c++) {
		struct ring_comm *comm;
		void *far, *unused;
		if (join(self, cases[c].device, &comm))
			return 1;
		if (ring_mem_alloc(comm, BYTES, &far) || ring_mem_alloc(comm, 1, &unused))
			return harness_fail(self, "%s", ring_comm_error(comm));
		if ((uintptr_t)far % 64 || device_of(far) != cases[c].is)
			bad = harness_fail(self, "%s gives memory of device %d", cases[c].device,
					   device_of(far));
		bad |= sum(self, comm, far);
		if (ring_mem_free(comm, far) || ring_mem_free(comm, far) != RING_EINVAL)
			bad |= harness_fail(self, "cannot free it once");
		bad |= refused(self, comm, far, far, "send is memory neither of a device nor",
			       "freed");
		ring_comm_destroy(comm);
	}
	return bad;
}

/* RDMA devices of the program's may move it, as other memory of devices. */
static int serve_rdma(struct harness_rank *self)
{
	struct ring_comm *comm;
	void *far, *other = on_device(0, BYTES);
	bool ours = false, others = false;
	if (join(self, "cuda:0", &comm))
		return 1;
	if (ring_mem_alloc(comm, BYTES, &far))
		return harness_fail(self, "%s", ring_comm_error(comm));
	CUDA_MUST(cuda.pointer_attribute(&ours, CUDA_POINTER_FOR_RDMA, far));
	CUDA_MUST(cuda.pointer_attribute(&others, CUDA_POINTER_FOR_RDMA, other));
	ring_comm_destroy(comm);
	CUDA_MUST(cuda.memory_free(other));
	return ours == others ? 0 : harness_fail(self, "%d, other memory %d", ours, others);
}

/* A device that is not there, and what is none. */
static int miss(struct harness_rank *self)
{
	struct ring_unique_id id = {{0}};
	struct ring_options options;
	struct ring_comm *comm;
	void *far;
	if (join(self, "cuda:7", &comm))
		return 1;
	int err = ring_mem_alloc(comm, BYTES, &far);
	if (err != RING_ENOTSUP || !strstr(ring_comm_error(comm), "there is no device 7: 2 are"))
		return harness_fail(self, "%d, %s", err, ring_comm_error(comm));
	ring_comm_destroy(comm);
	const char *none[] = {"gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "cud"};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		harness_options(self, &options);
		options.device = none[i];
		err = ring_comm_create(&comm, self->size, self->rank, &id, &options);
		if (err != RING_EINVAL || !strstr(ring_comm_error(NULL), "\"cuda:0\" and so on"))
			return harness_fail(self, "%s: %d, %s", none[i], err, ring_comm_error(NULL));
	}
	return 0;
}

static int refuse(struct harness_rank *self)
{
	struct ring_comm *comm;
	void *managed, *pinned, *far = on_device(0, BYTES), *other = on_device(1, BYTES);
	void *freed = on_device(0, BYTES), *small = on_device(0, BYTES - 1);
	float *pageable = malloc(BYTES);
	CUDA_MUST(cuda.memory_free(freed));
	CUDA_MUST(cuda.memory_alloc_managed(&managed, BYTES, 1));
	CUDA_MUST(cuda.host_alloc(&pinned, BYTES, 0));
	if (join(self, NULL, &comm))
		return 1;
	int bad = sum(self, comm, far);
	bad |= refused(self, comm, freed, freed, "send is memory neither of a device nor", "freed");
	bad |= refused(self, comm, far, freed, "recv is memory neither of a device nor", "freed");
	bad |= refused(self, comm, managed, managed, "send is managed memory", "give memory from");
	bad |= refused(self, comm, far, pageable, "recv is pageable memory of the host",
		       "both must");
	bad |= refused(self, comm, pinned, far, "send is pinned memory of the host", "both must");
	bad |= refused(self, comm, far, other, "recv is memory of cuda device 1", "both must");
	bad |= refused(self, comm, other, other, "send is memory of cuda device 1",
		       "works on cuda device 0: give memory of that one");
	bad |= refused(self, comm, small, small, "send begins in memory of cuda device 0",
		       "give more memory");
	bad |= sum(self, comm, far);
	for (int i = 0; i < COUNT; i++)
		pageable[i] = 1;
	if (ring_all_reduce(comm, pageable, pinned, COUNT, RING_FLOAT32, RING_SUM, NULL) ||
	    ((float *)pinned)[COUNT - 1] != 2)
		bad |= harness_fail(self, "host memory: %s", ring_comm_error(comm));
	ring_comm_destroy(comm);
	free(pageable);
	return bad;
}

static const struct {
	const char *name;
	int (*body)(struct harness_rank *self);
} cases[] = {
	{"memory of devices", allocate},
	{"memory for RDMA devices", serve_rdma},
	{"devices that are not there", miss},
	{"what no call can work on", refuse},
};

static int run(struct harness_rank *self)
{
	int (*const *body)(struct harness_rank * self) = self->context;
	begin();
	return (*body)(self);
}

int main(void)
{
	const int n = (int)(sizeof(cases) / sizeof(cases[0]));
	int bad = 0;
	printf("1..%d\n", n * 2);
	for (int c = 0; c < n; c++)
		for (int w = 0; w < 2; w++) { /* threads, and processes */
			struct harness team = {.world = &harness_worlds[w],
					       .size = 2,
					       .body = run,
					       .context = (void *)&cases[c].body};
			snprintf(team.label, sizeof(team.label), "%s, %s", cases[c].name,
				 team.world->name);
			bad |= harness_report(team.label, harness_run(&team));
		}
	return bad != 0;
}
