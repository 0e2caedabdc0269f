/* SPDX-License-Identifier: MIT */
/* Which calls were recorded: finds one, says why there is none, and lists them. */
#include "calls.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "table.h"

/* Collectives before others, by number and rank. */
static int compare_calls(const void *left, const void *right)
{
	const struct steps_call *a = left, *b = right;
	if ((a->kind < 0) != (b->kind < 0))
		return a->kind < 0 ? 1 : -1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->rank - b->rank;
}

void steps_calls_sort(struct steps_trace *trace)
{
	if (trace->call_count > 0)
		qsort(trace->calls, trace->call_count, sizeof(*trace->calls), compare_calls);
}

const struct steps_call *steps_calls_find(const struct steps_trace *trace, uint64_t number, int rank)
{
	const struct steps_call wanted = {.number = number, .rank = rank};
	return trace->call_count ? bsearch(&wanted, trace->calls, trace->call_count, sizeof(wanted),
					   compare_calls)
				 : NULL;
}

/* How many of the calls from `first` on are one collective, of several ranks. */
static size_t count_together(const struct steps_trace *trace, size_t first)
{
	size_t end = first;
	while (end < trace->call_count && trace->calls[end].kind >= 0 &&
	       trace->calls[end].number == trace->calls[first].number)
		end++;
	return end - first;
}

/* Whether all ranks made the call for the program, and it has something to show. */
static bool is_worth_showing(const struct steps_trace *trace, const struct steps_call *calls,
			     size_t count)
{
	bool worth = (int)count == trace->ranks;
	for (size_t i = 0; i < count; i++)
		worth = worth && !calls[i].is_own && !calls[i].error[0] &&
			(calls[i].count > 0 || calls[i].kind == RING_KIND_BARRIER);
	return worth;
}

uint64_t steps_calls_last(const struct steps_trace *trace)
{
	uint64_t last = 0;
	for (size_t first = 0, count; (count = count_together(trace, first)) > 0; first += count)
		if (is_worth_showing(trace, &trace->calls[first], count))
			last = trace->calls[first].number;
	return last;
}

bool steps_trace_failed(const struct steps_trace *trace, char *sentence, size_t room)
{
	const struct steps_call *failed = NULL;
	for (size_t i = 0; i < trace->call_count; i++)
		if (trace->calls[i].error[0] && (!failed || trace->calls[i].number < failed->number))
			failed = &trace->calls[i];
	if (failed)
		snprintf(sentence, room, "the job failed in call %" PRIu64 ": %s", failed->number,
			 failed->error);
	return failed;
}

/* A sentence about what is not there; a job that failed may be the reason. */
__attribute__((format(printf, 4, 5))) static bool miss(const struct steps_trace *trace,
						       char *sentence, size_t room,
						       const char *format, ...)
{
	char failure[160];
	va_list arguments;
	va_start(arguments, format);
	int have = vsnprintf(sentence, room, format, arguments);
	va_end(arguments);
	if (have >= 0 && (size_t)have < room && steps_trace_failed(trace, failure, sizeof(failure)))
		snprintf(sentence + have, room - (size_t)have, "; %s", failure);
	return false;
}

static bool miss_number(const struct steps_trace *trace, uint64_t number, char *sentence,
			size_t room)
{
	size_t collectives = 0;
	while (collectives < trace->call_count && trace->calls[collectives].kind >= 0)
		collectives++;
	if (collectives == 0)
		return miss(trace, sentence, room, "no collective was recorded");
	if (number == 0)
		return miss(trace, sentence, room,
			    "no collective of the program was recorded by all ranks; --list shows "
			    "what was, and --call one of the library's own");
	return miss(trace, sentence, room,
		    "no call %" PRIu64 " was recorded; there are %" PRIu64 " to %" PRIu64
		    ", and --list shows them",
		    number, trace->calls[0].number, trace->calls[collectives - 1].number);
}

