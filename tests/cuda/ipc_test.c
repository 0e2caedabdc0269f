/* SPDX-License-Identifier: MIT */
/*
 * Memory of devices that other processes and threads of the host reach: what the driver makes of
 * its handles, and calls on memory of ring_mem_alloc() that reach for it, where devices do; where
 * they do not, or only say so, the same calls go another way. Devices have descriptors for such
 * memory, or handles only, or neither. RING_TEST_LONG=1: eight ranks, too.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/twin.h"
#include "tests/harness.h"

#include "driver.h"
#include "said.h"

#define BYTES 65536
#define WARNING "calls go by memory of the host"
#define NO_NAME "has neither a descriptor nor a handle that other processes open"

/* ---- what the driver does --------------------------------------------------------------------- */

/* What the two processes tell one another. */
struct told {
	struct ring_cuda_handle handle;
};

static void use_device(int device)
{
	struct CUctx_st *context;
	CUDA_MUST(cuda.primary_retain(&context, device));
	CUDA_MUST(cuda.context_set(context));
}

/* What is open elsewhere is not freed, and what is freed is not opened. */
static int lend(struct harness_rank *self)
{
	struct told *told = self->shared;
	void *far, *other;
	CUDA_MUST(cuda.memory_alloc(&other, BYTES));
	CUDA_MUST(cuda.memory_alloc(&far, BYTES));
	cuda_fill(far, BYTES, 1);
	CUDA_MUST(cuda.memory_handle(&told->handle, far)); /* of all of it */
	harness_barrier(self);
	harness_barrier(self); /* it was opened, and written */
	int bad = cuda_is_full_of(far, BYTES, 2)
			  ? 0
			  : harness_fail(self, "what was written is not there");
	int err = cuda.memory_free(far);
	if (err != RING_CUDA_INVALID_VALUE)
		bad = harness_fail(self, "freeing what is open elsewhere returns %d", err);
	harness_barrier(self);
	harness_barrier(self); /* it was closed */
	CUDA_MUST(cuda.memory_free(far));
	harness_barrier(self);
	CUDA_MUST(cuda.memory_free(other));
	return bad;
}

static int borrow(struct harness_rank *self)
{
	const struct told *told = self->shared;
	void *far = NULL, *again = NULL, *stale;
	harness_barrier(self);
	int bad = 0, err = cuda.handle_open(&far, told->handle, 0);
	if (err != RING_CUDA_INVALID_VALUE)
		bad = harness_fail(self, "opening it without a flag returns %d", err);
	CUDA_MUST(cuda.handle_open(&far, told->handle, RING_CUDA_IPC_LAZY_PEERS));
	CUDA_MUST(cuda.handle_open(&again, told->handle, RING_CUDA_IPC_LAZY_PEERS));
	if (again != far || !cuda_is_full_of(far, BYTES, 1))
		bad = harness_fail(self, "it is not what was lent");
	CUDA_MUST(cuda.handle_close(again));
	cuda_fill(far, BYTES, 2);
	harness_barrier(self);
	harness_barrier(self); /* it was to be freed */
	if (!cuda_is_full_of(far, BYTES, 2) || cuda.memory_free(far) != RING_CUDA_INVALID_VALUE)
		bad = harness_fail(self, "it is gone, or is this process's to free");
	CUDA_MUST(cuda.handle_close(far));
	if (cuda.handle_close(far) != RING_CUDA_INVALID_VALUE)
		bad = harness_fail(self, "it can be closed too often");
	harness_barrier(self);
	harness_barrier(self); /* it was freed */
	err = cuda.handle_open(&stale, told->handle, RING_CUDA_IPC_LAZY_PEERS);
	if (err != RING_CUDA_INVALID_VALUE)
		bad = harness_fail(self, "opening what was freed returns %d", err);
	return bad;
}

static int use_driver(struct harness_rank *self)
{
	const int *device = self->context;
	use_device(self->rank ? *device : 0);
	return self->rank ? borrow(self) : lend(self);
}

