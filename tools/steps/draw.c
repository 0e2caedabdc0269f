/* SPDX-License-Identifier: MIT */
/* Boxes on a circle, arrows between them. */
#include "draw.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "words.h"

#define ROW 18.0   /* of a box, in pixels */
#define LETTER 7.3 /* about the width of a letter */
#define GAP 130.0  /* between neighbours, for arrows and labels */
#define SMALL_GAP 60.0
#define ARROW_LEAST 34.0
#define ARROW_OF_FEW 60.0 /* of up to 6 ranks, whose labels may be long */
#define ACROSS_MOST 3
#define BOX_LEAST 58.0 /* "rank 63" */
#define MARGIN 24.0
#define TITLE 40.0
#define COLUMNS_SHOWN 16
#define LABELS_LONG 8  /* with more, and if arrows cross, labels are short */
#define LABELS_MOST 20 /* with more arrows, labels would hide one another */

struct point {
	double x, y;
};

/* ---- places -------------------------------------------------------------------------------- */

/* Finds the longest name and number that a rank ever has, in letters. */
static void find_widest(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct steps_state *state, int *name, int *number)
{
	char text[STEPS_LABEL], digits[32];
	for (int rank = 0; rank < walk->choice.ranks; rank++)
		for (int c = 0; c < state->columns; c++) {
			struct steps_value value =
				state->at[(size_t)rank * state->width + state->column[c]];
			int length = (int)strlen(steps_value_name(walk, cells, value, false, text));
			*name = length > *name ? length : *name;
			length = snprintf(digits, sizeof(digits), "%" PRIu64,
					  steps_value_number(walk, cells, value));
			*number = length > *number ? length : *number;
		}
}

/* The middle of a rank's box: rank 0 is on top, or of two ranks on the left. */
static struct point place_of(const struct steps_walk *walk, const struct steps_layout *layout,
			     int rank)
{
	int ranks = walk->choice.ranks;
	double turn = 2 * M_PI * rank / ranks - (ranks == 2 ? M_PI : M_PI / 2);
	double middle = TITLE + (layout->height - TITLE) / 2;
	return (struct point){layout->width / 2 + layout->radius * cos(turn),
			      middle + layout->radius * sin(turn)};
}

/* The point where the line from a box's middle to `to` leaves the box. */
static struct point leave_box(const struct steps_layout *layout, struct point from, struct point to)
{
	double x = to.x - from.x, y = to.y - from.y;
	double across = fabs(x) > 0 ? (layout->box_width / 2 + 5) / fabs(x) : INFINITY;
	double along = fabs(y) > 0 ? (layout->box_height / 2 + 5) / fabs(y) : INFINITY;
	double part = fmin(fmin(across, along), 0.5);
	return (struct point){from.x + part * x, from.y + part * y};
}

/* Between neighbours on the ring. */
static double shortest_arrow(const struct steps_walk *walk, const struct steps_layout *layout)
{
	double shortest = INFINITY;
	for (int rank = 0; rank < walk->choice.ranks; rank++) {
		struct point here = place_of(walk, layout, rank);
		struct point next = place_of(walk, layout, (rank + 1) % walk->choice.ranks);
		struct point from = leave_box(layout, here, next),
			     to = leave_box(layout, next, here);
		shortest = fmin(shortest, hypot(to.x - from.x, to.y - from.y));
	}
	return shortest;
}

static void set_box(struct steps_layout *layout, double cell_width, int across)
{
	int rows = (layout->columns + across - 1) / across;
	layout->across = across;
	layout->box_width = fmax(across * cell_width + 8, BOX_LEAST);
	layout->box_height = ROW * (rows + 1) + 6;
}

static void set_radius(const struct steps_walk *walk, struct steps_layout *layout, double radius)
{
	layout->radius = radius;
	layout->width = 2 * (radius + MARGIN) + layout->box_width;
	layout->height = 2 * (radius + MARGIN) + layout->box_height + TITLE;
	if (walk->choice.ranks <= 2)
		layout->height -= 2 * radius;
}

