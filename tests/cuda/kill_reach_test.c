/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a rank while memory of GPUs is shared, and calls read and write it where it lies: each
 * survivor has the named error within a second, and no descriptor, mapping or thread is left. Jobs
 * take so long that all ranks have some under way. Then the same while a kernel of the library's
 * waits for the victim, by which calls of the driver that open, close, allocate or free wait, too.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "tests/device/twin.h"
#include "tests/fault/kill.h"

#define COUNT 200000 /* elements ... */
#define WAITING 4000 /* ... and of a call that waits in a kernel */
#define OPENED 8     /* calls: behind them nothing is opened any more, nor what was tried closed */

/* Memory goes to others by handles, not by descriptors. */
#define HANDLES .variable = "RING_FAKE_CUDA_MAPS", .value = "0"

struct buffers {
	void *in, *out;
};

/* Memory of the library's on the device; each input is full of this rank's number. */
static int take(struct scene_actor *actor, struct buffers *buffers)
{
	float *host = malloc(COUNT * sizeof(*host));
	int err = host ? 0 : RING_ENOMEM;
	if (!err)
		err = ring_mem_alloc(actor->comm, COUNT * sizeof(float), &buffers->in);
	if (!err)
		err = ring_mem_alloc(actor->comm, COUNT * sizeof(float), &buffers->out);
	for (size_t i = 0; i < COUNT && !err; i++)
		host[i] = (float)(actor->rank + 1);
	if (!err)
		twin_write(buffers->in, host, COUNT * sizeof(*host));
	free(host);
	return err;
}

static int give_back(struct scene_actor *actor, const struct buffers *buffers)
{
	int err = ring_mem_free(actor->comm, buffers->in);
	return err ? err : ring_mem_free(actor->comm, buffers->out);
}

/* It has to be a direct plan, and right. */
static int all_reduce(struct scene_actor *actor, const struct buffers *buffers)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	float last;
	int err = ring_all_reduce(actor->comm, buffers->in, buffers->out, COUNT, RING_FLOAT32,
				  RING_SUM, NULL);
	if (err)
		return err;
	twin_read(&last, (float *)buffers->out + COUNT - 1, sizeof(last));
	actor->report->wrong += last != (float)(actor->size * (actor->size + 1) / 2);
	ring_comm_stats(actor->comm, &stats);
	actor->report->wrong += strcmp(stats.last.algorithm, "direct") != 0;
	actor->report->calls++;
	return 0;
}

/* All have opened the memory when this returns. */
static int take_and_call(struct scene_actor *actor, struct buffers *buffers)
{
	int err = take(actor, buffers);
	return err ? err : all_reduce(actor, buffers);
}

/* ---- what goes on when the death comes, until a call fails -------------------------------------- */

typedef int going(struct scene_actor *actor, const struct buffers *buffers);

/* All read from all, and write to all. */
static int add(struct scene_actor *actor, const struct buffers *buffers)
{
	int err = 0;
	while (!err)
		err = all_reduce(actor, buffers);
	return err;
}

/* All read from all, and write to their own. */
static int read_all(struct scene_actor *actor, const struct buffers *buffers)
{
	int err = 0;
	while (!err)
		err = ring_reduce_scatter(actor->comm, buffers->in, buffers->out,
					  COUNT / (size_t)actor->size, RING_FLOAT32, RING_SUM, NULL);
	return err;
}

/* All write to all. */
static int write_all(struct scene_actor *actor, const struct buffers *buffers)
{
	int err = 0;
	while (!err)
		err = ring_all_gather(actor->comm, buffers->in, buffers->out,
				      COUNT / (size_t)actor->size, RING_FLOAT32, NULL);
	return err;
}

/* Nobody is in a call when the death comes. */
static int rest(struct scene_actor *actor, const struct buffers *buffers)
{
	scene_sleep(kill_is_victim(actor) ? 5 : .2);
	return all_reduce(actor, buffers);
}

/* Memory is lent, opened, closed and freed all the time. */
static int lend(struct scene_actor *actor, const struct buffers *unused)
{
	struct buffers buffers;
	int err = 0;
	(void)unused;
	while (!err) {
		err = take_and_call(actor, &buffers);
		if (!err)
			err = give_back(actor, &buffers);
	}
	return err;
}

/* ---- situations ------------------------------------------------------------------------------- */