/* Processes of one device, and of two. */
static int check_driver(void)
{
	int bad = 0;
	for (int device = 0; device < 2; device++) {
		struct harness team = {.world = &harness_worlds[1],
				       .size = 2,
				       .body = use_driver,
				       .context = &device,
				       .shared_bytes = sizeof(struct told)};
		snprintf(team.label, sizeof(team.label), "the driver, %d and 0", device);
		bad |= harness_report(team.label, harness_run(&team));
	}
	return bad;
}

/* ---- calls that reach ------------------------------------------------------------------------ */

#define RANKS 4
#define MOST_RANKS 8
#define MOST 300001 /* elements, an odd number of several kernels' blocks */

struct setting {
	const char *name;
	int ranks, devices;
	const char *peers, *apart;
	const char *goes;    /* by which algorithm */
	const char *lied_to; /* devices; NULL: all, if any are */
	int tellers;         /* ranks that say once in the log that a driver lies */
};

/* By what memory is named to other processes. */
struct mode {
	const char *name, *maps, *handles;
	bool lends;
};

static const struct mode modes[] = {
	{"descriptors", "2", "0", true},
	{"handles", "1", "1", true},
	{"neither", "1", "0", false},
};
#define MODES ((int)(sizeof(modes) / sizeof(modes[0])))

static const struct setting settings[] = {
	{"one device", 2, 1, "1", "", "direct", .tellers = 0},
	{"one device of three ranks", 3, 1, "2", "", "direct", .tellers = 0},
	{"four devices", RANKS, 4, "1", "", "direct", .tellers = 0},
	{"no access", 2, 2, "0", "", "ring", .tellers = 0},
	{"access of some", 3, 3, "1", "1-2", "ring", .tellers = 0},
	{"access that lies", RANKS, 4, "2", "", "ring", .tellers = RANKS},
	{"reads that lie", RANKS, 4, "3", "", "ring", .tellers = RANKS},
	{"reads of one device that lie", 3, 3, "3", "", "ring", "0", 1},
	{"writes that are lost", RANKS, 4, "4", "", "ring", .tellers = RANKS},
	{"writes of one device that are lost", 3, 3, "4", "", "ring", "0", 2},
};

static const struct setting long_settings[] = {
	{"one device of eight ranks", MOST_RANKS, 1, "2", "", "direct", .tellers = 0},
	{"four devices of eight ranks", MOST_RANKS, 4, "1", "", "direct", .tellers = 0},
	{"no access of eight ranks", MOST_RANKS, 2, "0", "", "ring", .tellers = 0},
	{"access that lies to eight ranks", MOST_RANKS, 4, "2", "", "ring", .tellers = MOST_RANKS},
	{"reads of one device of eight ranks", MOST_RANKS, 3, "3", "", "ring", "0", 3},
	{"writes of one device of eight ranks", MOST_RANKS, 3, "4", "", "ring", "0", 5},
};

/* One rank's communicator and memory. */
struct place {
	struct harness_rank *self;
	struct ring_comm *comm;
	const char *goes;
	float *in, *out; /* on the device */
	float host[MOST];
};

static int join(struct place *place, struct harness_rank *self, const struct setting *setting,
		const struct mode *mode)
{
	struct ring_options options;
	char device[32];
	place->self = self;
	place->goes = mode->lends ? setting->goes : "ring";
	snprintf(device, sizeof(device), "cuda:%d", self->rank % setting->devices);
	use_device(self->rank % setting->devices);
	harness_options(self, &options);
	options.device = device;
	options.algorithm = "direct";
	return harness_join(self, &options, &place->comm);
}

static int allocate(struct place *place, size_t count)
{
	void *memory[2];
	for (int i = 0; i < 2; i++)
		if (ring_mem_alloc(place->comm, count * sizeof(float), &memory[i]))
			return harness_fail(place->self, "%s", ring_comm_error(place->comm));
	place->in = memory[0];
	place->out = memory[1];
	return 0;
}

