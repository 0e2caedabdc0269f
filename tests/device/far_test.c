/* SPDX-License-Identifier: MIT */
/*
 * What is peculiar to memory apart from the host: nobody touches it, whoever sleeps is woken by jobs
 * that are late, kinds of memory that differ are told, and host and device take turns on the same
 * communicator. The far device itself is tried first: else a test that passes would say nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device/far.h"
#include "tests/device/far_memory.h"
#include "tests/harness.h"

#define COUNT 3000
#define BYTES (COUNT * sizeof(float))
#define FEW 2 /* so few go along a tree over sockets, where the host would add them */
#define CANARY 0xee

static float *far_vector(void)
{
	void *memory = NULL;
	return far_device.alloc(0, BYTES, &memory) ? NULL : memory;
}

static void fill(float *far, float value)
{
	static _Thread_local float host[COUNT];
	for (int i = 0; i < COUNT; i++)
		host[i] = value + (float)i;
	far_write(far, host, BYTES);
}

/* Whether a vector, on the device or not, is what fill() makes, so many times. */
static bool is_filled(const float *vector, float value, int times)
{
	static _Thread_local float host[COUNT];
	if (far_device.owns(vector))
		far_read(host, vector, BYTES);
	else
		memcpy(host, vector, BYTES);
	for (int i = 0; i < COUNT; i++)
		if (host[i] != value + (float)(times * i))
			return false;
	return true;
}

/* ---- the far device -------------------------------------------------------------------------- */

static int read_it(void)
{
	volatile float *far = far_vector();
	return far[0] > 1;
}

static int reduce_on_the_host(void)
{
	float *far = far_vector(), host[2] = {0};
	struct ring_device_queue *queue;
	struct ring_reduction job = {.sources = {host, far},
				     .nsources = 2,
				     .results = {host},
				     .nresults = 1,
				     .count = 2,
				     .type = RING_FLOAT32};
	ring_device_cpu.queue_open(0, &queue);
	return ring_device_cpu.reduce(queue, &job);
}

static int copy(void *dst, const void *src)
{
	struct ring_device_queue *queue;
	uint64_t done = 0;
	far_device.queue_open(0, &queue);
	far_device.copy(queue, dst, src, BYTES, false);
	while (done == 0)
		far_device.finished(queue, &done);
	return 0;
}

static int copy_unpinned(void)
{
	static float host[COUNT];
	return copy(far_vector(), host);
}

static int copy_freed(void)
{
	float *far = far_vector();
	far_device.free(far);
	return copy(far_vector(), far);
}