/* Behind so many calls, by which all have opened the memory. */
static int act_behind(struct scene_actor *actor, int calls, going *go)
{
	struct buffers buffers;
	int err = take(actor, &buffers);
	for (; calls > 0 && !err; calls--)
		err = all_reduce(actor, &buffers);
	kill_begin(actor);
	return scene_note(actor, err ? err : go(actor, &buffers));
}

/* Names are told, opened and tried when the death comes, or have just been. */
static int act_first(struct scene_actor *actor)
{
	return act_behind(actor, 0, add);
}

static int act_reads(struct scene_actor *actor)
{
	return act_behind(actor, 1, read_all);
}

static int act_writes(struct scene_actor *actor)
{
	return act_behind(actor, 1, write_all);
}

static int act_between(struct scene_actor *actor)
{
	return act_behind(actor, 1, rest);
}

static int act_lending(struct scene_actor *actor)
{
	return act_behind(actor, 0, lend);
}

/* Survivors wait for the victim to close what they have lent; it is killed meanwhile. */
static int act_destroy(struct scene_actor *actor)
{
	struct buffers buffers;
	int err = take_and_call(actor, &buffers);
	kill_begin(actor);
	if (kill_is_victim(actor))
		scene_sleep(5);
	return scene_note(actor, err);
}