static int give_back(struct place *place)
{
	if (ring_mem_free(place->comm, place->in) || ring_mem_free(place->comm, place->out))
		return harness_fail(place->self, "%s", ring_comm_error(place->comm));
	return 0;
}

/* What rank r has at i. */
static float element(int rank, size_t i)
{
	return (float)((i * 7 + (size_t)rank * 13) % 101);
}

static float sum_of(int ranks, size_t i)
{
	float sum = 0;
	for (int rank = 0; rank < ranks; rank++)
		sum += element(rank, i);
	return sum;
}

static void push(struct place *place, float *far, size_t count)
{
	for (size_t i = 0; i < count; i++)
		place->host[i] = element(place->self->rank, i);
	CUDA_MUST(cuda.memory_copy_now(far, place->host, count * sizeof(float)));
}

static int went(struct place *place, const char *call, int err)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	if (err)
		return harness_fail(place->self, "%s: %s", call, ring_comm_error(place->comm));
	ring_comm_stats(place->comm, &stats);
	if (strcmp(stats.last.algorithm, place->goes) == 0)
		return 0;
	return harness_fail(place->self, "%s went by %s, not %s", call, stats.last.algorithm,
			    place->goes);
}

static int all_reduce(struct place *place, size_t count, bool in_place)
{
	float *out = in_place ? place->in : place->out;
	push(place, place->in, count);
	int err = ring_all_reduce(place->comm, place->in, out, count, RING_FLOAT32, RING_SUM, NULL);
	if (went(place, "all_reduce", err))
		return 1;
	CUDA_MUST(cuda.memory_copy_now(place->host, out, count * sizeof(float)));
	for (size_t i = 0; i < count; i++)
		if (place->host[i] != sum_of(place->self->size, i))
			return harness_fail(place->self, "all_reduce of %zu: element %zu is %g",
					    count, i, place->host[i]);
	return 0;
}

static int all_gather(struct place *place, size_t count)
{
	const int ranks = place->self->size;
	push(place, place->in, count);
	int err = ring_all_gather(place->comm, place->in, place->out, count, RING_FLOAT32, NULL);
	if (went(place, "all_gather", err))
		return 1;
	CUDA_MUST(cuda.memory_copy_now(place->host, place->out,
				       count * (size_t)ranks * sizeof(float)));
	for (size_t i = 0; i < count * (size_t)ranks; i++)
		if (place->host[i] != element((int)(i / count), i % count))
			return harness_fail(place->self, "all_gather: element %zu is %g", i,
					    place->host[i]);
	return 0;
}

static int reduce_scatter(struct place *place, size_t count)
{
	const size_t first = (size_t)place->self->rank * count;
	push(place, place->in, count * (size_t)place->self->size);
	int err = ring_reduce_scatter(place->comm, place->in, place->out, count, RING_FLOAT32,
				      RING_SUM, NULL);
	if (went(place, "reduce_scatter", err))
		return 1;
	CUDA_MUST(cuda.memory_copy_now(place->host, place->out, count * sizeof(float)));
	for (size_t i = 0; i < count; i++)
		if (place->host[i] != sum_of(place->self->size, first + i))
			return harness_fail(place->self, "reduce_scatter: element %zu is %g", i,
					    place->host[i]);
	return 0;
}

static int broadcast(struct place *place, size_t count)
{
	push(place, place->in, count);
	int err = ring_broadcast(place->comm, place->in, place->out, count, RING_FLOAT32, 1, NULL);
	if (went(place, "broadcast", err))
		return 1;
	CUDA_MUST(cuda.memory_copy_now(place->host, place->out, count * sizeof(float)));
	for (size_t i = 0; i < count; i++)
		if (place->host[i] != element(1, i))
			return harness_fail(place->self, "broadcast: element %zu is %g", i,
					    place->host[i]);
	return 0;
}