/* Whether a process that does that is ended by a signal, or by a sanitizer in its place. */
static bool faults(int (*act)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		fclose(stderr);
		_exit(act());
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static bool a_system_call_fails(void)
{
	int ends[2];
	bool fails = pipe(ends) == 0 && write(ends[1], far_vector(), 8) < 0 && errno == EFAULT;
	close(ends[0]);
	close(ends[1]);
	return fails;
}

static int touch_it(void)
{
	return !(faults(read_it) && faults(reduce_on_the_host) && a_system_call_fails() &&
		 faults(copy_unpinned) && faults(copy_freed));
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* What differs between cases of one body. */
struct setting {
	const char *algorithm, *link; /* as in options */
	int spins;                    /* and yields; -1: chosen */
};

static const struct setting chosen = {NULL, NULL, -1}, one_shot = {"oneshot", NULL, -1},
			    two_shots = {"twoshot", NULL, -1}, sleepy = {NULL, NULL, 0},
			    paced = {"ring", "500MB/s,20us", -1};

static int join(struct harness_rank *self, struct ring_comm **comm)
{
	const struct setting *setting = self->context;
	struct ring_options options;
	harness_options(self, &options);
	options.algorithm = setting->algorithm;
	options.link = setting->link;
	options.spins = options.yields = setting->spins;
	options.call_timeout_ms = 0; /* a deadline would wake who sleeps */
	return harness_join(self, &options, comm);
}

static int complain(struct harness_rank *self, const char *what, struct ring_comm *comm)
{
	return harness_fail(self, "%s: %s", what, ring_comm_error(comm));
}

/*
 * Ranks sleep at once, so whoever is not woken waits for ever. In a collective ranks wake after a while
 * to ask their neighbours what they are doing; in a message they do not. One that only receives has no
 * other job whose end would wake it.
 */
static int wait_for_late_jobs(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (join(self, &comm))
		return 1;
	far_be_late(30000, 0, 0);
	float *send = far_vector(), *recv = far_vector();
	fill(send, 1);
	int err = ring_all_reduce(comm, send, recv, COUNT, RING_FLOAT32, RING_SUM, NULL);
	if (!err && !is_filled(recv, (float)self->size, self->size))
		err = harness_fail(self, "a late sum is wrong");
	if (!err && self->rank > 0)
		err = ring_recv(comm, recv, COUNT, RING_FLOAT32, self->rank - 1, NULL);
	if (!err && self->rank < self->size - 1)
		err = ring_send(comm, send, COUNT, RING_FLOAT32, self->rank + 1, NULL);
	if (!err && self->rank > 0 && !is_filled(recv, 1, 1))
		err = harness_fail(self, "a late message is wrong");
	int bad = err ? complain(self, "jobs of 30 ms", comm) : 0;
	harness_barrier(self); /* a rank that leaves wakes the others */
	ring_comm_destroy(comm);
	return bad;
}

/* The same calls on the host's memory, first, and the device's, barriers and messages between. */
static int take_turns(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (join(self, &comm))
		return 1;
	float *far[2] = {far_vector(), far_vector()}, *host[2] = {malloc(BYTES), malloc(BYTES)};
	int next = (self->rank + 1) % self->size, prev = (self->rank + self->size - 1) % self->size;
	int bad = 0;
	for (int turn = 0; !bad && turn < 12; turn++) {
		float **at = turn % 3 == 0 ? host : far, value = (float)turn;
		fill(far[0], value);
		far_read(host[0], far[0], BYTES);
		int err = ring_all_reduce(comm, at[0], at[1], FEW, RING_FLOAT32, RING_SUM, NULL);
		if (!err)
			err = ring_all_reduce(comm, at[0], at[1], COUNT, RING_FLOAT32, RING_SUM,
					      NULL);
		if (err || !is_filled(at[1], value * (float)self->size, self->size))
			bad = complain(self, "a sum in turn", comm);
		if (!bad && turn % 4 == 0 && ring_barrier(comm, NULL))
			bad = complain(self, "a barrier in turn", comm);
		ring_group_start();
		ring_send(comm, at[0], COUNT, RING_FLOAT32, next, NULL);
		ring_recv(comm, at[1], COUNT, RING_FLOAT32, prev, NULL);
		if (ring_group_end() || (!bad && !is_filled(at[1], value, 1)))
			bad = complain(self, "a message in turn", comm);
	}
	struct ring_stats stats = {.size = sizeof(stats)};
	ring_comm_stats(comm, &stats);
	if (!bad && self->size > 1 && stats.received_bytes < 12 * BYTES)
		bad = harness_fail(self, "%llu bytes were counted",
				   (unsigned long long)stats.received_bytes);
	if (!bad && far_jobs() == 0)
		bad = harness_fail(self, "the device did nothing");
	harness_barrier(self);
	free(host[0]);
	free(host[1]);
	ring_comm_destroy(comm);
	return bad;
}

/* One call on two kinds of memory is refused before it begins, and nothing else is harmed. */
static int mix_in_a_call(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (join(self, &comm))
		return 1;
	float *far = far_vector(), *host = calloc(COUNT, sizeof(*host));
	int bad = 0;
	int err = ring_all_reduce(comm, host, far, COUNT, RING_FLOAT32, RING_SUM, NULL);
	if (err != RING_EINVAL || !strstr(ring_comm_error(comm), "recv is memory of far device 0"))
		bad = complain(self, "host memory into far memory", comm);
	ring_group_start();
	ring_send(comm, host, COUNT, RING_FLOAT32, self->rank, NULL);
	ring_recv(comm, far, COUNT, RING_FLOAT32, self->rank, NULL);
	if (ring_group_end() != RING_EINVAL)
		bad = complain(self, "from oneself, from one kind to the other", comm);
	err = ring_all_reduce(comm, host, host, COUNT, RING_FLOAT32, RING_SUM, NULL);
	if (!bad && err)
		bad = complain(self, "behind a refused call", comm);
	free(host);
	ring_comm_destroy(comm);
	return bad;
}

/* A communicator in which each rank has a pair of vectors on the device, and one on the host. */
struct mixture {
	struct harness_rank *self;
	struct ring_comm *comm;
	float *far[2], *host[2];
};

static int mixture_make(struct mixture *mixture, struct harness_rank *self)
{
	*mixture = (struct mixture){.self = self,
				    .far = {far_vector(), far_vector()},
				    .host = {malloc(BYTES), malloc(BYTES)}};
	return join(self, &mixture->comm);
}

static void mixture_end(struct mixture *mixture)
{
	harness_barrier(mixture->self);
	free(mixture->host[0]);
	free(mixture->host[1]);
	ring_comm_destroy(mixture->comm);
}

/* A sum, with this rank's vectors on the device or on the host. */
static int add_there(struct mixture *mixture, struct ring_comm *comm, bool far, int turn)
{
	struct harness_rank *self = mixture->self;
	float **at = far ? mixture->far : mixture->host;
	fill(mixture->far[0], (float)turn);
	far_read(mixture->host[0], mixture->far[0], BYTES);
	if (ring_all_reduce(comm, at[0], at[1], COUNT, RING_FLOAT32, RING_SUM, NULL))
		return complain(self, "a mixed sum", comm);
	return is_filled(at[1], (float)(turn * self->size), self->size)
		       ? 0
		       : harness_fail(self, "mixed sum %d is wrong", turn);
}

/* All in one memory, then each in either in turn, and all in one again. */
static int mix_ranks(struct harness_rank *self)
{
	struct mixture mixture;
	struct ring_comm *half;
	if (mixture_make(&mixture, self))
		return 1;
	int bad = add_there(&mixture, mixture.comm, false, 1) ||
		  add_there(&mixture, mixture.comm, true, 2);
	for (int turn = 3; !bad && turn < 9; turn++) {
		bad = add_there(&mixture, mixture.comm, (self->rank + turn / 2) % 2, turn);
		if (!bad && turn % 2 && ring_barrier(mixture.comm, NULL))
			bad = complain(self, "a barrier of mixed ranks", mixture.comm);
	}
	bad = bad || add_there(&mixture, mixture.comm, false, 9) ||
	      add_there(&mixture, mixture.comm, true, 10);
	if (!bad && ring_comm_split(mixture.comm, 0, -self->rank, &half))
		bad = complain(self, "a split of mixed ranks", mixture.comm);
	else if (!bad) {
		bad = add_there(&mixture, half, self->rank == 0, 11);
		ring_comm_destroy(half);
	}
	mixture_end(&mixture);
	return bad;
}

/* Behind mixed calls, or in the first one, the last rank adds fewer elements. */
static int differ(struct harness_rank *self, bool mixed)
{
	struct mixture mixture;
	if (mixture_make(&mixture, self))
		return 1;
	bool odd = self->rank == self->size - 1;
	int bad = mixed && (add_there(&mixture, mixture.comm, !odd, 1) ||
			    ring_barrier(mixture.comm, NULL)); /* all know it behind that */
	float **at = odd ? mixture.host : mixture.far;
	fill(mixture.far[1], 7);
	far_read(mixture.host[1], mixture.far[1], BYTES);
	int err = ring_all_reduce(mixture.comm, at[0], at[1], odd ? FEW : COUNT, RING_FLOAT32,
				  RING_SUM, NULL);
	const char *why = ring_comm_error(mixture.comm);
	if (!bad && (err != RING_EMISMATCH || !strstr(why, "all_reduce of 2 float, sum") ||
		     !strstr(why, "all_reduce of 3000 float, sum") ||
		     (mixed && strstr(why, "in memory of"))))
		bad = complain(self, "fewer elements", mixture.comm);
	if (!bad && !is_filled(at[1], 7, 1))
		bad = harness_fail(self, "fewer elements: recv was touched");
	mixture_end(&mixture);
	return bad;
}

static int differ_at_first(struct harness_rank *self)
{
	return differ(self, false);
}

static int differ_when_mixed(struct harness_rank *self)
{
	return differ(self, true);
}

/* From the device to the host, and back. */
static int mix_messages(struct harness_rank *self)
{
	struct mixture mixture;
	if (mixture_make(&mixture, self))
		return 1;
	fill(mixture.far[0], 3);
	int err, peer = 1 - self->rank;
	if (self->rank == 0) {
		err = ring_send(mixture.comm, mixture.far[0], COUNT, RING_FLOAT32, peer, NULL);
		if (!err)
			err = ring_recv(mixture.comm, mixture.far[1], COUNT, RING_FLOAT32, peer,
					NULL);
	} else {
		err = ring_recv(mixture.comm, mixture.host[1], COUNT, RING_FLOAT32, peer, NULL);
		if (!err)
			err = ring_send(mixture.comm, mixture.host[1], COUNT, RING_FLOAT32, peer,
					NULL);
	}
	int bad = err ? complain(self, "a mixed message", mixture.comm) : 0;
	if (!err && !is_filled(self->rank ? mixture.host[1] : mixture.far[1], 3, 1))
		bad = harness_fail(self, "a mixed message is wrong");
	mixture_end(&mixture);
	return bad;
}

/* Rank 1's device breaks in the middle: all learn which it was. */
static int lose_a_device(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (join(self, &comm))
		return 1;
	float *send = far_vector(), *recv = far_vector();
	fill(send, 1);
	int err = 0;
	if (self->rank == 1)
		far_fail_after(20);
	while (!err)
		err = ring_all_reduce(comm, send, recv, COUNT, RING_FLOAT32, RING_SUM, NULL);
	int bad = err != RING_ESYSTEM ||
		  !strstr(ring_comm_error(comm), "rank 1: the far device failed");
	if (bad)
		complain(self, "a device that failed", comm);
	harness_barrier(self);
	ring_comm_destroy(comm);
	return bad;
}

static const struct {
	const char *name;
	const struct setting *setting;
	int size;
	harness_body *body;
	bool by_threads; /* also where ranks are threads, which share a device */
} cases[] = {
	{"late jobs wake who sleeps", &sleepy, 3, wait_for_late_jobs, true},
	{"host and device in turn", &chosen, 3, take_turns, true},
	{"host and device in turn, one shot", &one_shot, 2, take_turns, true},
	{"host and device in turn, paced", &paced, 3, take_turns, true},
	{"host and device in turn, alone", &chosen, 1, take_turns, true},
	{"kinds of memory in one call", &chosen, 2, mix_in_a_call, true},
	{"kinds of memory of two ranks", &chosen, 2, mix_ranks, true},
	{"kinds of memory of four ranks", &two_shots, 4, mix_ranks, true},
	{"kinds of memory of five ranks", &chosen, 5, mix_ranks, true},
	{"kinds of memory of two ranks, paced", &paced, 2, mix_ranks, true},
	{"kinds of memory, other counts", &chosen, 3, differ_at_first, true},
	{"kinds of memory, other counts later", &chosen, 3, differ_when_mixed, true},
	{"kinds of memory of a message", &chosen, 2, mix_messages, true},
	{"a device fails", &chosen, 3, lose_a_device, false},
};
#define CASES (int)(sizeof(cases) / sizeof(cases[0]))

int main(void)
{
	int bad = harness_report("memory that the host may not touch", touch_it());
	for (int c = 0; c < CASES; c++)
		for (int w = 0; w < HARNESS_WORLDS; w++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = cases[c].size,
					       .seconds = 10,
					       .body = cases[c].body,
					       .context = (void *)cases[c].setting};
			snprintf(team.label, sizeof(team.label), "%s, %s", cases[c].name,
				 team.world->name);
			if (!team.world->threads || cases[c].by_threads)
				bad |= harness_report(team.label, harness_run(&team));
		}
	printf("1..%d\n", 1 + CASES * HARNESS_WORLDS - 1);
	return bad != 0;
}
