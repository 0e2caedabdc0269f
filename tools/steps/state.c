/* SPDX-License-Identifier: MIT */
/* Follows from step to step what each rank has. */
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ringccl.h"

void steps_state_reset(const struct steps_walk *walk, struct steps_state *state)
{
	memset(state->changed, 0, (size_t)walk->choice.ranks * state->width);
	memset(state->at, 0, (size_t)walk->choice.ranks * state->width * sizeof(*state->at));
	for (int position = 0; position < walk->choice.ranks && state->adds; position++) {
		size_t row = (size_t)walk->choice.order[position] * state->width;
		for (size_t i = 0; i < state->width; i++)
			state->at[row + i] = (struct steps_value){(int32_t)i, (int16_t)position, 1};
	}
}

/*
 * Whether element i of a row begins a column: a cell begins there, or the value is another rank's.
 */
static bool begins_column(const struct steps_cells *cells, const struct steps_value *row, size_t i)
{
	if (i == 0)
		return true;
	bool both = row[i].length > 0 && row[i - 1].length > 0;
	return both && (cells->of[row[i].index] != cells->of[row[i - 1].index] ||
			row[i].first != row[i - 1].first || row[i].index != row[i - 1].index + 1);
}

static void find_columns(const struct steps_walk *walk, const struct steps_cells *cells,
			 struct steps_state *state)
{
	for (int step = 0; step < walk->step_count; step++)
		steps_state_apply(walk, step, state);
	for (size_t i = 0; i < state->width; i++) {
		bool begins = state->adds && (i == 0 || cells->of[i] != cells->of[i - 1]);
		for (int rank = 0; rank < walk->choice.ranks && !state->adds && !begins; rank++)
			begins = begins_column(cells, &state->at[(size_t)rank * state->width], i);
		if (begins)
			state->column[state->columns++] = i;
	}
	steps_state_reset(walk, state);
}

static size_t width_of(const struct steps_walk *walk, const struct steps_cells *cells)
{
	size_t width = 0;
	if (ring_kind_reduces(walk->choice.kind))
		return cells->length;
	for (int rank = 0; rank < walk->choice.ranks; rank++)
		if (steps_output_length(&walk->choice, rank) > width)
			width = steps_output_length(&walk->choice, rank);
	return width;
}

int steps_state_make(const struct steps_walk *walk, const struct steps_cells *cells,
		     struct steps_state *state)
{
	struct steps_state made = {.width = width_of(walk, cells),
				   .adds = ring_kind_reduces(walk->choice.kind)};
	size_t all = (size_t)walk->choice.ranks * made.width + 1;
	made.at = calloc(all, sizeof(*made.at));
	made.changed = calloc(all, sizeof(*made.changed));
	made.column = calloc(made.width + 1, sizeof(*made.column));
	if (!made.at || !made.changed || !made.column) {
		steps_state_free(&made);
		return RING_ENOMEM;
	}
	steps_state_reset(walk, &made);
	find_columns(walk, cells, &made);
	*state = made;
	return 0;
}

void steps_state_free(struct steps_state *state)
{
	free(state->at);
	free(state->changed);
	free(state->column);
	*state = (struct steps_state){0};
}

/* Puts a sum at its element's place, if it is longer than the one there. */
static void put(struct steps_state *state, int rank, size_t place, struct steps_value value)
{
	size_t i = (size_t)rank * state->width + (state->adds ? (size_t)value.index : place);
	if (state->adds && value.length <= state->at[i].length)
		return;
	state->at[i] = value;
	state->changed[i] = true;
}

static void apply(const struct steps_walk *walk, const struct steps_event *event,
		  struct steps_state *state)
{
	int ranks[STEPS_RANKS_MOST];
	enum ring_buffer buffer = event->entry.result.buffer;
	bool is_output = buffer == RING_OUTPUT || buffer == RING_PEER_OUTPUT ||
			 buffer == RING_ALL_OUTPUTS || buffer == RING_OTHER_OUTPUTS;
	if (!event->incoming || event->count == 0 || event->entry.action == RING_HOLD ||
	    !(state->adds || is_output))
		return;
	int count = steps_ranks_at(walk, event, buffer, ranks);
	size_t begin = event->entry.result.offset / steps_element_bytes(&walk->choice);
	for (int k = 0; k < count; k++)
		for (size_t i = 0; i < event->count; i++)
			put(state, ranks[k], begin + i, walk->values[event->begin + i]);
}

void steps_state_apply(const struct steps_walk *walk, int step, struct steps_state *state)
{
	memset(state->changed, 0, (size_t)walk->choice.ranks * state->width);
	for (size_t e = walk->steps[step].begin; e < walk->steps[step].end; e++)
		apply(walk, &walk->events[e], state);
}

bool steps_state_is_equal(const struct steps_walk *walk, const struct steps_state *state)
{
	for (int rank = 1; rank < walk->choice.ranks; rank++)
		if (memcmp(state->at, &state->at[(size_t)rank * state->width],
			   state->width * sizeof(*state->at)) != 0)
			return false;
	return true;
}

const char *steps_state_column_name(const struct steps_state *state, int column, char *text)
{
	if (state->adds)
		return steps_cell_name(column, false, text);
	sprintf(text, "[%zu]", state->column[column]);
	return text;
}
