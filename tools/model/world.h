/* SPDX-License-Identifier: MIT */
/*
 * The machines of a simulation: hosts, links that differ, and late ranks.
 */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H

#include "parse.h"
#include "tools/simulate/simulate.h"

#define MODEL_EXCEPTIONS_MAX 32

struct model_wire {
	int from, to;
	struct model_link link;
};

struct model_rank_factor {
	int rank;
	double value;
};

struct model_world {
	struct model_machine machine;
	int ranks;                                     /* of the call that is simulated */
	struct model_wire wires[MODEL_EXCEPTIONS_MAX]; /* links that differ           */
	int wire_count;
	struct model_rank_factor slow[MODEL_EXCEPTIONS_MAX]; /* factors of link times */
	int slow_count;
	struct model_rank_factor late[MODEL_EXCEPTIONS_MAX]; /* delays in seconds */
	int late_count;
	double jitter; /* of all ranks: half a normal distribution of this deviation, seconds */
	uint64_t seed;
};

bool model_parse_wire(const char *text, struct model_world *world); /* "0-1=1GB/s,20us" */
bool model_parse_slow(const char *text, struct model_world *world); /* "3=2.5"          */
bool model_parse_late(const char *text, struct model_world *world); /* "3=10ms"         */

/* What the model's numbers are to a simulation, where only links and the device take time. */
double model_world_overhead(const struct model_world *world);
double model_world_reduce_rate(const struct model_world *world); /* 0: takes no time */

/* For struct ring_simulation_params; context is the world. */
void model_world_link(void *world, int from, int to, struct ring_pace_speed *speed);

/*
 * Sets the nanoseconds at which ranks enter; equal for equal seed and run. returns the last of them
 */
uint64_t model_world_enter(const struct model_world *world, int run, int ranks, uint64_t enter_ns[]);

#endif