struct steps_layout steps_layout_of(const struct steps_walk *walk, const struct steps_cells *cells,
				    struct steps_state *state, bool small)
{
	struct steps_layout layout = {.columns = state->columns};
	int name = 2, number = 4, ranks = walk->choice.ranks;
	for (int step = 0; step < walk->step_count; step++) {
		steps_state_apply(walk, step, state);
		find_widest(walk, cells, state, &name, &number);
	}
	steps_state_reset(walk, state);
	if (layout.columns > COLUMNS_SHOWN)
		layout.columns = COLUMNS_SHOWN;
	layout.name_width = small ? 0 : name * LETTER + 14;
	set_box(&layout, layout.name_width + number * LETTER + 6, 1);
	for (int across = 2; small && across <= ACROSS_MOST; across++) {
		struct steps_layout other = layout;
		set_box(&other, number * LETTER + 6, across);
		if (hypot(other.box_width, other.box_height) <
		    hypot(layout.box_width, layout.box_height))
			layout = other;
	}
	double apart = hypot(layout.box_width, layout.box_height) * 0.8 + (small ? SMALL_GAP : GAP);
	set_radius(walk, &layout, ranks > 1 ? apart / 2 / sin(M_PI / ranks) : 0);
	while (ranks > 2 && shortest_arrow(walk, &layout) < (ranks > 6 ? ARROW_LEAST : ARROW_OF_FEW))
		set_radius(walk, &layout, layout.radius * 1.03);
	return layout;
}

/* ---- ranks --------------------------------------------------------------------------------- */

/*
 * Each piece has a colour, in calls that add nothing each rank; complete sums are dark, inputs are
 * pale.
 */
static void put_colour(const struct steps_walk *walk, const struct steps_state *state,
		       struct steps_value value, int column, char *colour, size_t room)
{
	int ranks = walk->choice.ranks;
	int hue = state->adds ? column * 360 / (state->columns ? state->columns : 1)
			      : value.first * 360 / ranks;
	int light = state->adds && ranks > 1 ? 94 - 22 * (value.length - 1) / (ranks - 1) : 84;
	if (value.length == 0)
		snprintf(colour, room, "none");
	else
		snprintf(colour, room, "hsl(%d,70%%,%d%%)", hue, light);
}

static void draw_cell(const struct steps_walk *walk, const struct steps_cells *cells,
		      const struct steps_state *state, const struct steps_layout *layout,
		      struct point corner, int rank, int column, FILE *out)
{
	char name[STEPS_LABEL], colour[32];
	size_t i = (size_t)rank * state->width + state->column[column];
	struct steps_value value = state->at[i];
	int rows = (layout->columns + layout->across - 1) / layout->across;
	double y = corner.y + ROW * (column % rows + 1);
	double width = (layout->box_width - 8) / layout->across;
	double x = corner.x + 4 + width * (column / rows);
	put_colour(walk, state, value, column, colour, sizeof(colour));
	fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>",
		state->changed[i] ? "new" : "cell", x, y + 1, width - (layout->across > 1 ? 2 : 0),
		ROW - 2, colour);
	if (value.length == 0)
		return;
	if (layout->name_width > 0)
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", x + 5, y + 13,
			steps_value_name(walk, cells, value, false, name));
	fprintf(out, "<text class=\"number\" x=\"%.1f\" y=\"%.1f\">%" PRIu64 "</text>\n",
		x + width - 5, y + 13, steps_value_number(walk, cells, value));
}

static void draw_rank(const struct steps_walk *walk, const struct steps_cells *cells,
		      const struct steps_state *state, const struct steps_layout *layout, int rank,
		      FILE *out)
{
	struct point middle = place_of(walk, layout, rank);
	struct point corner = {middle.x - layout->box_width / 2, middle.y - layout->box_height / 2};
	fprintf(out,
		"<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		"rx=\"5\"/>"
		"<text class=\"rank\" x=\"%.1f\" y=\"%.1f\">rank %d</text>\n",
		corner.x, corner.y, layout->box_width, layout->box_height, middle.x, corner.y + 14,
		rank);
	for (int c = 0; c < layout->columns; c++)
		draw_cell(walk, cells, state, layout, corner, rank, c, out);
	if (layout->columns < state->columns)
		fprintf(out, "<text class=\"more\" x=\"%.1f\" y=\"%.1f\">%d more</text>\n", middle.x,
			corner.y + layout->box_height + 13, state->columns - layout->columns);
}

/* ---- arrows -------------------------------------------------------------------------------- */

/* What goes from one rank to another in a step; the label joins all labels by commas. */
struct flow {
	char label[STEPS_LABEL];
	bool data, signal, reached; /* reached: a rank reads or writes the other's memory */
};

struct flows {
	const struct steps_walk *walk;
	const struct steps_cells *cells;
	bool small;
	struct flow at[STEPS_RANKS_MOST][STEPS_RANKS_MOST]; /* [from][to] */
	int count;
};

static void add_flow(struct flows *flows, int from, int to, const char *label, bool reached)
{
	struct flow *flow = &flows->at[from][to];
	size_t have = strlen(flow->label), room = sizeof(flow->label) - have;
	if (from == to)
		return;
	flows->count += !flow->data;
	flow->data = true;
	flow->reached = flow->reached || reached;
	snprintf(flow->label + have, room, "%s%s", !have ? "" : flows->small ? "," : ", ", label);
}

