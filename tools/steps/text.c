/* SPDX-License-Identifier: MIT */
/* Tables for terminals. */
#include "text.h"

#include <inttypes.h>
#include <string.h>

#include "table.h"
#include "words.h"

#define PAGE 100 /* columns of text */
#define SAID 1024

/* Prints words, wrapped at PAGE. */
static void print_words(FILE *out, const char *text)
{
	int at = 0;
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (at > 0 && at + 1 + length > PAGE)
			at = fprintf(out, "\n") - 1;
		at += fprintf(out, "%s%.*s", at > 0 ? " " : "", length, text);
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}

static void print_head(const struct steps_walk *walk, const struct steps_cells *cells, bool numbers,
		       FILE *out)
{
	char text[SAID];
	steps_say_title(walk, text, sizeof(text));
	print_words(out, text);
	print_words(out, steps_say_how(&walk->choice));
	steps_say_names(walk, cells, numbers, text, sizeof(text));
	print_words(out, text);
	fputc('\n', out);
}

/* ---- overview -------------------------------------------------------------------------------- */

/* The only peer that a rank sends to; -1: several, or none. */
static int only_peer(const struct steps_walk *walk, int rank)
{
	int peer = -1;
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		if (event->rank != rank || !steps_event_crosses(event))
			continue;
		if (event->incoming || (peer >= 0 && peer != event->entry.peer))
			return -1;
		peer = event->entry.peer;
	}
	return peer;
}

static void put_header(const struct steps_walk *walk, struct steps_table *table)
{
	steps_table_add_row(table);
	for (int rank = 0; rank < walk->choice.ranks; rank++) {
		int peer = only_peer(walk, rank);
		if (peer >= 0)
			steps_table_put(table, 0, 1 + rank, "rank %d -> %d", rank, peer);
		else
			steps_table_put(table, 0, 1 + rank, "rank %d", rank);
	}
}

/*
 * Whether the overview shows an event of a rank: data from rank to rank, or signals if there are no
 * data.
 */
static bool is_shown(const struct steps_walk *walk, const struct steps_event *event, int rank)
{
	bool is_signal = walk->value_count == 0 && !event->incoming;
	return event->rank == rank && (is_signal || steps_event_crosses(event));
}

/*
 * Writes " to 1 2 3" for the events after e that send the same. returns the number after the last
 * of them
 */
static size_t say_receivers(const struct steps_walk *walk, size_t e, size_t end, char *text)
{
	const struct steps_event *first = &walk->events[e];
	int have = sprintf(text, " to");
	do
		have += sprintf(text + have, " %d", walk->events[e++].entry.peer);
	while (e < end && !walk->recorded && steps_sends_alike(walk, first, &walk->events[e]));
	return e;
}

/* Puts what a rank does in a step into the table, one row for each event, from `row` on. */
static void put_rank(const struct steps_walk *walk, const struct steps_cells *cells, int step,
		     int rank, int row, struct steps_table *table)
{
	char what[SAID], to[4 * STEPS_RANKS_MOST], time[32];
	bool names_peer = only_peer(walk, rank) < 0;
	size_t end = walk->steps[step].end;
	for (size_t e = walk->steps[step].begin; e < end;) {
		const struct steps_event *event = &walk->events[e++];
		if (!is_shown(walk, event, rank))
			continue;
		steps_say_event(walk, cells, event, false, what);
		to[0] = 0;
		if (!event->incoming)
			e = say_receivers(walk, e - 1, end, to);
		steps_say_time(event, time);
		if (row == table->rows)
			steps_table_add_row(table);
		steps_table_put(table, row++, 1 + rank, "%s%s%s", what, names_peer ? to : "", time);
	}
}

