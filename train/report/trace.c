/* SPDX-License-Identifier: MIT */
/*
 * Events are kept in memory, as writing them would change them; rank 0 gathers them at the end.
 */
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/json.h"
#include "tools/whole_file.h"

void train_trace_add(struct train_trace *trace, const struct train_event *event)
{
	if (!trace->on || trace->full)
		return;
	if (trace->count == trace->room) {
		size_t room = trace->room ? 2 * trace->room : 1024;
		struct train_event *more = realloc(trace->events, room * sizeof(*more));
		if (!more) {
			trace->full = true;
			return;
		}
		trace->events = more;
		trace->room = room;
	}
	trace->events[trace->count++] = *event;
}

void train_trace_free(struct train_trace *trace)
{
	free(trace->events);
	*trace = (struct train_trace){0};
}

/* The events of all ranks, in the order of ranks, on rank 0's clock. */
struct collection {
	const struct train_event *events;
	const size_t *counts; /* [ranks] */
	int ranks;
	double origin; /* seconds: the earliest begin */
};

static void write_name(struct json *json, const char *kind, int rank, int row, const char *name)
{
	json_open(json, NULL, '{');
	json_put_string(json, "ph", "M");
	json_put_string(json, "name", kind);
	json_put_signed(json, "pid", rank);
	json_put_signed(json, "tid", row);
	json_open(json, "args", '{');
	json_put_string(json, "name", name);
	json_close(json, '}');
	json_close(json, '}');
}

static void write_names(struct json *json, int rank)
{
	static const char *const rows[] = {"cpu", "compute", "communication"};
	char name[32];
	snprintf(name, sizeof(name), "rank %d", rank);
	write_name(json, "process_name", rank, 0, name);
	for (int row = 0; row < 3; row++)
		write_name(json, "thread_name", rank, row, rows[row]);
}

/* Nanoseconds on rank 0's clock, after the beginning of the trace. */
static uint64_t ns_of(double seconds, double origin)
{
	return (uint64_t)llround((seconds - origin) * 1e9);
}

static void write_event(struct json *json, int rank, const struct train_event *event, double origin)
{
	uint64_t begin = ns_of(event->begin, origin), end = ns_of(event->end, origin);
	json_open(json, NULL, '{');
	json_put_string(json, "ph", "X");
	json_put_string(json, "name", event->name);
	json_put_signed(json, "pid", rank);
	json_put_signed(json, "tid", (int64_t)event->row);
	json_put_us(json, "ts", begin);
	json_put_us(json, "dur", end - begin);
	json_open(json, "args", '{');
	json_put_integer(json, "step", event->step);
	if (event->bucket >= 0)
		json_put_signed(json, "bucket", event->bucket);
	if (event->bytes > 0) {
		json_put_integer(json, "bytes", event->bytes);
		json_put_string(json, "does", "average");
	}
	json_close(json, '}');
	json_close(json, '}');
}

static void write_collection(void *context, FILE *out)
{
	const struct collection *all = context;
	struct json json = {.out = out, .one_line = true};
	json_open(&json, NULL, '{');
	json_put_string(&json, "displayTimeUnit", "ms");
	json_open(&json, "traceEvents", '[');
	const struct train_event *event = all->events;
	for (int rank = 0; rank < all->ranks; rank++) {
		write_names(&json, rank);
		for (size_t i = 0; i < all->counts[rank]; i++)
			write_event(&json, rank, event++, all->origin);
	}
	json_close(&json, ']');
	json_close(&json, '}');
}

static bool write_file(struct collection *all, const char *path)
{
	size_t total = 0;
	for (int rank = 0; rank < all->ranks; rank++)
		total += all->counts[rank];
	for (size_t i = 0; i < total; i++) {
		if (i == 0 || all->events[i].begin < all->origin)
			all->origin = all->events[i].begin;
	}
	return whole_file_write("ring_train", path, write_collection, all);
}

/* From this rank's clock to rank 0's. */
static void shift(const struct train_trace *trace, const struct train_team *team)
{
	for (size_t i = 0; i < trace->count; i++) {
		trace->events[i].begin += team->behind;
		trace->events[i].end += team->behind;
	}
}

void train_trace_write_own(const struct train_trace *trace, const struct train_team *team,
			   const char *path)
{
	size_t *counts = calloc((size_t)team->size, sizeof(*counts));
	if (!counts)
		return;
	counts[team->rank] = trace->count;
	shift(trace, team);
	struct collection all = {.events = trace->events, .counts = counts, .ranks = team->size};
	write_file(&all, path);
	free(counts);
}

int train_trace_write(const struct train_trace *trace, struct train_team *team, const char *path,
		      bool *lost)
{
	shift(trace, team);
	void *events;
	size_t *counts;
	int err = train_team_gather(team, trace->events, trace->count, sizeof(*trace->events),
				    &events, &counts);
	if (err || team->rank != 0)
		return err;
	if (trace->full)
		fputs("ring_train: out of memory: the trace ends before the run does\n", stderr);
	struct collection all = {.events = events, .counts = counts, .ranks = team->size};
	if (!write_file(&all, path))
		*lost = true;
	free(events);
	free(counts);
	return 0;
}
