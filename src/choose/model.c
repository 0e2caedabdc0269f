/* SPDX-License-Identifier: MIT */
/*
 * Factors of a plan, time, numbers as text, and the numbers of machines that nobody has measured.
 */
#include "model.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text/number.h"

/*
 * Measured on machines with 2 CPUs, with 2 and 4 ranks (perf/choice). Two numbers lie between
 * those of two machines of other makers: touch 34 and 77 GB/s; fetch 15 GB/s on both, with pages
 * of 4 KiB, and 22 with huge ones. The network: links of 1 GB/s and 20 us (RING_LINK), round
 * numbers between those of 2 ranks and of 4. MIXED is like the network: its slowest links decide.
 * VERBS was not measured: it is what makers say of cards of 100 Gbit/s, and a system call to wait.
 */
#define MEMORY_MODEL                                                                               \
	{                                                                                          \
		.queue = 930000, .hop = 286000, .turn = 323000, .message = 56000, .sheet = 173000, \
		.reach = 1300000, .touch = 20500, .fetch = 68300,                                  \
	}
#define SOCKET_MODEL                                                                               \
	{                                                                                          \
		.call = 1300000, .queue = 6340000, .hop = 800000, .turn = 500000,                  \
		.message = 1200000, .touch = 20500, .move = 104000,                                \
	}
#define NETWORK_MODEL                                                                              \
	{                                                                                          \
		.call = 6000000, .queue = 12000000, .hop = 22000000, .turn = 2000000,              \
		.message = 1000000, .touch = 20500, .move = 120000, .wire = 900000,                \
	}
#define VERBS_MODEL                                                                                \
	{                                                                                          \
		.call = 1000000, .queue = 6340000, .hop = 2000000, .turn = 5000000,                \
		.message = 300000, .touch = 20500, .move = 20500, .wire = 85300,                   \
	}

const struct ring_model ring_model_built_in[RING_PATHS] = {
	[RING_PATH_MEMORY] = MEMORY_MODEL,   [RING_PATH_SOCKET] = SOCKET_MODEL,
	[RING_PATH_NETWORK] = NETWORK_MODEL, [RING_PATH_VERBS] = VERBS_MODEL,
	[RING_PATH_MIXED] = NETWORK_MODEL,
};

const struct ring_model_number ring_model_numbers[RING_MODEL_COUNT] = {
#define NUMBER(name, unit, what) {#name, what, unit},
	RING_MODEL_NUMBERS(NUMBER)
#undef NUMBER
};

/* ---- time ------------------------------------------------------------------------------------ */

/* The longest time that can be added up once for each number. */
#define LONGEST (UINT64_MAX / (uint64_t)RING_MODEL_COUNT)

/* Byte counts are in 1024ths of a number's unit. */
static uint64_t product(enum ring_unit unit, uint64_t factor, uint64_t number)
{
	uint64_t time;
	bool fits = !__builtin_mul_overflow(factor, number, &time);
	if (unit == RING_BYTES) {
		time >>= 10;
		if (!fits)
			fits = !__builtin_mul_overflow(factor >> 10, number, &time);
	}
	return fits && time < LONGEST ? time : LONGEST;
}

uint64_t ring_model_time(const struct ring_model *model, const struct ring_factors *factors)
{
	uint64_t time = 0;
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		time += product(ring_model_numbers[i].unit, factors->of[i],
				ring_model_get(model, i));
	return time;
}

/* ---- factors --------------------------------------------------------------------------------- */

#define FACTOR(name) (offsetof(struct ring_model, name) / sizeof(uint64_t))

/* A rank's work. */
static struct ring_factors work_factors(const struct ring_work *work)
{
	return (struct ring_factors){{
		[FACTOR(turn)] = work->waits,
		[FACTOR(message)] = work->messages,
		[FACTOR(sheet)] = work->sheets,
		[FACTOR(reach)] = work->reaches,
		[FACTOR(touch)] = work->touched,
		[FACTOR(move)] = work->moved,
		[FACTOR(fetch)] = work->fetched,
	}};
}

