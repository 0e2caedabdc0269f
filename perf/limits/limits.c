/* SPDX-License-Identifier: MIT */
/*
 * Measures rates of copying, reducing and sending at several sizes, and the time of one hop; has
 * the formula that computes a limit from them.
 */
#include "limits.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "path.h"
#include "samples.h"

#define TRIALS 7
#define LARGE_TRIALS 3 /* of large sizes, whose rates hardly differ */
#define LARGE_BYTES ((size_t)64 << 20)
#define TRIAL_BYTES ((size_t)8 << 20) /* moved per trial at least */

#define FLAG_ROUNDS 200 /* of a trial: some 0.1 ms */
#define FLAG_TRIALS 50
#define FLAG_SECONDS 0.5 /* for all of them */
#define ROUNDS_PER_CLOCK 20
#define ASLEEP_US 50000 /* after this, ranks that wait for this one sleep */

/* 32 bytes of floats, which compilers turn into the vector instructions they may use. */
typedef float lanes __attribute__((vector_size(32), may_alias));

static int probe_copy(struct perf_buffer buffers[2], size_t bytes, struct perf_path *path)
{
	(void)path;
	if (buffers[0].memory.device)
		return perf_device_copy(buffers[0].memory.device, buffers[1].data, buffers[0].data,
					bytes);
	memcpy(buffers[1].data, buffers[0].data, bytes);
	return 0;
}

static int probe_reduce(struct perf_buffer buffers[2], size_t bytes, struct perf_path *path)
{
	(void)path;
	if (buffers[0].memory.device)
		return perf_device_add(buffers[0].memory.device, buffers[1].data, buffers[0].data,
				       bytes);
	lanes *sum = (lanes *)buffers[1].data;
	const lanes *in = (const lanes *)buffers[0].data;
	for (size_t i = 0; i < bytes / sizeof(lanes); i++)
		sum[i] += in[i];
	return 0;
}

static int probe_both(struct perf_buffer buffers[2], size_t bytes, struct perf_path *path)
{
	(void)path;
	lanes *a = (lanes *)buffers[0].data, *b = (lanes *)buffers[1].data;
	for (size_t i = 0; i < bytes / sizeof(lanes); i++)
		a[i] = b[i] = a[i] + b[i];
	return 0;
}

static int probe_wire(struct perf_buffer buffers[2], size_t bytes, struct perf_path *path)
{
	return path->move(path, buffers, bytes, bytes);
}

/* Down a line: rank 0 receives nothing, and the rank before it on the ring sends nothing. */
static int probe_line(struct perf_buffer buffers[2], size_t bytes, struct perf_path *path)
{
	return path->move(path, buffers, path->is_last ? 0 : bytes, path->is_first ? 0 : bytes);
}

/* What is measured: one pass over `bytes`. Returns 0, or a RING_E... */
typedef int probe(struct perf_buffer buffers[2], size_t bytes, struct perf_path *path);

/*
 * Bytes per second that every rank reaches while all do the same. The best of several trials
 * counts, so that other programs do not lower the limit. A trial ends when all ranks are done: with
 * more ranks than CPUs, a rank that runs while the others wait must not look fast.
 */
static int measure_rate(struct perf_team *team, struct perf_buffer buffers[2], size_t bytes,
			probe *pass, struct perf_path *path, double *rate)
{
	size_t passes = bytes < TRIAL_BYTES ? TRIAL_BYTES / bytes : 1;
	int trials = bytes < LARGE_BYTES ? TRIALS : LARGE_TRIALS;
	double seconds[TRIALS];
	struct perf_device *device = path ? NULL : buffers[0].memory.device;
	int failed = 0;
	int err = perf_team_barrier(team);
	for (int trial = 0; trial < trials && !err; trial++) {
		double start = perf_now();
		for (size_t i = 0; i < passes && !failed; i++) {
			failed = pass(buffers, bytes, path);
			atomic_signal_fence(memory_order_seq_cst); /* every pass is done */
		}
		if (!failed && device)
			failed = perf_device_finish(device);
		if (failed && device) /* for good: nothing can be measured there */
			return perf_team_failed(team, failed, "measuring the device");
		err = perf_team_barrier(team);
		seconds[trial] = failed ? 1e9 : (perf_now() - start) / (double)passes;
	}
	if (!err)
		err = perf_team_max(team, seconds, trials);
	if (err)
		return err;
	perf_sort(seconds, trials);
	*rate = (double)bytes / seconds[0];
	return 0;
}