/* What an event moves: "a1+a2 b1+b2", or short "a b". */
static const char *say_moved(const struct flows *flows, const struct steps_event *event, char *label)
{
	const struct steps_value *values = &flows->walk->values[event->begin];
	bool whole = values->length == flows->walk->choice.ranks && values->length > 1;
	if (!flows->small)
		return steps_event_name(flows->walk, flows->cells, event, false, label);
	int first = flows->cells->of[values[0].index];
	int last = flows->cells->of[values[event->count - 1].index];
	steps_cell_name(first, whole, label);
	if (last != first) {
		strcat(label, "..");
		steps_cell_name(last, whole, label + strlen(label));
	}
	return label;
}

/* Adds what an entry reads: for a sum, from each rank its own input; for a copy, all of it. */
static void add_reads(struct flows *flows, const struct steps_event *event)
{
	const struct steps_value *values = &flows->walk->values[event->begin];
	int ranks[STEPS_RANKS_MOST];
	char label[STEPS_LABEL];
	int count = steps_ranks_at(flows->walk, event, event->entry.source.buffer, ranks);
	for (int k = 0; k < count; k++) {
		int position = steps_position(&flows->walk->choice, ranks[k]);
		struct steps_value own = {values->index, (int16_t)position, 1};
		if (event->entry.action == RING_REDUCE && !flows->small)
			steps_value_name(flows->walk, flows->cells, own, false, label);
		else
			say_moved(flows, event, label);
		add_flow(flows, ranks[k], event->rank, label, true);
	}
}

static void add_writes(struct flows *flows, const struct steps_event *event)
{
	int ranks[STEPS_RANKS_MOST];
	char label[STEPS_LABEL];
	int count = steps_ranks_at(flows->walk, event, event->entry.result.buffer, ranks);
	say_moved(flows, event, label);
	for (int k = 0; k < count; k++)
		add_flow(flows, event->rank, ranks[k], label, true);
}

static void find_flows(struct flows *flows, int step)
{
	const struct steps_step *range = &flows->walk->steps[step];
	char label[STEPS_LABEL];
	for (size_t e = range->begin; e < range->end; e++) {
		const struct steps_event *event = &flows->walk->events[e];
		if (event->count == 0 && !event->incoming)
			flows->at[event->rank][event->entry.peer].signal = true;
		if (!steps_event_crosses(event))
			continue;
		if (!event->incoming) {
			say_moved(flows, event, label);
			add_flow(flows, event->rank, event->entry.peer, label, false);
			continue;
		}
		add_reads(flows, event);
		add_writes(flows, event);
	}
}

/* Whether data go past neighbours on the ring, so that arrows cross. */
static bool arrows_cross(const struct flows *flows)
{
	int ranks = flows->walk->choice.ranks;
	for (int from = 0; from < ranks; from++)
		for (int to = 0; to < ranks; to++) {
			int apart = (to - from + ranks) % ranks;
			if (flows->at[from][to].data && apart != 1 && apart != ranks - 1)
				return true;
		}
	return false;
}

static void find_labelled(struct flows *flows, int step)
{
	find_flows(flows, step);
	if (flows->small || flows->count <= LABELS_LONG || !arrows_cross(flows))
		return;
	memset(flows->at, 0, sizeof(flows->at));
	flows->count = 0;
	flows->small = true;
	find_flows(flows, step);
}

/* Finds the ends of an arrow; moves it a little to the left if another one goes the other way. */
static void find_ends(const struct flows *flows, const struct steps_layout *layout, int from,
		      int to, struct point *a, struct point *b)
{
	const struct flow *back = &flows->at[to][from];
	struct point start = place_of(flows->walk, layout, from);
	struct point end = place_of(flows->walk, layout, to);
	*a = leave_box(layout, start, end);
	*b = leave_box(layout, end, start);
	double length = hypot(b->x - a->x, b->y - a->y);
	if (length == 0 || !(back->data || back->signal))
		return;
	struct point aside = {(b->y - a->y) / length * 7, (a->x - b->x) / length * 7};
	*a = (struct point){a->x + aside.x, a->y + aside.y};
	*b = (struct point){b->x + aside.x, b->y + aside.y};
}

static void draw_flow(const struct flows *flows, const struct steps_layout *layout, int from,
		      int to, FILE *out)
{
	const struct flow *flow = &flows->at[from][to];
	const char *kind = !flow->data ? "signal" : flow->reached ? "reach" : "send";
	struct point a, b;
	find_ends(flows, layout, from, to, &a, &b);
	fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind,
		a.x, a.y, b.x, b.y);
}