/* Of the ranks that are asked. */
struct summary {
	struct ring_factors root, others; /* the sum of all but root */
	struct ring_factors most;
	uint64_t most_time;
	struct ring_work plan; /* what no rank does alone, or the most of a rank */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void note(struct summary *summary, const struct ring_model *model,
		 const struct ring_work *work, bool is_root)
{
	struct ring_factors factors = work_factors(work);
	uint64_t time = ring_model_time(model, &factors);
	if (is_root)
		summary->root = factors;
	for (int i = 0; i < RING_MODEL_COUNT && !is_root; i++)
		summary->others.of[i] += factors.of[i];
	if (is_root || time > summary->most_time) {
		summary->most = factors;
		summary->most_time = time;
	}
	struct ring_work before = summary->plan, *most = &summary->plan;
	*most = *work;
	most->hops = larger(before.hops, work->hops);
	most->exchanges = larger(before.exchanges, work->exchanges);
	most->wire = larger(before.wire, work->wire);
	most->first = larger(before.first, work->first);
	most->passing = larger(before.passing, work->passing);
	most->added = larger(before.added, work->added);
	most->lead = larger(before.lead, work->lead);
}

/*
 * One rank of each CPU works in a direct broadcast of private memory. Neighbours are taken to share
 * CPUs: which ranks do is known only during the call. returns as the plan's workers
 */
static uint64_t workers_of(const struct ring_plan_params *params, enum ring_memory memory,
			   uint64_t turns)
{
	uint64_t workers = 0;
	bool few = params->kind == RING_KIND_BROADCAST &&
		   ring_algorithm_has(params->algorithm, RING_NEEDS_REACH) &&
		   memory == RING_MEMORY_REACHABLE && turns > RING_TURNS_NONE &&
		   params->size <= RING_WORKERS_MOST;
	for (uint64_t at = 0; few && at / RING_TURNS_NONE < (uint64_t)params->size; at += turns)
		workers |= UINT64_C(1) << at / RING_TURNS_NONE;
	return workers;
}

/* Root and a few others; without root and workers all work alike, unless by place. */
#define ASKED 4

static int asked_of(const struct ring_plan_params *params)
{
	if (!ring_kind_has_root(params->kind) &&
	    !ring_algorithm_has(params->algorithm, RING_BY_PLACE))
		return 1;
	return params->size < ASKED || params->workers ? params->size : ASKED;
}

/* All ranks' work on the CPUs of one: (root + others) * turns / ranks. */
static struct ring_factors shared_work(const struct summary *summary, uint64_t ranks, int asked,
				       int turns)
{
	struct ring_factors all;
	for (int i = 0; i < RING_MODEL_COUNT; i++) {
		uint64_t root = summary->root.of[i], others = summary->others.of[i];
		uint64_t sum = asked == 1 ? root * ranks
					  : root + others * (ranks - 1) / (uint64_t)(asked - 1);
		uint64_t share = sum / ranks * (uint64_t)turns +
				 sum % ranks * (uint64_t)turns / ranks;
		all.of[i] = share / RING_TURNS_NONE;
	}
	return all;
}

/* ---- work and wire at once ---- */

/* What a call does while its bytes are on the way. */
struct flow {
	const struct ring_model *model;
	const struct ring_work *plan;
	struct ring_factors work; /* of the rank, or of all that share its CPU */
	uint64_t turns;           /* until a rank goes on that waited: 1 if ranks take turns */
};

static struct ring_factors sum_of(struct ring_factors a, struct ring_factors b)
{
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		a.of[i] += b.of[i];
	return a;
}

static struct ring_factors wire_of(uint64_t bytes)
{
	return (struct ring_factors){{[FACTOR(wire)] = bytes}};
}

static struct ring_factors hops_of(const struct flow *flow, uint64_t hops)
{
	return (struct ring_factors){{[FACTOR(hop)] = hops, [FACTOR(turn)] = hops * flow->turns}};
}

/* The work on this many of the bytes that are sent. */
static struct ring_factors work_on(const struct flow *flow, uint64_t bytes)
{
	uint64_t share = bytes * 1024 / flow->plan->wire;
	struct ring_factors work;
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		work.of[i] = flow->work.of[i] / 1024 * share +
			     flow->work.of[i] % 1024 * share / 1024;
	return work;
}

static bool is_longer(const struct flow *flow, struct ring_factors a, struct ring_factors b)
{
	return ring_model_time(flow->model, &a) > ring_model_time(flow->model, &b);
}

/* So many bytes are sent and worked on at once, all but the first `lead`. */
static struct ring_factors at_once(const struct flow *flow, uint64_t bytes, uint64_t lead)
{
	struct ring_factors wire = wire_of(bytes), work = work_on(flow, bytes);
	return is_longer(flow, work, wire) ? sum_of(work, wire_of(lead))
					   : sum_of(wire, work_on(flow, lead));
}

/* Rounds with this many bytes at each step. The last step of the last round ends with a hop. */
static struct ring_factors rounds_of(const struct flow *flow, uint64_t rounds, uint64_t bytes,
				     bool last)
{
	uint64_t steps = rounds * flow->plan->steps;
	uint64_t piece = bytes < flow->plan->piece ? bytes : flow->plan->piece;
	struct ring_factors sent = at_once(flow, steps * bytes, last ? piece : 0);
	struct ring_factors waited = sum_of(wire_of(steps * piece), work_on(flow, steps * piece));
	waited = sum_of(waited, hops_of(flow, steps));
	if (is_longer(flow, waited, sent))
		return last ? sum_of(waited, wire_of(bytes - piece)) : waited;
	return last ? sum_of(sent, hops_of(flow, 1)) : sent;
}

/* Work, wire and hops. */
static struct ring_factors flow_of(const struct flow *flow)
{
	const struct ring_work *plan = flow->plan;
	if (plan->wire == 0)
		return sum_of(flow->work, hops_of(flow, plan->hops));
	if (plan->steps == 0 || flow->model->wire == 0)
		return sum_of(at_once(flow, plan->wire, plan->lead), hops_of(flow, plan->hops));
	struct ring_factors full = {0}, rest = {0};
	if (plan->rounds > 0)
		full = rounds_of(flow, plan->rounds, plan->round, plan->rest == 0);
	if (plan->rest > 0)
		rest = rounds_of(flow, 1, plan->rest, true);
	return sum_of(sum_of(full, rest), hops_of(flow, plan->hops - plan->steps));
}

/* ---- calls ---- */

/* Each has a CPU: the busiest rank, after what it waits for. */
static struct ring_factors each_alone(const struct summary *summary, const struct ring_model *model,
				      bool boards)
{
	struct flow flow = {.model = model, .plan = &summary->plan, .work = summary->most};
	flow.work.of[FACTOR(turn)] = 0;
	struct ring_factors factors = flow_of(&flow);
	factors.of[FACTOR(call)] = 1;
	factors.of[FACTOR(sheet)] += summary->plan.exchanges;
	factors.of[boards ? FACTOR(touch) : FACTOR(move)] += 2 * summary->plan.first;
	factors.of[FACTOR(touch)] += summary->plan.added;
	factors.of[FACTOR(wire)] += summary->plan.passing;
	return factors;
}

/* Ranks take turns: the work of all, on the CPUs there are. */
static struct ring_factors in_turns(const struct summary *summary, const struct ring_model *model,
				    int ranks, int asked, int turns)
{
	struct flow flow = {.model = model,
			    .plan = &summary->plan,
			    .work = shared_work(summary, (uint64_t)ranks, asked, turns),
			    .turns = 1};
	struct ring_factors factors = flow_of(&flow);
	factors.of[FACTOR(call)] = factors.of[FACTOR(queue)] = 1;
	factors.of[FACTOR(turn)] += summary->plan.exchanges;
	factors.of[FACTOR(wire)] += summary->plan.passing;
	return factors;
}

struct ring_factors ring_model_factors(const struct ring_model *model,
				       const struct ring_plan_params *params,
				       enum ring_memory memory, int turns)
{
	struct ring_plan_params one = *params;
	struct summary summary = {0};
	one.root = params->order[0];
	one.workers = workers_of(params, memory, (uint64_t)turns);
	int asked = asked_of(&one);
	for (int i = 0; i < asked; i++) {
		one.position = (int)((int64_t)i * params->size / asked);
		struct ring_work work = ring_work_of(&one, memory);
		note(&summary, model, &work, i == 0);
	}
	return turns > RING_TURNS_NONE ? in_turns(&summary, model, params->size, asked, turns)