static int measure_rates(struct perf_team *team, struct perf_buffer buffers[2],
			 struct perf_path *path, struct perf_limits *limits)
{
	size_t bytes = PERF_LIMIT_SMALLEST;
	int err = 0;
	while (limits->classes < PERF_LIMIT_CLASSES && bytes <= buffers[1].capacity && !err) {
		struct perf_rates *rates = &limits->rates[limits->classes++];
		rates->bytes = bytes;
		err = measure_rate(team, buffers, bytes, probe_copy, NULL, &rates->copy);
		if (!err)
			err = measure_rate(team, buffers, bytes, probe_reduce, NULL, &rates->reduce);
		if (!err && limits->shared)
			err = measure_rate(team, buffers, bytes, probe_both, NULL, &rates->both);
		if (!err && path)
			err = measure_rate(team, buffers, bytes, probe_wire, path, &rates->wire);
		if (!err && path)
			err = measure_rate(team, buffers, bytes, probe_line, path, &rates->line);
		bytes *= 4;
	}
	return err;
}

/* Two threads pass a word to and fro: the fastest hop that shared memory allows. */
struct flag {
	_Alignas(64) atomic_uint turn; /* odd: the partner's */
};

#define FLAG_IS_DOWN (~0u) /* the partner's last turn */

/*
 * The acquire pairs with the release in pass_turn of the other thread.
 *
 * returns  whether it came; false if the other thread took the flag down
 */
static bool await_turn(struct flag *flag, unsigned turn)
{
	for (unsigned spins = 1;; spins++) {
		unsigned now = atomic_load_explicit(&flag->turn, memory_order_acquire);
		if (now == turn || now == FLAG_IS_DOWN)
			return now == turn;
		if (spins % 1024 == 0) /* both threads may share a CPU */
			sched_yield();
	}
}

static void pass_turn(struct flag *flag, unsigned turn)
{
	atomic_store_explicit(&flag->turn, turn, memory_order_release);
}

static void *return_flag(void *argument)
{
	struct flag *flag = argument;
	for (unsigned turn = 1; await_turn(flag, turn); turn += 2)
		pass_turn(flag, turn + 1);
	return NULL;
}

/*
 * Seconds of the best of several trials. Where other programs have the CPUs, each turn may wait for
 * one of them to be done, so a trial that is not over in time is left, as are those behind it.
 */
static double time_trials(struct flag *flag)
{
	double begin = perf_now(), best = FLAG_SECONDS;
	unsigned turn = 0;
	for (int trial = 0; trial < FLAG_TRIALS; trial++) {
		double start = perf_now();
		for (int i = 0; i < FLAG_ROUNDS; i++, turn += 2) {
			if (i % ROUNDS_PER_CLOCK == 0 && perf_now() - begin > FLAG_SECONDS)
				return best;
			pass_turn(flag, turn + 1);
			await_turn(flag, turn + 2);
		}
		double seconds = perf_now() - start;
		best = seconds < best ? seconds : best;
	}
	return best;
}

/* Microseconds of one hop; 0 if there can be no second thread, or no trial was over in time. */
static double measure_flag(void)
{
	struct flag flag = {0};
	pthread_t partner;
	if (pthread_create(&partner, NULL, return_flag, &flag) != 0)
		return 0;
	double best = time_trials(&flag);
	pass_turn(&flag, FLAG_IS_DOWN);
	pthread_join(partner, NULL);
	return best < FLAG_SECONDS ? best * 1e6 / (2 * FLAG_ROUNDS) : 0;
}

