/* SPDX-License-Identifier: MIT */
/* Reads what src/engine/trace.c writes, line by line, and accepts nothing else. */
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_MOST (1u << 24)

/* Where a line comes from, and the sentence about what is wrong with it. */
struct reading {
	struct steps_trace *trace;
	struct steps_record *ends; /* of entries, to be paired with their beginnings */
	size_t end_count, end_room;
	size_t first; /* record of this file */
	const char *path;
	int line, rank; /* rank: of the records that follow; -1: not known yet */
	bool ended;
	uint64_t dropped;
	char *sentence;
	size_t room;
};

/* One event of the file. */
struct event {
	char name[32], kind, counted[8];
	uint64_t microseconds, call, number, bytes;
	unsigned nanoseconds;
	int rank, row, step;
	bool is_own;
	char algorithm[16], error[64];
};

static bool refuse(struct reading *reading, const char *what)
{
	snprintf(reading->sentence, reading->room, "%s, line %d: %s", reading->path, reading->line,
		 what);
	return false;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_whole(const char *line, int length)
{
	return length > 0 && line[length] == 0;
}

static bool parse_head(struct reading *reading, const char *line)
{
	int length = 0;
	sscanf(line,
	       "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" SCNu64
	       "},\"traceEvents\":[%n",
	       &reading->dropped, &length);
	return is_whole(line, length) || refuse(reading, "this is not a trace of RING_TRACE");
}

/* This line begins the events of a rank; those of other ranks may follow them. */
static const char head_of_name[] = "{\"name\":\"process_name\"";

static void see_rank(struct steps_trace *trace, int rank)
{
	trace->ranks = rank >= trace->ranks ? rank + 1 : trace->ranks;
}

static bool parse_name(struct reading *reading, const char *line)
{
	int rank = -1, again = -1, length = 0;
	struct steps_trace *trace = reading->trace;
	sscanf(line, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}%n",
	       &rank, &again, &length);
	if (!is_whole(line, length) || rank != again)
		return refuse(reading, "this does not tell whose trace it is");
	if (rank < 0 || rank >= STEPS_RANKS_MOST)
		return refuse(reading, "ranks of 0 to 63 can be shown");
	if (trace->here[rank])
		return refuse(reading, "the trace of this rank is there twice");
	reading->rank = rank;
	trace->here[rank] = true;
	see_rank(trace, rank);
	return true;
}

/* Whose call it is; at its end, what it was, or why it failed. */
static bool scan_call(const char *end, struct event *event)
{
	int length = 0;
	event->is_own = strcmp(end, ",\"by\":\"library\"}}") == 0;
	if (event->kind == 'b')
		return event->is_own || strcmp(end, ",\"by\":\"program\"}}") == 0;
	sscanf(end, ",\"error\":\"%63[a-z ]\"}}%n", event->error, &length);
	if (is_whole(end, length))
		return true;
	event->error[0] = '\0';
	sscanf(end, ",\"bytes\":%" SCNu64 ",\"algorithm\":\"%15[a-z]\"}}%n", &event->bytes,
	       event->algorithm, &length);
	return is_whole(end, length);
}

/* Reads the end of a line, from its arguments on. */
static bool scan_end(const char *end, struct event *event)
{
	char deed[8];
	int block, length = 0;
	if (event->row == 0)
		return scan_call(end, event);
	sscanf(end, ",\"does\":\"%7[a-z]\",\"block\":%d,\"bytes\":%" SCNu64 "}}%n", deed, &block,
	       &event->bytes, &length);
	return is_whole(end, length) && block >= -1 && block < STEPS_RANKS_MOST;
}

