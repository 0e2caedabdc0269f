/* SPDX-License-Identifier: MIT */
/* Hosts, links that differ, and late ranks. */
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

/* ---- as text ------------------------------------------------------------------------------ */

/*
 * Reads "3=...": sets the rank, and returns the text after the sign; NULL if it is something else.
 */
static const char *parse_rank(const char *text, char sign, int *rank)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (end == text || *end != sign || number < 0 || number >= MODEL_RANKS_MAX)
		return NULL;
	*rank = (int)number;
	return end + 1;
}

bool model_parse_wire(const char *text, struct model_world *world)
{
	struct model_wire wire;
	const char *rest = parse_rank(text, '-', &wire.from);
	rest = rest ? parse_rank(rest, '=', &wire.to) : NULL;
	if (!rest || !model_parse_link(rest, &wire.link) ||
	    world->wire_count == MODEL_EXCEPTIONS_MAX)
		return false;
	world->wires[world->wire_count++] = wire;
	return true;
}

static bool parse_factor(const char *text, model_parser *parse, struct model_rank_factor *list,
			 int *count)
{
	struct model_rank_factor factor;
	const char *rest = parse_rank(text, '=', &factor.rank);
	if (!rest || !parse(rest, &factor.value) || *count == MODEL_EXCEPTIONS_MAX)
		return false;
	list[(*count)++] = factor;
	return true;
}

bool model_parse_slow(const char *text, struct model_world *world)
{
	return parse_factor(text, model_parse_real, world->slow, &world->slow_count);
}

bool model_parse_late(const char *text, struct model_world *world)
{
	return parse_factor(text, model_parse_time, world->late, &world->late_count);
}

/* ---- links -------------------------------------------------------------------------------- */

/* Ranks of a CPU, 1 at least. */
static double share_of(const struct model_world *world)
{
	double turns = model_turns(world->ranks, world->machine.cpus);
	return fmax(1, turns / RING_TURNS_NONE);
}

/*
 * A hop has its messages' work, which takes longer where ranks share CPUs, and a link is not faster
 * than what is done with its bytes.
 */
static struct model_link usual_link(const struct model_world *world, bool between_hosts)
{
	const struct ring_model *own = &world->machine.model;
	const struct ring_model *way = between_hosts ? &world->machine.between : own;
	double share = share_of(world), turns = share > 1 ? 1 + share : 0;
	double wire = fmax(model_seconds_per_byte(way->wire),
			   2 * share * model_seconds_per_byte(own->move));
	return (struct model_link){
		.latency = model_seconds(way->hop) + 2 * share * model_seconds(own->message) +
			   turns * model_seconds(own->turn),
		.bandwidth = wire > 0 ? 1 / wire : INFINITY,
	};
}

double model_world_overhead(const struct model_world *world)
{
	const struct ring_model *model = &world->machine.model;
	return model_seconds(model->call) + (share_of(world) > 1 ? model_seconds(model->queue) : 0);
}

double model_world_reduce_rate(const struct model_world *world)
{
	double touch = model_seconds_per_byte(world->machine.model.touch);
	return touch > 0 ? 1 / (MODEL_TOUCHED_TO_REDUCE * touch * share_of(world)) : 0;
}

static struct model_link link_of(const struct model_world *world, int from, int to)
{
	int on_host = world->machine.ranks_per_host;
	bool between = on_host > 0 && from / on_host != to / on_host;
	struct model_link link = usual_link(world, between);
	for (int i = 0; i < world->slow_count; i++)
		if (world->slow[i].rank == from || world->slow[i].rank == to) {
			link.latency *= world->slow[i].value;
			link.bandwidth /= world->slow[i].value;
		}
	for (int i = 0; i < world->wire_count; i++)
		if (world->wires[i].from == from && world->wires[i].to == to)
			link = world->wires[i].link;
	return link;
}

void model_world_link(void *world, int from, int to, struct ring_pace_speed *speed)
{
	struct model_link link = link_of(world, from, to);
	speed->latency_ns = (uint64_t)(link.latency * 1e9 + 0.5);
	speed->bytes_per_second = isfinite(link.bandwidth) ? link.bandwidth : 0;
}

/* ---- entering ----------------------------------------------------------------------------- */

/* Steele, Lea & Flood 2014, SplitMix64: one number for each place in the sequence. */
static uint64_t random_bits(uint64_t place)
{
	uint64_t bits = place * 0x9e3779b97f4a7c15u;
	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
	return bits ^ bits >> 31;
}

/* In (0, 1]. */
static double random_share(uint64_t place)
{
	return (double)((random_bits(place) >> 11) + 1) * 0x1p-53;
}

/* Box & Muller 1958. */
static double random_normal(uint64_t place)
{
	return sqrt(-2 * log(random_share(2 * place))) * cos(2 * M_PI * random_share(2 * place + 1));
}

uint64_t model_world_enter(const struct model_world *world, int run, int ranks, uint64_t enter_ns[])
{
	uint64_t last = 0;
	uint64_t place = random_bits(world->seed) + (uint64_t)run * MODEL_RANKS_MAX;
	for (int rank = 0; rank < ranks; rank++) {
		double seconds = world->jitter * fabs(random_normal(place + (uint64_t)rank));
		for (int i = 0; i < world->late_count; i++)
			if (world->late[i].rank == rank)
				seconds += world->late[i].value;
		enter_ns[rank] = (uint64_t)(seconds * 1e9 + 0.5);
		if (enter_ns[rank] > last)
			last = enter_ns[rank];
	}
	return last;
}