/* Counts steps of signals alone, before the first numbered step or after it. */
static int count_signals(const struct steps_walk *walk, bool before)
{
	int count = 0;
	bool is_before = true;
	for (int s = 1; s < walk->step_count; s++) {
		bool empty = walk->steps[s].end == walk->steps[s].begin;
		is_before = is_before && walk->steps[s].number < 0;
		count += is_before == before && walk->steps[s].number < 0 && !empty;
	}
	return count;
}

static void print_signals(const struct steps_walk *walk, FILE *out)
{
	int before = count_signals(walk, true), later = count_signals(walk, false);
	if (before > 0)
		fprintf(out, "Before that, in %d step%s, signals tell all ranks that they make the same call.\n",
			before, before > 1 ? "s" : "");
	if (later > 0)
		fprintf(out, "There %s also %d step%s of signals alone.\n",
			later > 1 ? "are" : "is", later, later > 1 ? "s" : "");
}

/* Writes "A B C D", the results of a rank; "" if it has none. */
static void say_results(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct steps_state *state, int rank, char *text, size_t room)
{
	char name[STEPS_LABEL];
	size_t have = 0;
	text[0] = 0;
	for (int c = 0; c < state->columns && have < room; c++) {
		struct steps_value value = state->at[(size_t)rank * state->width + state->column[c]];
		if (value.length == 0 || (state->adds && value.length < walk->choice.ranks))
			continue;
		have += (size_t)snprintf(text + have, room - have, "%s%s", have > 0 ? " " : "",
					 steps_value_name(walk, cells, value, false, name));
	}
}

static void print_results(const struct steps_walk *walk, const struct steps_cells *cells,
			  const struct steps_state *state, FILE *out)
{
	char row[SAID];
	bool alike = walk->choice.ranks > 1 && steps_state_is_equal(walk, state);
	for (int rank = 0; rank < walk->choice.ranks; rank++) {
		say_results(walk, cells, state, rank, row, sizeof(row));
		if (alike && row[0])
			fprintf(out, "In the end every rank has %s\n", row);
		else if (row[0])
			fprintf(out, "In the end rank %d has %s\n", rank, row);
		if (alike)
			return;
	}
}

/* Names the phase beside its first step. returns the phase of this step */
static const char *put_phase(const struct steps_walk *walk, int step, const char *before, int row,
			     struct steps_table *table)
{
	const char *phase = walk->steps[step].phase;
	if (strcmp(phase, before) != 0)
		steps_table_put(table, row, 1 + walk->choice.ranks, "%s", phase);
	return phase;
}

bool steps_text_overview(const struct steps_walk *walk, const struct steps_cells *cells,
			 struct steps_state *state, FILE *out)
{
	struct steps_table table = {.columns = 2 + walk->choice.ranks};
	const char *phase = "";
	char text[SAID];
	print_head(walk, cells, false, out);
	put_header(walk, &table);
	for (int s = 1; s < walk->step_count; s++) {
		if (walk->steps[s].number < 0)
			continue;
		int row = table.rows;
		steps_table_add_row(&table);
		steps_table_put(&table, row, 0, "step %d", walk->steps[s].number);
		phase = put_phase(walk, s, phase, row, &table);
		for (int rank = 0; rank < walk->choice.ranks; rank++)
			put_rank(walk, cells, s, rank, row, &table);
	}
	if (walk->numbered > 0)
		steps_table_print(&table, out);
	bool whole = !table.failed;
	steps_table_free(&table);
	fputc('\n', out);
	for (int s = 0; s < walk->step_count; s++)
		steps_state_apply(walk, s, state);
	print_results(walk, cells, state, out);
	steps_say_bytes(walk, text, sizeof(text));
	print_words(out, text);
	print_signals(walk, out);
	return whole;
}

/* ---- in full --------------------------------------------------------------------------------- */

enum { NAME, OUT, NEEDS, SENDS, IN, GETS, HAS };

