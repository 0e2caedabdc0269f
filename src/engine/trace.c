/* SPDX-License-Identifier: MIT */
/*
 * Collects trace records in memory and writes them as a Chrome trace: one process per rank, one
 * thread per channel and counter, a slice from start to completion of every entry.
 */
#include "trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/output.h"
#include "plan/plan.h"
#include "plan/record.h"

#define RECORDS_MAX 1000000
#define PATH_BYTES 512

struct ring_trace {
	int rank;
	char path[PATH_BYTES];
	struct ring_trace_record *records;
	size_t count, room;
	uint64_t dropped;
	char (*tags)[RING_TAG_BYTES]; /* tag k is tags[k - 1] */
	uint32_t tag_count, tag_room;
};

/* The files of this process's traces so far: none replaces another. */
struct taken {
	struct taken *next;
	char path[PATH_BYTES];
};

static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static struct taken *taken;

/* ---- where it goes ------------------------------------------------------------------------ */

/* Copies path with every %r replaced by the rank. returns false if it does not fit */
static bool expand(const char *path, int rank, char out[PATH_BYTES])
{
	size_t have = 0;
	for (; *path; path++) {
		bool marker = path[0] == '%' && path[1] == 'r';
		size_t room = PATH_BYTES - have;
		int wrote = marker ? snprintf(out + have, room, "%d", rank)
				   : snprintf(out + have, room, "%c", *path);
		have += (size_t)wrote;
		if (have + 1 >= PATH_BYTES)
			return false;
		path += marker;
	}
	out[have] = '\0';
	return true;
}

/* "a/b.json" becomes "a/b.2.json". returns false if it does not fit */
static bool insert_number(char path[PATH_BYTES], char separator, int number)
{
	char text[16];
	char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	char *suffix = strrchr(name, '.');
	if (!suffix || suffix == name)
		suffix = name + strlen(name);
	size_t length = (size_t)snprintf(text, sizeof(text), "%c%d", separator, number);
	if (strlen(path) + length >= PATH_BYTES)
		return false;
	memmove(suffix + length, suffix, strlen(suffix) + 1);
	memcpy(suffix, text, length);
	return true;
}

static bool is_taken(const char *path)
{
	const struct taken *at = taken;
	while (at && strcmp(at->path, path) != 0)
		at = at->next;
	return at != NULL;
}

/* Makes it another path than those of earlier traces. returns 0; RING_EINVAL; RING_ENOMEM */
static int take(char path[PATH_BYTES])
{
	char first[PATH_BYTES];
	struct taken *made = calloc(1, sizeof(*made));
	if (!made)
		return RING_ENOMEM;
	strcpy(first, path);
	bool fits = true;
	pthread_mutex_lock(&taking);
	for (int number = 2; fits && is_taken(path); number++) {
		strcpy(path, first);
		fits = insert_number(path, '-', number);
	}
	strcpy(made->path, path);
	made->next = taken;
	taken = made;
	pthread_mutex_unlock(&taking);
	return fits ? 0 : RING_EINVAL;
}

/* A file of its own for each trace; devices and the like are everybody's. */
static int choose_path(const char *path, int rank, int size, char chosen[PATH_BYTES])
{
	if (!expand(path, rank, chosen))
		return RING_EINVAL;
	if (ring_output_is_shared(chosen))
		return 0;
	if (size > 1 && !strstr(path, "%r") && !insert_number(chosen, '.', rank))
		return RING_EINVAL;
	return take(chosen);
}

/* A program finds the failure as one that belongs to no communicator. */
static void complain(const struct ring_trace *trace, const char *how)
{
	struct ring_failure failure = {0};
	ring_fail(&failure, RING_ESYSTEM, "rank %d: %s: %s: %m", trace->rank, how, trace->path);
	ring_log(RING_LOUD, "%s", failure.text);
	ring_failure_remember(&failure);
}

int ring_trace_open(struct ring_trace **trace, const char *path, int rank, int size,
		    struct ring_failure *failure)
{
	struct ring_trace *made = calloc(1, sizeof(*made));
	int err = made ? choose_path(path, rank, size, made->path) : RING_ENOMEM;
	if (err) {
		free(made);
		return ring_fail(failure, err, "rank %d: %s", rank,
				 err == RING_EINVAL ? "the trace's path is too long"
						    : "no memory for a trace");
	}
	made->rank = rank;
	if (ring_output_check(made->path) < 0) {
		complain(made, "no trace will be written");
		free(made);
		made = NULL;
	}
	*trace = made;
	return 0;
}

/* ---- what it holds ------------------------------------------------------------------------ */

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