/* The same on any two CPUs, even if this rank is bound to one. */
static double measure_flag_unbound(void)
{
	cpu_set_t bound, all;
	memset(&all, 0xff, sizeof(all));
	usleep(ASLEEP_US);
	if (sched_getaffinity(0, sizeof(bound), &bound) < 0)
		return measure_flag();
	sched_setaffinity(0, sizeof(all), &all);
	double hop_us = measure_flag();
	sched_setaffinity(0, sizeof(bound), &bound);
	return hop_us;
}

/*
 * In memory rank 0 alone measures flags while the others sleep; over a network all pass a token
 * around.
 */
static int measure_hop(struct perf_team *team, struct perf_path *path, struct perf_limits *limits)
{
	int err = perf_team_barrier(team);
	double hop_us = 0;
	if (!err && path)
		err = perf_path_hop_us(path, team, &hop_us);
	else if (!err && team->rank == 0)
		hop_us = measure_flag_unbound();
	if (!err)
		err = perf_team_max(team, &hop_us, 1);
	limits->hop_us = hop_us;
	return err;
}

int perf_limits_measure(struct perf_team *team, struct perf_buffer buffers[2], bool shared,
			struct perf_limits *limits)
{
	*limits = (struct perf_limits){
		.over_network = team->over_network,
		.over_verbs = team->over_verbs,
		.shared = shared && !team->over_network,
	};
	if (team->size == 1) {
		limits->reason = "one rank has nothing to send";
		return 0;
	}
	const char *pace = getenv("RING_LINK");
	if (pace && pace[0]) {
		limits->reason = "RING_LINK slows the links down";
		return 0;
	}
	struct perf_path *path = NULL;
	int err = team->over_network ? perf_path_open(team, buffers, &path) : 0;
	if (team->over_network && !path) {
		limits->reason = team->over_verbs ? "no queue pairs of our own between the ranks"
						  : "no plain TCP connections between the ranks";
		return err;
	}
	err = measure_rates(team, buffers, path, limits);
	if (!err)
		err = measure_hop(team, path, limits);
	limits->known = !err;
	perf_path_close(path);
	return err;
}

const struct perf_rates *perf_limit_rates(const struct perf_limits *limits, size_t bytes)
{
	int class = 0;
	while (class + 1 < limits->classes && limits->rates[class + 1].bytes <= bytes)
		class ++;
	return &limits->rates[class];
}

static bool everyone_gets_the_sum(const struct perf_call *call)
{
	return perf_call_is(call, PERF_REDUCES) && !perf_call_is(call, PERF_ROOTED | PERF_PER_RANK);
}

/*
 * Each rank adds up 1/N of the vector, reading N inputs and writing N results: N/2 times what the
 * probe reads and writes. Before that, each must know that the others have come.
 */
static double one_pass_us(const struct perf_limits *limits, const struct perf_call *call)
{
	double passing = (double)call->bytes / 2 / perf_limit_rates(limits, call->bytes)->both * 1e6;
	return passing > limits->hop_us ? passing : limits->hop_us;
}

double perf_limit_us(const struct perf_limits *limits, const struct perf_call *call)
{
	if (!limits->known)
		return 0;
	if (limits->shared && everyone_gets_the_sum(call))
		return one_pass_us(limits, call);
	const struct perf_rates *rates = perf_limit_rates(limits, call->bytes);
	struct perf_work work = call->collective->work(call->size);
	double wire = perf_call_is(call, PERF_ROOTED) ? rates->line : rates->wire;
	double moving = limits->over_network ? work.sent / wire : work.copied / rates->copy;
	double passing = (double)call->bytes * (moving + work.reduced / rates->reduce) * 1e6;
	double waiting = work.hops * limits->hop_us;
	return passing > waiting ? passing : waiting;
}