static void put_step_header(const struct steps_walk *walk, const struct steps_state *state,
			    int step, struct steps_table *table)
{
	char text[64];
	static const char *const names[HAS] = {"", "out", "needs", "sends", "in", "gets and does"};
	int row = table->rows;
	steps_table_add_row(table);
	steps_say_step(walk, step, text, sizeof(text));
	steps_table_put(table, row, NAME, "%s", text);
	for (int column = OUT; column < HAS; column++)
		steps_table_put(table, row, column, "%s", names[column]);
	for (int c = 0; c < state->columns; c++)
		steps_table_put(table, row, HAS + c, "%s", steps_state_column_name(state, c, text));
}

/* Puts an event into the first free row of its sequence. */
static void put_event(const struct steps_walk *walk, const struct steps_cells *cells,
		      const struct steps_event *event, int row, struct steps_table *table)
{
	char what[SAID], needs[32] = "", time[32];
	steps_say_event(walk, cells, event, true, what);
	steps_say_time(event, time);
	if (event->entry.needs > 0)
		snprintf(needs, sizeof(needs), "%" PRIu64, event->entry.needs);
	if (event->incoming) {
		steps_table_put(table, row, IN, "%" PRIu64 "%s%s", event->index,
				needs[0] ? " needs " : "", needs);
		steps_table_put(table, row, GETS, "%s%s", what, time);
	} else {
		steps_table_put(table, row, OUT, "%" PRIu64, event->index);
		steps_table_put(table, row, NEEDS, "%s", needs);
		steps_table_put(table, row, SENDS, "%s to %d%s", what, event->entry.peer, time);
	}
}

/* Puts what the rank has after the step; new values have a star. */
static void put_has(const struct steps_walk *walk, const struct steps_cells *cells,
		    const struct steps_state *state, int rank, int row, struct steps_table *table)
{
	for (int c = 0; c < state->columns; c++) {
		size_t i = (size_t)rank * state->width + state->column[c];
		if (state->at[i].length == 0)
			steps_table_put(table, row, HAS + c, ".");
		else
			steps_table_put(table, row, HAS + c, "%s%" PRIu64,
					state->changed[i] ? "*" : "",
					steps_value_number(walk, cells, state->at[i]));
	}
}

static void put_full_rank(const struct steps_walk *walk, const struct steps_cells *cells,
			  const struct steps_state *state, int step, int rank,
			  struct steps_table *table)
{
	int first = table->rows, used[2] = {first, first};
	steps_table_add_row(table);
	steps_table_put(table, first, NAME, "rank %d", rank);
	for (size_t e = walk->steps[step].begin; e < walk->steps[step].end; e++) {
		const struct steps_event *event = &walk->events[e];
		if (event->rank != rank)
			continue;
		int row = used[event->incoming]++;
		if (row == table->rows)
			steps_table_add_row(table);
		put_event(walk, cells, event, row, table);
	}
	put_has(walk, cells, state, rank, first, table);
}

bool steps_text_full(const struct steps_walk *walk, const struct steps_cells *cells,
		     struct steps_state *state, FILE *out)
{
	struct steps_table table = {.columns = HAS + state->columns, .right = HAS};
	char text[SAID];
	print_head(walk, cells, true, out);
	for (int s = 0; s < walk->step_count; s++) {
		steps_state_apply(walk, s, state);
		if (walk->steps[s].end == walk->steps[s].begin && s > 0)
			continue;
		put_step_header(walk, state, s, &table);
		for (int rank = 0; rank < walk->choice.ranks; rank++)
			put_full_rank(walk, cells, state, s, rank, &table);
		steps_table_add_row(&table);
	}
	steps_table_print(&table, out);
	bool whole = !table.failed;
	steps_table_free(&table);
	steps_say_bytes(walk, text, sizeof(text));
	print_words(out, text);
	print_words(out,
		    "A rank's plan has two sequences of entries: out sends; in receives, adds and "
		    "copies. An entry runs once as many entries of the other sequence are done as "
		    "it needs. A star marks new values.");
	return whole;
}