uint32_t ring_trace_tag(struct ring_trace *trace, const char *tag)
{
	if (!*tag)
		return 0;
	if (trace->tag_count > 0 && strcmp(trace->tags[trace->tag_count - 1], tag) == 0)
		return trace->tag_count; /* as the last call's */
	if (trace->tag_count == trace->tag_room) {
		uint32_t room = trace->tag_room ? 2 * trace->tag_room : 64;
		char(*grown)[RING_TAG_BYTES] = NULL;
		if (room <= 2 * RECORDS_MAX)
			grown = realloc(trace->tags, room * sizeof(*grown));
		if (!grown)
			return 0;
		trace->tags = grown;
		trace->tag_room = room;
	}
	strcpy(trace->tags[trace->tag_count], tag);
	return ++trace->tag_count;
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

/* What happens to the bytes of a message as it leaves, or as it arrives. */
static const char *deed_of(const struct ring_trace_record *record)
{
	static const char *const deeds[] = {
		[RING_SEND] = "send", [RING_SIGNAL] = "signal", [RING_COPY] = "copy",
		[RING_HOLD] = "hold", [RING_REDUCE] = "add",    [RING_SCALE] = "scale",
	};
	return deeds[record->action];
}

static void write_tag(FILE *file, const char *tag)
{
	fputs(",\"tag\":\"", file);
	for (; *tag; tag++)
		fprintf(file, *tag == '"' || *tag == '\\' ? "\\%c" : "%c", *tag);
	fputc('"', file);
}

/* Whose call it is, or how it ended. */
static void write_call(FILE *file, const struct ring_trace *trace,
		       const struct ring_trace_record *record)
{
	if (record->counter == RING_CALLED)
		fprintf(file, ",\"by\":\"%s\"",
			record->channel == RING_TRACE_OWN ? "library" : "program");
	if (record->tag > 0)
		write_tag(file, trace->tags[record->tag - 1]);
	if (record->counter == RING_CALLED)
		return;
	if (record->block)
		fprintf(file, ",\"error\":\"%s\"", ring_strerror(record->block));
	else
		fprintf(file, ",\"bytes\":%" PRIu64 ",\"algorithm\":\"%s\"", record->bytes,
			ring_algorithm_name((enum ring_algorithm)record->action));
}

/*
 * A begin or end event. Entries of one name overlap, so they are Chrome's async events, and
 * Perfetto gives each name a row of its own.
 */
static void write_record(FILE *file, const struct ring_trace *trace,
			 const struct ring_trace_record *record)
{
	char name[64];
	bool is_call = record->channel < 0;
	if (is_call)
		snprintf(name, sizeof(name), "%s", ring_kind_name(record->step));
	else
		snprintf(name, sizeof(name), "channel %d %s rank %d", record->channel,
			 row(record) % 2 ? "to" : "from", record->peer);
	fprintf(file,
		",\n{\"name\":\"%s\",\"cat\":\"ring\",\"ph\":\"%c\",\"id\":\"%d.%" PRIu64
		".%" PRIu64 "\",\"ts\":%" PRIu64 ".%03" PRIu64
		",\"pid\":%d,\"tid\":%d,\"args\":{\"call\":%" PRIu64 ",\"%s\":%" PRIu64
		",\"step\":%d",
		name, begins(record) ? 'b' : 'e', row(record), record->call,
		is_call ? 0 : record->index, record->time_ns / 1000, record->time_ns % 1000,
		trace->rank, row(record), record->call, is_call ? "count" : "index", record->index,
		is_call ? -1 : record->step);
	if (is_call)
		write_call(file, trace, record);
	else
		fprintf(file, ",\"does\":\"%s\",\"block\":%d,\"bytes\":%" PRIu64, deed_of(record),
			record->block, record->bytes);
	fputs("}}", file);
}

static void write_content(void *context, FILE *file)
{
	const struct ring_trace *trace = context;
	fprintf(file,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" PRIu64
		"},\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
		"\"args\":{\"name\":\"rank %d\"}}",
		trace->dropped, trace->rank, trace->rank);
	for (size_t i = 0; i < trace->count; i++)
		write_record(file, trace, &trace->records[i]);
	fprintf(file, "\n]}\n");
}

size_t ring_trace_memory(const struct ring_trace *trace)
{
	return trace ? sizeof(*trace) + trace->room * sizeof(*trace->records) +
			       trace->tag_room * sizeof(*trace->tags)
		     : 0;
}

void ring_trace_close(struct ring_trace *trace)
{
	if (!trace)
		return;
	if (ring_output_write(trace->path, write_content, trace) < 0)
		complain(trace, "the trace is lost");
	free(trace->records);
	free(trace->tags);
	free(trace);
}