static bool scan_event(const char *line, struct event *event)
{
	int row = -1, length = 0;
	uint64_t call, index;
	sscanf(line,
	       "{\"name\":\"%31[a-z_0-9 ]\",\"cat\":\"ring\",\"ph\":\"%c\",\"id\":\"%d.%" SCNu64
	       ".%" SCNu64 "\",\"ts\":%" SCNu64
	       ".%3u,\"pid\":%d,\"tid\":%d,\"args\":{\"call\":%" SCNu64 ",\"%7[a-z]\":%" SCNu64
	       ",\"step\":%d%n",
	       event->name, &event->kind, &row, &call, &index, &event->microseconds,
	       &event->nanoseconds, &event->rank, &event->row, &event->call, event->counted,
	       &event->number, &event->step, &length);
	return length > 0 && scan_end(line + length, event) && row == event->row &&
	       call == event->call && (row == 0 || index == event->number) &&
	       (event->kind == 'b' || event->kind == 'e');
}

static void *add(void **array, size_t size, size_t *count, size_t *room)
{
	if (*count == *room) {
		size_t more = 2 * *room + 256;
		void *grown = realloc(*array, more * size);
		if (!grown)
			return NULL;
		*array = grown;
		*room = more;
	}
	return (char *)*array + size * (*count)++;
}

static uint64_t time_of(const struct event *event)
{
	return event->microseconds * 1000 + event->nanoseconds;
}

/* A rank makes one call after the other. */
static bool end_call(struct reading *reading, const struct event *event)
{
	struct steps_trace *trace = reading->trace;
	struct steps_call *call = trace->call_count ? &trace->calls[trace->call_count - 1] : NULL;
	if (!call || call->rank != event->rank || call->number != event->call || call->end_ns)
		return refuse(reading, "this call ends, but never began");
	call->end_ns = time_of(event);
	call->bytes = event->bytes;
	memcpy(call->algorithm, event->algorithm, sizeof(call->algorithm));
	memcpy(call->error, event->error, sizeof(call->error));
	return true;
}

static bool add_call(struct reading *reading, const struct event *event)
{
	struct steps_trace *trace = reading->trace;
	if (strcmp(event->counted, "count") != 0)
		return refuse(reading, "a call tells its count");
	if (event->kind == 'e')
		return end_call(reading, event);
	struct steps_call *call = add((void **)&trace->calls, sizeof(*trace->calls),
				      &trace->call_count, &trace->call_room);
	if (!call)
		return refuse(reading, "out of memory");
	int kind = steps_kind_find(event->name);
	*call = (struct steps_call){.number = event->call,
				    .count = event->number,
				    .begin_ns = time_of(event),
				    .rank = event->rank,
				    .kind = kind < RING_KIND_SEND
						    ? kind
						    : -1, /* counts of parts are not told */
				    .is_own = event->is_own};
	return true;
}

static struct steps_record record_of(const struct reading *reading, const struct event *event,
				     int peer, int channel)
{
	return (struct steps_record){.call = event->call,
				     .index = event->number,
				     .bytes = event->bytes,
				     .rank = event->rank,
				     .channel = channel,
				     .peer = peer,
				     .step = event->step,
				     .incoming = event->row % 2 == 0,
				     .line = reading->line,
				     .begin_ns = time_of(event)};
}

static struct steps_record *add_entry(struct reading *reading, char kind)
{
	struct steps_trace *trace = reading->trace;
	if (kind == 'e')
		return add((void **)&reading->ends, sizeof(*reading->ends), &reading->end_count,
			   &reading->end_room);
	return add((void **)&trace->records, sizeof(*trace->records), &trace->record_count,
		   &trace->record_room);
}

static bool add_record(struct reading *reading, const struct event *event)
{
	int peer = -1, channel = -1, length = 0;
	bool incoming = event->row % 2 == 0;
	sscanf(event->name, incoming ? "channel %d from rank %d%n" : "channel %d to rank %d%n",
	       &channel, &peer, &length);
	if (!is_whole(event->name, length) || channel != (event->row - 1) / 2 ||
	    strcmp(event->counted, "index") != 0)
		return refuse(reading, "an entry tells its peer and index");
	if (peer < 0 || peer >= STEPS_RANKS_MOST || event->number >= INDEX_MOST)
		return refuse(reading, "there is no such rank or entry");
	struct steps_record *record = add_entry(reading, event->kind);
	if (!record)
		return refuse(reading, "out of memory");
	*record = record_of(reading, event, peer, channel);
	see_rank(reading->trace, peer);
	return true;
}

