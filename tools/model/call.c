/* SPDX-License-Identifier: MIT */
/* A question for the library's model, and its answer. */
#include "call.h"

#include <math.h>
#include <string.h>

#include "choose/options.h"

#define PS_OF_SECOND 1e12
#define KIBIBYTE 1024

const struct model_collective model_collectives[] = {
	{"all_reduce", RING_KIND_ALL_REDUCE},
	{"reduce_scatter", RING_KIND_REDUCE_SCATTER},
	{"all_gather", RING_KIND_ALL_GATHER},
	{"broadcast", RING_KIND_BROADCAST},
	{"reduce", RING_KIND_REDUCE},
	{"gather", RING_KIND_GATHER},
	{"scatter", RING_KIND_SCATTER},
	{"all_to_all", RING_KIND_ALL_TO_ALL},
	{"barrier", RING_KIND_BARRIER},
	{"sendrecv", RING_KIND_SEND},
	{NULL, RING_KIND_BARRIER},
};

const struct model_collective *model_collective_find(const char *name)
{
	for (const struct model_collective *at = model_collectives; at->name; at++)
		if (strcmp(at->name, name) == 0)
			return at;
	return NULL;
}

/* ---- numbers ---- */

uint64_t model_number_of_seconds(double seconds)
{
	return (uint64_t)(seconds * PS_OF_SECOND + 0.5);
}

uint64_t model_number_of_rate(double bytes_per_second)
{
	return bytes_per_second > 0 ? (uint64_t)(KIBIBYTE * PS_OF_SECOND / bytes_per_second + 0.5)
				    : 0;
}

double model_seconds(uint64_t number)
{
	return (double)number / PS_OF_SECOND;
}

double model_seconds_per_byte(uint64_t number)
{
	return (double)number / PS_OF_SECOND / KIBIBYTE;
}

/* ---- questions ---- */

int model_turns(double ranks, double cpus)
{
	return cpus > 0 ? (int)fmin(ranks * RING_TURNS_NONE / cpus, INT32_MAX) : 0;
}

uint64_t model_count_of(enum ring_kind kind, int ranks, double bytes, double element_bytes)
{
	bool whole = ring_direct_parts_in(kind, 2) == 1 && ring_direct_parts_out(kind, 2) == 1;
	return (uint64_t)((whole ? bytes : bytes / ranks) / element_bytes);
}

struct ring_model model_around(const struct model_machine *machine, int ranks)
{
	struct ring_model model = machine->model;
	if (machine->ranks_per_host == 0 || ranks <= machine->ranks_per_host)
		return model;
	/* The ring leaves each host once. */
	double outside = ceil((double)ranks / machine->ranks_per_host) / ranks;
	model.hop = (uint64_t)(outside * (double)machine->between.hop +
			       (1 - outside) * (double)model.hop + 0.5);
	if (machine->between.wire > model.wire)
		model.wire = machine->between.wire;
	return model;
}

static struct ring_tuning tuning_of(const struct model_machine *machine, int ranks)
{
	struct ring_config none = {0};
	struct ring_tuning tuning = ring_tuning_make(&none, machine->path == RING_PATH_MEMORY,
						     ranks);
	if (machine->chunk > 0)
		tuning.chunk_bytes = machine->chunk; /* a config's is a size_t */
	tuning.algorithm = machine->algorithm;
	tuning.table = machine->table;
	tuning.turns = model_turns(ranks, machine->cpus);
	tuning.model = model_around(machine, ranks);
	return tuning;
}

/* Of any number of ranks, each at its own position. */
static const int *order_of_ranks(void)
{
	static int order[MODEL_RANKS_MAX];
	for (int i = 0; order[MODEL_RANKS_MAX - 1] == 0 && i < MODEL_RANKS_MAX; i++)
		order[i] = i;
	return order;
}

/* A message, which no plan of all ranks sends. */
static struct model_call message_of(const struct ring_model *model, double bytes)
{
	struct ring_factors factors = {{0}};
	struct ring_model *once = (struct ring_model *)&factors;
	once->call = once->hop = 1;
	once->message = 2;
	once->wire = (uint64_t)bytes;
	once->move = 2 * (uint64_t)bytes;
	return (struct model_call){.hops = 1,
				   .sent = (uint64_t)bytes,
				   .seconds = model_seconds(ring_model_time(model, &factors))};
}

/* Root sends most of a scatter and a broadcast, the others of a gather and a reduction. */
static void count_work(const struct ring_question *question, struct model_call *call)
{
	struct ring_plan_params params = ring_tuning_params(question, &call->choice);
	for (params.position = 0; params.position < 2; params.position++) {
		struct ring_work work = ring_work_of(&params, question->memory);
		call->hops = work.hops > call->hops ? work.hops : call->hops;
		call->sent = work.wire > call->sent ? work.wire : call->sent;
	}
}

struct model_call model_call_of(const struct model_machine *machine, enum ring_kind kind, int ranks,
				double bytes)
{
	struct ring_tuning tuning = tuning_of(machine, ranks);
	struct ring_question question = {
		.kind = kind,
		.ranks = ranks,
		.order = order_of_ranks(),
		.bytes = model_count_of(kind, ranks, bytes, 1),
		.path = machine->path,
		.memory = machine->memory,
		.staged = machine->path == RING_PATH_MEMORY,
	};
	struct model_call call = {.seconds = 0};
	if (ranks < 2)
		return call;
	if (kind == RING_KIND_SEND)
		return message_of(&tuning.model, bytes);
	call.choice = ring_tuning_choose(&tuning, &question);
	call.seconds = model_seconds(ring_tuning_predict(&tuning, &question, &call.choice));
	count_work(&question, &call);
	return call;
}
