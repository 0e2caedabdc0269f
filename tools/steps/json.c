/* SPDX-License-Identifier: MIT */
/* Writes the walk as JSON. */
#include "json.h"

#include "tools/json.h"
#include "words.h"

#define SAID 1024

static void put_event(struct json *json, const struct steps_walk *walk,
		      const struct steps_cells *cells, const struct steps_event *event)
{
	char what[SAID];
	json_open(json, NULL, '{');
	json_put_integer(json, "rank", (uint64_t)event->rank);
	json_put_string(json, "sequence", event->incoming ? "in" : "out");
	json_put_integer(json, "entry", event->index);
	json_put_integer(json, "needs", event->entry.needs);
	json_put_integer(json, "peer", (uint64_t)event->entry.peer);
	json_put_integer(json, "bytes", event->entry.bytes);
	if (event->us >= 0)
		json_put_real(json, "us", event->us);
	steps_say_event(walk, cells, event, false, what);
	json_put_string(json, "does", what);
	if (event->count > 0) {
		json_put_string(json, "piece", steps_event_name(walk, cells, event, false, what));
		json_put_integer(json, "value",
				 steps_value_number(walk, cells, walk->values[event->begin]));
	}
	json_close(json, '}');
}

static void put_state(struct json *json, const struct steps_walk *walk,
		      const struct steps_cells *cells, const struct steps_state *state)
{
	json_open(json, "has", '[');
	for (int rank = 0; rank < walk->choice.ranks; rank++) {
		json_open(json, NULL, '[');
		for (int c = 0; c < state->columns; c++)
			json_put_integer(
				json, NULL,
				steps_value_number(
					walk, cells,
					state->at[(size_t)rank * state->width + state->column[c]]));
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void put_step(struct json *json, const struct steps_walk *walk,
		     const struct steps_cells *cells, const struct steps_state *state, int step)
{
	char name[64];
	json_open(json, NULL, '{');
	steps_say_step(walk, step, name, sizeof(name));
	json_put_string(json, "name", name);
	if (walk->steps[step].number >= 0)
		json_put_integer(json, "number", (uint64_t)walk->steps[step].number);
	json_put_string(json, "phase", walk->steps[step].phase);
	json_open(json, "entries", '[');
	for (size_t e = walk->steps[step].begin; e < walk->steps[step].end; e++)
		put_event(json, walk, cells, &walk->events[e]);
	json_close(json, ']');
	put_state(json, walk, cells, state);
	json_close(json, '}');
}

static void put_choice(struct json *json, const struct steps_choice *choice)
{
	json_put_string(json, "collective", steps_call_name(choice));
	json_put_string(json, "algorithm", ring_algorithm_name(choice->algorithm));
	json_put_integer(json, "ranks", (uint64_t)choice->ranks);
	if (ring_kind_has_root(choice->kind))
		json_put_integer(json, "root", (uint64_t)choice->root);
	json_put_integer(json, "count", choice->count);
	json_put_integer(json, "element_bytes", steps_element_bytes(choice));
	json_put_integer(json, "chunk_bytes", choice->chunk_bytes);
	json_put_integer(json, "chunks_per_round", (uint64_t)choice->chunks_per_round);
	json_put_integer(json, "depth", (uint64_t)choice->depth);
}

void steps_json(const struct steps_walk *walk, const struct steps_cells *cells,
		struct steps_state *state, FILE *out)
{
	struct json json = {.out = out};
	json_open(&json, NULL, '{');
	put_choice(&json, &walk->choice);
	json_put_integer(&json, "steps_counted", (uint64_t)walk->numbered);
	json_open(&json, "sent_bytes", '[');
	for (int rank = 0; rank < walk->choice.ranks; rank++)
		json_put_integer(&json, NULL, walk->sent_bytes[rank]);
	json_close(&json, ']');
	json_open(&json, "steps", '[');
	for (int step = 0; step < walk->step_count; step++) {
		steps_state_apply(walk, step, state);
		put_step(&json, walk, cells, state, step);
	}
	json_close(&json, ']');
	json_close(&json, '}');
	steps_state_reset(walk, state);
}