/* ---- beginnings and ends --------------------------------------------------------------------- */

int steps_record_compare(const void *left, const void *right)
{
	const struct steps_record *a = left, *b = right;
	if (a->call != b->call)
		return a->call < b->call ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (a->channel != b->channel)
		return a->channel - b->channel;
	if (a->incoming != b->incoming)
		return a->incoming - b->incoming;
	return (a->index > b->index) - (a->index < b->index);
}

static int compare_lines(const void *left, const void *right)
{
	const struct steps_record *a = left, *b = right;
	int entries = steps_record_compare(a, b);
	return entries ? entries : a->line - b->line;
}

void steps_records_sort(struct steps_record *records, size_t count)
{
	if (count > 0)
		qsort(records, count, sizeof(*records), compare_lines);
}

/*
 * Gives entries their ends. Two plans of one call may have entries of the same number; then the
 * first that began is the first that ended.
 */
static bool pair_ends(struct reading *reading)
{
	struct steps_trace *trace = reading->trace;
	size_t r = reading->first;
	steps_records_sort(trace->records + r, trace->record_count - r);
	steps_records_sort(reading->ends, reading->end_count);
	for (size_t e = 0; e < reading->end_count; e++) {
		const struct steps_record *end = &reading->ends[e];
		while (r < trace->record_count && steps_record_compare(&trace->records[r], end) < 0)
			r++;
		struct steps_record *record = &trace->records[r];
		if (r == trace->record_count || steps_record_compare(record, end) != 0 ||
		    record->line > end->line) {
			reading->line = end->line;
			return refuse(reading, "this entry ends, but never began");
		}
		record->end_ns = end->begin_ns;
		r++;
	}
	return true;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static bool parse_event(struct reading *reading, const char *line)
{
	struct event event = {0};
	if (!scan_event(line, &event) || event.row < 0)
		return refuse(reading, "this is not a record of a trace");
	if (event.rank != reading->rank)
		return refuse(reading, "this record is of another rank than those before it");
	return event.row == 0 ? add_call(reading, &event) : add_record(reading, &event);
}

/* All lines except the first and the last end with a comma. */
static bool parse_line(struct reading *reading, char *line, ssize_t length)
{
	if (length > 0 && line[length - 1] == '\n')
		line[--length] = 0;
	if (reading->ended)
		return refuse(reading, "there is something after the end of the trace");
	if (reading->line == 1)
		return parse_head(reading, line);
	if (strcmp(line, "]}") == 0) {
		reading->ended = true;
		return true;
	}
	if (length > 0 && line[length - 1] == ',')
		line[--length] = 0;
	bool names = strncmp(line, head_of_name, strlen(head_of_name)) == 0;
	return names || reading->rank < 0 ? parse_name(reading, line) : parse_event(reading, line);
}

static bool read_lines(struct reading *reading, FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	bool good = true;
	while (good && (length = getline(&line, &room, in)) >= 0) {
		reading->line++;
		good = parse_line(reading, line, length);
	}
	free(line);
	if (good)
		reading->line++;
	if (good && !reading->ended)
		return refuse(reading, "the trace ends in the middle");
	if (good && reading->dropped > 0)
		return refuse(reading, "records are missing: the call went on for too long");
	return good;
}

bool steps_trace_read(FILE *in, const char *path, struct steps_trace *trace, char *sentence,
		      size_t room)
{
	struct reading reading = {.trace = trace,
				  .path = path,
				  .first = trace->record_count,
				  .rank = -1,
				  .sentence = sentence,
				  .room = room};
	bool good = read_lines(&reading, in) && pair_ends(&reading);
	free(reading.ends);
	return good;
}

void steps_trace_free(struct steps_trace *trace)
{
	free(trace->records);
	free(trace->calls);
	*trace = (struct steps_trace){0};
}