static bool miss_call(const struct steps_trace *trace, uint64_t number, int rank, char *sentence,
		      size_t room)
{
	for (int other = 0; other < trace->ranks; other++)
		if (steps_calls_find(trace, number, other))
			return miss(trace, sentence, room,
				    "rank %d recorded no call %" PRIu64 ", unlike rank %d", rank,
				    number, other);
	return miss_number(trace, number, sentence, room);
}

bool steps_calls_check(const struct steps_trace *trace, uint64_t number, char *sentence, size_t room)
{
	for (int rank = 0; rank < trace->ranks; rank++)
		if (!trace->here[rank])
			return miss(trace, sentence, room,
				    "the trace of rank %d is missing: give those of all; a rank "
				    "that is killed leaves none",
				    rank);
	for (int rank = 0; rank < trace->ranks; rank++) {
		const struct steps_call *first = steps_calls_find(trace, number, 0);
		const struct steps_call *call = steps_calls_find(trace, number, rank);
		if (!call)
			return miss_call(trace, number, rank, sentence, room);
		if (call->error[0])
			snprintf(sentence, room, "call %" PRIu64 " failed on rank %d: %s", number,
				 rank, call->error);
		else if (call->count == 0 && call->kind != RING_KIND_BARRIER)
			snprintf(sentence, room, "call %" PRIu64 " has no data", number);
		else if (call->kind != first->kind || call->count != first->count)
			snprintf(sentence, room, "in call %" PRIu64 " ranks 0 and %d differ",
				 number, rank);
		else
			continue;
		return false;
	}
	return true;
}

/* ---- all calls ------------------------------------------------------------------------------- */

static void put_call(struct steps_table *table, const struct steps_call *calls, size_t count,
		     const struct steps_trace *trace)
{
	uint64_t begin = calls->begin_ns, end = calls->end_ns;
	const char *error = calls->error;
	int row = table->rows;
	for (size_t i = 1; i < count; i++) {
		begin = calls[i].begin_ns < begin ? calls[i].begin_ns : begin;
		end = calls[i].end_ns > end ? calls[i].end_ns : end;
		error = calls[i].error[0] ? calls[i].error : error;
	}
	steps_table_add_row(table);
	steps_table_put(table, row, 0, "%" PRIu64, calls->number);
	steps_table_put(table, row, 1, "%s", steps_kind_name((enum ring_kind)calls->kind));
	steps_table_put(table, row, 2, "%" PRIu64, calls->count);
	steps_table_put(table, row, 3, "%" PRIu64, calls->bytes);
	steps_table_put(table, row, 4, "%s", calls->algorithm[0] ? calls->algorithm : "-");
	steps_table_put(table, row, 5, "%.1f", (double)(end - begin) * 1e-3);
	steps_table_put(table, row, 6, "%s", calls->is_own ? "library" : "program");
	if (error[0])
		steps_table_put(table, row, 7, "failed: %s", error);
	else if ((int)count < trace->ranks)
		steps_table_put(table, row, 7, "recorded by %zu of %d ranks", count, trace->ranks);
}

bool steps_trace_list(struct steps_trace *trace, FILE *out)
{
	static const char *const titles[] = {"call", "collective", "elements", "bytes",
					     "by",   "us",         "made by",  ""};
	struct steps_table table = {.columns = 8};
	size_t first = 0, count;
	steps_calls_sort(trace);
	steps_table_add_row(&table);
	for (int column = 0; column < table.columns; column++)
		steps_table_put(&table, 0, column, "%s", titles[column]);
	for (; (count = count_together(trace, first)) > 0; first += count)
		put_call(&table, &trace->calls[first], count, trace);
	if (!table.failed)
		steps_table_print(&table, out);
	if (first < trace->call_count)
		fprintf(out, "Sends and receives have no numbers; there are %zu batches of them.\n",
			trace->call_count - first);
	bool listed = !table.failed;
	steps_table_free(&table);
	return listed;
}
