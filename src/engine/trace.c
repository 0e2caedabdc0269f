/* SPDX-License-Identifier: MIT */
/*
 * Collects trace records in memory and writes them as a Chrome trace: one process per rank, one
 * thread per channel and counter, a slice from start to completion of every entry.
 */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "plan/plan.h"
#include "plan/record.h"

#define RECORDS_MAX 1000000

struct ring_trace {
	int rank;
	char path[512];
	struct ring_trace_record *records;
	size_t count, room;
	uint64_t dropped;
};

/* Copies path with every %r replaced by the rank. returns false if it does not fit */
static bool expand(const char *path, int rank, char *out, size_t room)
{
	size_t have = 0;
	for (; *path; path++) {
		bool marker = path[0] == '%' && path[1] == 'r';
		int wrote = marker ? snprintf(out + have, room - have, "%d", rank)
				   : snprintf(out + have, room - have, "%c", *path);
		have += (size_t)wrote;
		if (have + 1 >= room)
			return false;
		path += marker;
	}
	return true;
}

int ring_trace_open(struct ring_trace **trace, const char *path, int rank,
		    struct ring_failure *failure)
{
	struct ring_trace *made = calloc(1, sizeof(*made));
	if (!made)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory for a trace", rank);
	made->rank = rank;
	if (!expand(path, rank, made->path, sizeof(made->path) - sizeof(".part"))) {
		free(made);
		return ring_fail(failure, RING_EINVAL, "rank %d: the trace's path is too long",
				 rank);
	}
	*trace = made;
	return 0;
}

void ring_trace_add(struct ring_trace *trace, const struct ring_trace_record *record)
{
	if (trace->count == trace->room) {
		size_t room = trace->room ? 2 * trace->room : 4096;
		struct ring_trace_record *grown = NULL;
		if (room <= 2 * RECORDS_MAX)
			grown = realloc(trace->records, room * sizeof(*grown));
		if (!grown) {
			trace->dropped++;
			return;
		}
		trace->records = grown;
		trace->room = room;
	}
	trace->records[trace->count++] = *record;
}

static bool begins(const struct ring_trace_record *record)
{
	return record->counter == RING_POSTED || record->counter == RING_STARTED ||
	       record->counter == RING_CALLED;
}

/* Rows of the picture: 0 the calls, then two per channel, sends above reductions. */
static int row(const struct ring_trace_record *record)
{
	bool sending = record->counter == RING_POSTED || record->counter == RING_SENT;
	return record->channel < 0 ? 0 : 1 + 2 * record->channel + !sending;
}

/* A begin or end event. Slices of a row overlap, so they are Chrome's async events. */
static void write_record(FILE *file, const struct ring_trace *trace,
			 const struct ring_trace_record *record)
{
	char name[64];
	if (record->channel < 0)
		snprintf(name, sizeof(name), "%s", ring_kind_name(record->step));
	else
		snprintf(name, sizeof(name), "%s rank %d", row(record) % 2 ? "to" : "from",
			 record->peer);
	fprintf(file,
		",\n{\"name\":\"%s\",\"cat\":\"ring\",\"ph\":\"%c\",\"id\":\"%d.%" PRIu64
		".%" PRIu64 "\",\"ts\":%" PRIu64 ".%03" PRIu64
		",\"pid\":%d,\"tid\":%d,\"args\":{\"call\":%" PRIu64 ",\"%s\":%" PRIu64
		",\"step\":%d}}",
		name, begins(record) ? 'b' : 'e', row(record), record->call,
		record->channel < 0 ? 0 : record->index, record->time_ns / 1000,
		record->time_ns % 1000, trace->rank, row(record), record->call,
		record->channel < 0 ? "count" : "index", record->index,
		record->channel < 0 ? -1 : record->step);
}

static bool write_all(FILE *file, const struct ring_trace *trace)
{
	fprintf(file,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" PRIu64
		"},\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
		"\"args\":{\"name\":\"rank %d\"}}",
		trace->dropped, trace->rank, trace->rank);
	for (size_t i = 0; i < trace->count; i++)
		write_record(file, trace, &trace->records[i]);
	fprintf(file, "\n]}\n");
	return !ferror(file);
}

/* Written beside and renamed, so that a reader finds the whole file or none. */
static void write_file(const struct ring_trace *trace)
{
	char part[sizeof(trace->path) + 8];
	snprintf(part, sizeof(part), "%s.part", trace->path);
	FILE *file = fopen(part, "we");
	bool written = file && write_all(file, trace);
	if (file && fclose(file))
		written = false;
	if (written && rename(part, trace->path) == 0)
		return;
	ring_log(RING_WARN, "rank %d: writing the trace to %s: %m", trace->rank, trace->path);
	unlink(part);
}

size_t ring_trace_memory(const struct ring_trace *trace)
{
	return trace ? sizeof(*trace) + trace->room * sizeof(*trace->records) : 0;
}

void ring_trace_close(struct ring_trace *trace)
{
	if (!trace)
		return;
	write_file(trace);
	free(trace->records);
	free(trace);
}
