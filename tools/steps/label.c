/* SPDX-License-Identifier: MIT */
/* Cuts the ranks' elements into cells, and gives them names and numbers. */
#include "label.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ringccl.h"

#define CELLS_SHOWN 4 /* of an event */
#define TERMS_SHOWN 4 /* of a sum */
#define DIGITS_RANKS 9

/* ---- cells --------------------------------------------------------------------------------- */

static size_t longest_input(const struct steps_choice *choice)
{
	size_t longest = 0;
	for (int rank = 0; rank < choice->ranks; rank++)
		if (steps_input_length(choice, rank) > longest)
			longest = steps_input_length(choice, rank);
	return longest;
}

static bool follows(struct steps_value before, struct steps_value behind)
{
	return behind.index == before.index + 1 && behind.first == before.first &&
	       behind.length == before.length;
}

/*
 * A cell begins where the values of an event begin, where they are not consecutive, and after their
 * end.
 */
static void cut(const struct steps_walk *walk, bool *begins)
{
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		const struct steps_value *values = &walk->values[event->begin];
		for (size_t i = 0; i < event->count; i++) {
			if (i > 0 && follows(values[i - 1], values[i]))
				continue;
			begins[values[i].index] = true;
			if (i > 0)
				begins[values[i - 1].index + 1] = true;
		}
		if (event->count > 0)
			begins[values[event->count - 1].index + 1] = true;
	}
}

int steps_cells_make(const struct steps_walk *walk, struct steps_cells *cells)
{
	size_t length = longest_input(&walk->choice);
	struct steps_cells made = {.length = length};
	bool *begins = calloc(length + 1, sizeof(*begins));
	made.of = calloc(length + 1, sizeof(*made.of));
	made.begin = calloc(length + 1, sizeof(*made.begin));
	if (!begins || !made.of || !made.begin) {
		free(begins);
		steps_cells_free(&made);
		return RING_ENOMEM;
	}
	cut(walk, begins);
	for (size_t i = 0; i < length; i++) {
		if (i == 0 || begins[i])
			made.begin[made.count++] = i;
		made.of[i] = made.count - 1;
	}
	free(begins);
	*cells = made;
	return 0;
}

void steps_cells_free(struct steps_cells *cells)
{
	free(cells->of);
	free(cells->begin);
	*cells = (struct steps_cells){0};
}

/* ---- names --------------------------------------------------------------------------------- */

const char *steps_cell_name(int cell, bool whole, char *text)
{
	char letters[16];
	int count = 0;
	for (; cell >= 0; cell = cell / 26 - 1)
		letters[count++] = (char)((whole ? 'A' : 'a') + cell % 26);
	for (int i = 0; i < count; i++)
		text[i] = letters[count - 1 - i];
	text[count] = 0;
	return text;
}

static bool is_whole(const struct steps_walk *walk, struct steps_value value)
{
	return value.length > 1 && value.length == walk->choice.ranks;
}

const char *steps_value_name(const struct steps_walk *walk, const struct steps_cells *cells,
			     struct steps_value value, bool terms, char *text)
{
	char cell[16];
	if (value.length == 0)
		return strcpy(text, ".");
	bool whole = is_whole(walk, value) && !terms;
	steps_cell_name(cells->of[value.index], whole, whole ? text : cell);
	if (whole)
		return text;
	int have = 0, n = walk->choice.ranks;
	for (int k = 0; k < value.length; k++) {
		bool shown = k == 0 || k == value.length - 1 || value.length <= TERMS_SHOWN;
		if (shown)
			have += sprintf(text + have, "%s%s%d", k > 0 ? "+" : "", cell,
					walk->choice.order[(value.first + k) % n]);
		else if (k == 1)
			have += sprintf(text + have, "+..");
	}
	return text;
}

static uint64_t own_number(int ranks, int rank, int cell)
{
	uint64_t number = (uint64_t)cell + 1;
	if (ranks > DIGITS_RANKS)
		return number * ((uint64_t)rank + 1);
	while (rank-- > 0)
		number *= 10;
	return number;
}

uint64_t steps_value_number(const struct steps_walk *walk, const struct steps_cells *cells,
			    struct steps_value value)
{
	int n = walk->choice.ranks;
	uint64_t sum = 0;
	for (int k = 0; k < value.length; k++)
		sum += own_number(n, walk->choice.order[(value.first + k) % n],
				  cells->of[value.index]);
	return sum;
}

/*
 * Finds the values of an event at which a cell begins; if they are too many, the first ones and the
 * last.
 */
static int find_shown(const struct steps_cells *cells, const struct steps_value *values,
		      size_t count, struct steps_value shown[CELLS_SHOWN], int *found)
{
	int cell_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && cells->of[values[i].index] == cells->of[values[i - 1].index] &&
		    follows(values[i - 1], values[i]))
			continue;
		shown[cell_count < CELLS_SHOWN ? cell_count : CELLS_SHOWN - 1] = values[i];
		cell_count++;
	}
	*found = cell_count;
	return cell_count < CELLS_SHOWN ? cell_count : CELLS_SHOWN;
}

const char *steps_event_name(const struct steps_walk *walk, const struct steps_cells *cells,
			     const struct steps_event *event, bool numbers, char *text)
{
	struct steps_value shown[CELLS_SHOWN];
	int found, have = 0;
	int count = find_shown(cells, &walk->values[event->begin], event->count, shown, &found);
	for (int k = 0; k < count; k++) {
		bool skips = k == CELLS_SHOWN - 1 && found > CELLS_SHOWN;
		have += sprintf(text + have, "%s%s", k > 0 ? " " : "", skips ? ".. " : "");
		steps_value_name(walk, cells, shown[k], false, text + have);
		have += (int)strlen(text + have);
		if (numbers)
			have += sprintf(text + have, "=%" PRIu64,
					steps_value_number(walk, cells, shown[k]));
	}
	return text;
}