/* A stream of the program's waits for the host all the time, on the device that calls use. */
static int act_beside(struct scene_actor *actor)
{
	struct buffers buffers;
	struct CUstream_st *stream;
	uint32_t *gate;
	int err = take(actor, &buffers);
	for (int call = 0; call < OPENED && !err; call++)
		err = all_reduce(actor, &buffers);
	CUDA_MUST(cuda.host_alloc((void **)&gate, sizeof(*gate), 0));
	CUDA_MUST(cuda.stream_create(&stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	*gate = 0;
	CUDA_MUST(cuda.stream_wait_value(stream, gate, 1, RING_CUDA_WAIT_GEQ));
	kill_begin(actor);
	while (!err)
		err = ring_all_reduce(actor->comm, buffers.in, buffers.out, COUNT, RING_FLOAT32,
				      RING_SUM, NULL);
	scene_note(actor, err);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	CUDA_MUST(cuda.stream_synchronize(stream));
	CUDA_MUST(cuda.stream_destroy(stream));
	CUDA_MUST(cuda.host_free(gate));
	return err;
}

/* ---- beside a kernel that waits ----------------------------------------------------------------- */

/* One more communicator of these ranks, and a call of it that is a kernel. */
struct waiting {
	struct ring_comm *comm;
	struct CUstream_st *handle;
	struct ring_stream *stream;
	void *far;
};

static int call_kernel(struct waiting *waiting)
{
	return ring_all_reduce(waiting->comm, waiting->far, waiting->far, WAITING, RING_FLOAT32,
			       RING_SUM, waiting->stream);
}

static int await_kernel(const struct waiting *waiting)
{
	return ring_stream_wait(waiting->stream, ring_stream_position(waiting->stream));
}

/* All make a first call, of which a kernel must be; the rank's process ends behind it. */
static int furnish(struct scene_actor *actor, struct waiting *waiting)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	setenv("RING_CUDA_ENGINE", "kernel", 1);
	waiting->far = twin_make(WAITING * sizeof(float));
	CUDA_MUST(cuda.stream_create(&waiting->handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	int err = ring_comm_split(actor->comm, 0, actor->rank, &waiting->comm);
	if (!err)
		err = ring_stream_from_cuda(waiting->comm, waiting->handle, &waiting->stream);
	if (!err)
		err = call_kernel(waiting);
	if (!err)
		err = await_kernel(waiting);
	if (err)
		return err;
	ring_comm_stats(waiting->comm, &stats);
	actor->report->wrong += strstr(stats.last.reason, "RING_CUDA_ENGINE") == NULL;
	return 0;
}

/* All but the victim call once more, and wait for it. */
static int have_it_wait(struct scene_actor *actor, struct waiting *waiting)
{
	int err = furnish(actor, waiting);
	if (!err && !kill_is_victim(actor))
		err = call_kernel(waiting);
	return err;
}

static bool names_victim(const struct scene_actor *actor, const char *sentence)
{
	for (int rank = 0; rank < actor->size; rank++)
		if (kill_round_of(actor)->victims >> rank & 1 && scene_names(sentence, rank, 0))
			return true;
	return false;
}

/* It ends as well before a survivor's error counts. The communicator takes the place of one that is gone. */
static int end(struct scene_actor *actor, struct waiting *waiting, int err)
{
	const int ended = await_kernel(waiting);
	CUDA_MUST(cuda.stream_synchronize(waiting->handle));
	actor->report->wrong += ended != RING_EPEER ||
				!names_victim(actor, ring_comm_error(waiting->comm));
	ring_stream_destroy(waiting->stream);
	CUDA_MUST(cuda.stream_destroy(waiting->handle));
	twin_end(waiting->far);
	if (!actor->comm) {
		actor->comm = waiting->comm;
		return scene_note(actor, ended);
	}
	scene_note(actor, err);
	ring_comm_destroy(waiting->comm);
	return err;
}

static int act_beside_kernel(struct scene_actor *actor, int calls, going *go)
{
	struct buffers buffers;
	struct waiting waiting = {0};
	int err = take(actor, &buffers);
	for (; calls > 0 && !err; calls--)
		err = all_reduce(actor, &buffers);
	if (!err)
		err = have_it_wait(actor, &waiting);
	if (err)
		return scene_note(actor, err);
	kill_begin(actor);
	return end(actor, &waiting, go(actor, &buffers));
}

/* Opening waits for the kernel. */
static int act_first_beside(struct scene_actor *actor)
{
	return act_beside_kernel(actor, 0, add);
}

static int act_reads_beside(struct scene_actor *actor)
{
	return act_beside_kernel(actor, OPENED, read_all);
}

static int act_writes_beside(struct scene_actor *actor)
{
	return act_beside_kernel(actor, OPENED, write_all);
}

static int act_between_beside(struct scene_actor *actor)
{
	return act_beside_kernel(actor, OPENED, rest);
}

/* Allocating waits for the kernel. */
static int act_lending_beside(struct scene_actor *actor)
{
	return act_beside_kernel(actor, OPENED, lend);
}

/* Closing waits for the kernel. */
static int leave(struct scene_actor *actor, const struct buffers *unused)
{
	(void)unused;
	if (kill_is_victim(actor))
		scene_sleep(5);
	ring_comm_destroy(actor->comm);
	actor->comm = NULL;
	return 0;
}

static int act_destroy_beside(struct scene_actor *actor)
{
	return act_beside_kernel(actor, OPENED, leave);
}

static const struct kill_situation situations[] = {
	{"the first call", 4, "shm", 0, SCENE_ACTING, .05, 1, .algorithm = "direct",
	 .act = act_first},
	{"reading", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct", .act = act_reads},
	{"writing", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct", .act = act_writes},
	{"between calls", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_between},
	{"lending, freeing", 4, "shm", 0, SCENE_ACTING, .2, 1, .algorithm = "direct",
	 .act = act_lending},
	{"destruction", 4, "shm", 0, SCENE_ACTING, .1, 1, .may_succeed = true,
	 .algorithm = "direct", .act = act_destroy},
	{"a waiting stream beside", 3, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_beside},
	{"the first call, kernel", 4, "shm", 0, SCENE_ACTING, .05, 1, .algorithm = "direct",
	 .act = act_first_beside},
	{"reading, kernel", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_reads_beside},
	{"writing, kernel", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_writes_beside},
	{"between calls, kernel", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_between_beside},
	{"lending, freeing, kernel", 4, "shm", 0, SCENE_ACTING, .2, 1, .algorithm = "direct",
	 .act = act_lending_beside},
	{"destruction, kernel", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_destroy_beside},
	/* Freeing what others have open is undefined there, and what closes waits. */
	{"lending, kernel, handles", 4, "shm", 0, SCENE_ACTING, .2, 1, .algorithm = "direct",
	 .act = act_lending_beside, HANDLES},
	{"destruction, kernel, handles", 4, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "direct",
	 .act = act_destroy_beside, HANDLES},
};

int main(int argc, char **argv)
{
	setenv("RING_DEVICE", "cuda", 1);
	setenv("RING_FAKE_CUDA_DELAY_US", "2000", 1);
	return kill_main(argc, argv, situations, sizeof(situations) / sizeof(situations[0]), 2);
}