				       : each_alone(&summary, model, params->boards);
}

/* ---- text ------------------------------------------------------------------------------------ */

#define PS_OF_US 1e6
#define PS_OF_GB 1024e3 /* 1024 bytes at 1 GB/s */

static const char *const units[] = {[RING_EACH] = "us", [RING_BYTES] = "GB/s"};

const char *ring_model_write(int number, uint64_t value, char text[RING_MODEL_TEXT])
{
	enum ring_unit unit = ring_model_numbers[number].unit;
	double shown = unit == RING_EACH ? (double)value / PS_OF_US : PS_OF_GB / (double)value;
	char decimal[RING_NUMBER_TEXT];
	if (value == 0)
		snprintf(text, RING_MODEL_TEXT, "0");
	else
		snprintf(text, RING_MODEL_TEXT, "%.16s%s",
			 ring_number_write_decimal(shown, decimal), units[unit]);
	return text;
}

/* More is a mistake: a second, or a kilobyte a second, as people write it. */
static const double most[] = {[RING_EACH] = 1e12, [RING_BYTES] = 1.1e12};

bool ring_model_read(int number, const char *text, uint64_t *value)
{
	enum ring_unit unit = ring_model_numbers[number].unit;
	double shown;
	*value = 0;
	if (strcmp(text, "0") == 0)
		return true;
	if (!ring_number_read_decimal(&text, &shown) || strcmp(text, units[unit]) != 0 || shown <= 0)
		return false;
	double exact = unit == RING_EACH ? shown * PS_OF_US : PS_OF_GB / shown;
	if (exact > most[unit] - 1)
		return false;
	*value = (uint64_t)(exact + 0.5);
	return true;
}