/* What a device has free; ranks of one process share it. */
static size_t free_bytes(void)
{
	size_t free, total;
	CUDA_MUST(cuda.memory_info(&free, &total));
	return free;
}

/*
 * In the first call all have freed, in the second they hear of it and let go, and in the third it is
 * heard that they have.
 */
static int settle(struct place *place)
{
	int err = 0;
	for (int call = 0; call < 3 && !err; call++)
		err = ring_barrier(place->comm, NULL);
	return err ? harness_fail(place->self, "%s", ring_comm_error(place->comm)) : 0;
}

/* Other memory comes to lie where some was freed, and none is lost. */
static int free_and_allocate(struct place *place)
{
	size_t free = 0;
	int bad = 0;
	for (int turn = 0; turn < 7 && !bad; turn++) {
		bad = allocate(place, 5000 + (size_t)turn % 3 * 20000);
		bad = bad || all_reduce(place, 5000, turn % 2);
		bad = bad || give_back(place);
		if (!bad && turn == 0) { /* from here on channels have what they need */
			bad = settle(place);
			free = free_bytes();
		}
	}
	bad = bad || settle(place);
	bool alone = !place->self->team->world->threads;
	if (!bad && alone && free_bytes() != free)
		bad = harness_fail(place->self, "%zu bytes of the device are gone",
				   free - free_bytes());
	return bad;
}

/* Rank 1's buffers are in the host's memory in one call: from then on no rank reaches. */
static int mix(struct place *place, size_t count)
{
	float *far[2] = {place->in, place->out}, *host = calloc(2 * count, sizeof(*host));
	place->goes = "ring";
	if (place->self->rank == 1) {
		place->in = host;
		place->out = host + count;
	}
	int bad = !host || all_reduce(place, count, false);
	place->in = far[0];
	place->out = far[1];
	free(host);
	return bad || all_reduce(place, count, true) || broadcast(place, count);
}

/* What a team does. */
struct task {
	const struct setting *setting;
	const struct mode *mode;
};

static int reach(struct harness_rank *self)
{
	static const size_t counts[] = {1, 5000, MOST};
	const struct task *task = self->context;
	const size_t part = MOST / (size_t)self->size;
	struct place *place = calloc(1, sizeof(*place));
	int bad = !place || join(place, self, task->setting, task->mode) || free_and_allocate(place);
	if (!bad)
		bad = allocate(place, MOST);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !bad; i++)
		bad = all_reduce(place, counts[i], false) || all_reduce(place, counts[i], true);
	if (!bad)
		bad = all_gather(place, part) || reduce_scatter(place, part) ||
		      broadcast(place, MOST);
	bad = bad || mix(place, MOST);
	if (place)
		ring_comm_destroy(place->comm);
	free(place);
	return bad;
}

static void set_environment(const struct task *task)
{
	const struct setting *setting = task->setting;
	char devices[8];
	snprintf(devices, sizeof(devices), "%d", setting->devices);
	setenv("RING_FAKE_CUDA_DEVICES", devices, 1);
	setenv("RING_FAKE_CUDA_PEERS", setting->peers, 1);
	setenv("RING_FAKE_CUDA_APART", setting->apart, 1);
	setenv("RING_FAKE_CUDA_MAPS", task->mode->maps, 1);
	setenv("RING_FAKE_CUDA_HANDLES", task->mode->handles, 1);
	if (setting->lied_to)
		setenv("RING_FAKE_CUDA_LIED_TO", setting->lied_to, 1);
	else
		unsetenv("RING_FAKE_CUDA_LIED_TO");
}