/* Draws the label in the middle; if arrows cross there, nearer to the sender. */
static void draw_label(const struct flows *flows, const struct steps_layout *layout, int from,
		       int to, FILE *out)
{
	const char *label = flows->at[from][to].label;
	bool is_next = (from + 1) % flows->walk->choice.ranks == to;
	struct point a, b;
	find_ends(flows, layout, from, to, &a, &b);
	double part = is_next && !flows->at[to][from].data ? 0.47 : 0.28;
	double x = a.x + part * (b.x - a.x), y = a.y + part * (b.y - a.y);
	double width = (double)strlen(label) * LETTER + 10;
	/* style: the way back to the sender, for pages in which labels move */
	fprintf(out,
		"<g class=\"label\" style=\"--x:%.1fpx;--y:%.1fpx\">"
		"<rect class=\"label\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\" "
		"rx=\"9\"/>"
		"<text class=\"label\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
		a.x - x, a.y - y, x - width / 2, y - 9, width, x, y + 4, label);
}

static void draw_flows(const struct flows *flows, const struct steps_layout *layout, bool labels,
		       FILE *out)
{
	int ranks = flows->walk->choice.ranks;
	for (int from = 0; from < ranks; from++)
		for (int to = 0; to < ranks; to++) {
			const struct flow *flow = &flows->at[from][to];
			if (labels && flow->data)
				draw_label(flows, layout, from, to, out);
			else if (!labels && (flow->data || flow->signal))
				draw_flow(flows, layout, from, to, out);
		}
}

/* Draws where data go in any step. */
static void draw_paths(const struct flows *flows, const struct steps_layout *layout, FILE *out)
{
	const struct steps_walk *walk = flows->walk;
	static bool drawn[STEPS_RANKS_MOST][STEPS_RANKS_MOST];
	memset(drawn, 0, sizeof(drawn));
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		int from = event->rank, to = event->entry.peer;
		if (event->incoming || from == to || drawn[from][to])
			continue;
		struct point a = place_of(walk, layout, from), b = place_of(walk, layout, to);
		struct point start = leave_box(layout, a, b), end = leave_box(layout, b, a);
		drawn[from][to] = true;
		fprintf(out,
			"<line class=\"path\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			start.x, start.y, end.x, end.y);
	}
}

/* ---- a picture ----------------------------------------------------------------------------- */

void steps_draw_style(FILE *out)
{
	fputs("<style>\n"
	      ".steps text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}\n"
	      ".steps .title{font:600 17px system-ui,sans-serif;text-anchor:middle}\n"
	      ".steps .rank{font:600 13px system-ui,sans-serif;text-anchor:middle}\n"
	      ".steps .more{font:11px system-ui,sans-serif;text-anchor:middle;fill:#777}\n"
	      ".steps .number{text-anchor:end;fill:#444}\n"
	      ".steps .box{fill:#fff;stroke:#888}\n"
	      ".steps .cell{stroke:none}\n"
	      ".steps .new{stroke:#c60;stroke-width:2}\n"
	      ".steps line{stroke:#345;stroke-width:1.6;marker-end:url(#head)}\n"
	      ".steps .path{stroke:#ddd;marker-end:none}\n"
	      ".steps .reach{stroke:#176;stroke-dasharray:6 3}\n"
	      ".steps .signal{stroke:#999;stroke-width:1;stroke-dasharray:2 3}\n"
	      ".steps rect.label{fill:#fffbe8;stroke:#d8c98a}\n"
	      ".steps text.label{text-anchor:middle}\n"
	      "</style>\n",
	      out);
}

void steps_draw(const struct steps_walk *walk, const struct steps_cells *cells,
		const struct steps_state *state, const struct steps_layout *layout, int step,
		FILE *out)
{
	static struct flows flows; /* too large for a stack */
	char title[64];
	const char *phase = walk->steps[step].phase;
	memset(&flows, 0, sizeof(flows));
	flows.walk = walk;
	flows.cells = cells;
	flows.small = layout->name_width == 0;
	find_labelled(&flows, step);
	steps_say_step(walk, step, title, sizeof(title));
	fprintf(out, "<text class=\"title\" x=\"%.1f\" y=\"24\">%s%s%s</text>\n", layout->width / 2,
		title, *phase ? ": " : "", phase);
	draw_paths(&flows, layout, out);
	draw_flows(&flows, layout, false, out);
	for (int rank = 0; rank < walk->choice.ranks; rank++)
		draw_rank(walk, cells, state, layout, rank, out);
	if (flows.count <= LABELS_MOST)
		draw_flows(&flows, layout, true, out);
}