/* Each process says once that memory has no name, or that a device lies. */
static int check_call(const struct task *task, const struct harness_world *world)
{
	struct harness team = {.world = world,
			       .size = task->setting->ranks,
			       .body = reach,
			       .context = (void *)task};
	const bool lends = task->mode->lends;
	const int processes = world->threads ? 1 : team.size;
	set_environment(task);
	snprintf(team.label, sizeof(team.label), "%s, %s, %s", task->mode->name,
		 task->setting->name, world->name);
	return harness_report(team.label, said_run(&team, lends ? WARNING : NO_NAME,
						   lends ? task->setting->tellers : processes));
}

static int check_calls(const struct setting *some, int count)
{
	int bad = 0;
	for (int m = 0; m < MODES; m++)
		for (int i = 0; i < count; i++)
			for (int w = 0; w < 2; w++) /* threads, and processes */
				bad |= check_call(&(struct task){&some[i], &modes[m]},
						  &harness_worlds[w]);
	return bad;
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

#define VICTIM 1
#define DEATHS (2 * MODES)

static void *die(void *shared)
{
	double *died = shared;
	usleep(30000);
	*died = harness_clock();
	kill(getpid(), SIGKILL);
	return NULL;
}

/* Until the victim dies in one of them. */
static int call_on(struct place *place)
{
	pthread_t thread;
	int err = 0;
	if (place->self->rank == VICTIM && pthread_create(&thread, NULL, die, place->self->shared))
		return RING_ENOMEM;
	while (!err)
		err = ring_all_reduce(place->comm, place->in, place->out, MOST, RING_FLOAT32,
				      RING_SUM, NULL);
	return err;
}

static int outlive(struct harness_rank *self)
{
	const double *died = self->shared;
	const struct task *task = self->context;
	use_device(self->rank % task->setting->devices);
	const size_t free_before = free_bytes();
	struct place *place = calloc(1, sizeof(*place));
	int bad = !place || join(place, self, task->setting, task->mode) || allocate(place, MOST) ||
		  all_reduce(place, MOST, false);
	harness_barrier(self); /* one may be done with that call while others are in it */
	int err = bad ? 0 : call_on(place);
	double after = harness_clock() - *died;
	if (!bad && (err != RING_EPEER || !strstr(ring_comm_error(place->comm), "rank 1")))
		bad = harness_fail(self, "returns %d, %s", err, ring_comm_error(place->comm));
	if (!bad && after > 1.0 * HARNESS_ROOM)
		bad = harness_fail(self, "hears of it after %g s", after);
	if (place)
		ring_comm_destroy(place->comm);
	free(place);
	if (!bad && free_bytes() != free_before)
		bad = harness_fail(self, "%zu bytes of the device are left",
				   free_before - free_bytes());
	return bad;
}

static int check_death(void)
{
	static const struct setting situations[] = {
		{"kill -9, one device", RANKS, 1, "1", "", "direct", .tellers = 0},
		{"kill -9, four devices", RANKS, 4, "1", "", "direct", .tellers = 0},
	};
	int bad = 0;
	for (int i = 0; i < DEATHS; i++) {
		const struct task task = {&situations[i / MODES], &modes[i % MODES]};
		struct harness team = {.world = &harness_worlds[1],
				       .size = RANKS,
				       .body = outlive,
				       .context = (void *)&task,
				       .shared_bytes = sizeof(double),
				       .doomed = 1u << VICTIM};
		set_environment(&task);
		snprintf(team.label, sizeof(team.label), "%s, %s", task.mode->name,
			 task.setting->name);
		bad |= harness_report(team.label, harness_run(&team));
	}
	return bad;
}

int main(void)
{
	const int n = (int)(sizeof(settings) / sizeof(settings[0]));
	const int more = getenv("RING_TEST_LONG")
				 ? (int)(sizeof(long_settings) / sizeof(long_settings[0]))
				 : 0;
	setenv("RING_FAKE_CUDA_LEFT", "1", 1);
	printf("1..%d\n", 2 + 2 * MODES * (n + more) + DEATHS);
	return check_driver() | check_calls(settings, n) | check_calls(long_settings, more) |
	       check_death();
}
