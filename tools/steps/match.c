/* SPDX-License-Identifier: MIT */
/*
 * Finds the plan that a recorded call followed: its entries have the peers and steps that were
 * recorded.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_TRIED 7 /* up to this many ranks, all orders are tried */
#define CHUNK_LEAST (UINT64_C(1) << 12)
#define CHUNK_MOST (UINT64_C(1) << 26)

/* The records of a call, by rank, sequence and index. */
struct steps_match {
	const struct steps_record *begin, *end;
};

/* ---- entries ------------------------------------------------------------------------------- */

/*
 * Sorts records. Ranks that reach into memory first tell one another where it lies, by another plan
 * in the same call: if two entries have the same number, the later one stays.
 */
static void sort_records(struct steps_trace *trace)
{
	size_t count = 0;
	steps_records_sort(trace->records, trace->record_count);
	for (size_t i = 0; i < trace->record_count; i++) {
		const struct steps_record *record = &trace->records[i];
		bool again = i + 1 < trace->record_count &&
			     steps_record_compare(record, record + 1) == 0;
		if (!again)
			trace->records[count++] = *record;
	}
	trace->record_count = count;
}

/* ---- its plan ------------------------------------------------------------------------------ */

/* Whether an entry was recorded as in the plan. */
static bool is_entry(const struct ring_plan *plan, const struct steps_record *record)
{
	if (record->index >= (record->incoming ? plan->incoming : plan->outgoing))
		return false;
	struct ring_transfer entry = record->incoming ? ring_plan_incoming(plan, record->index)
						      : ring_plan_outgoing(plan, record->index);
	return entry.peer == record->peer && entry.step == record->step &&
	       entry.bytes == record->bytes;
}

/*
 * Whether all of the plan's entries were recorded, and no others. Most plans differ in the first
 * one.
 */
static bool matches(const struct steps_match *match, const struct steps_choice *choice)
{
	struct ring_plan plan;
	uint64_t missing = 0;
	int rank = -1;
	for (const struct steps_record *record = match->begin; record < match->end; record++) {
		for (; rank < record->rank; missing += plan.outgoing + plan.incoming)
			plan = steps_plan(choice, ++rank, false);
		if (record->channel > 0 || missing == 0 || !is_entry(&plan, record))
			return false;
		missing--;
	}
	for (; rank < choice->ranks - 1; missing += plan.outgoing + plan.incoming)
		plan = steps_plan(choice, ++rank, false);
	return missing == 0;
}

/*
 * Orders ranks so that the first message of each goes to the next; returns false if that is no
 * ring.
 */
static bool follow_ring(const struct steps_match *match, struct steps_choice *choice)
{
	int next[STEPS_RANKS_MOST], rank = 0;
	bool seen[STEPS_RANKS_MOST] = {false};
	memset(next, -1, sizeof(next));
	for (const struct steps_record *record = match->begin; record < match->end; record++)
		if (!record->incoming && record->index == 0)
			next[record->rank] = record->peer;
	for (int position = 0; position < choice->ranks; position++) {
		if (rank < 0 || rank >= choice->ranks || seen[rank])
			return false;
		seen[rank] = true;
		choice->order[position] = rank;
		rank = next[rank];
	}
	return rank == 0;
}

static bool try_roots(const struct steps_match *match, struct steps_choice *choice)
{
	int roots = ring_kind_has_root(choice->kind) ? choice->ranks : 1;
	for (choice->root = 0; choice->root < roots; choice->root++) {
		struct steps_choice complete = *choice;
		steps_choice_complete(&complete);
		if (!matches(match, &complete))
			continue;
		*choice = complete;
		return true;
	}
	return false;
}

static uint64_t longest_entry(const struct steps_match *match)
{
	uint64_t longest = 0;
	for (const struct steps_record *record = match->begin; record < match->end; record++)
		longest = record->bytes > longest ? record->bytes : longest;
	return longest;
}

/*
 * Tries whole blocks, then chunks as long as the longest entry, then smaller and smaller powers of
 * two, unless the chunk is known.
 */
static bool try_chunks(const struct steps_match *match, struct steps_choice *choice)
{
	uint64_t bytes = choice->count * steps_element_bytes(choice);
	if (try_roots(match, choice))
		return true;
	if (choice->chunk_bytes > 0)
		return false;
	struct steps_choice exact = *choice;
	exact.chunk_bytes = longest_entry(match);
	if (exact.chunk_bytes > 0 && try_roots(match, &exact)) {
		*choice = exact;
		return true;
	}
	for (uint64_t chunk = CHUNK_MOST; chunk >= CHUNK_LEAST; chunk /= 2) {
		struct steps_choice tried = *choice;
		tried.chunk_bytes = chunk;
		if (chunk >= bytes || !try_roots(match, &tried))
			continue;
		*choice = tried;
		return true;
	}
	return false;
}

static bool try_algorithms(const struct steps_match *match, struct steps_choice *choice)
{
	int wanted = (int)choice->algorithm;
	for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
		for (int boards = 0; boards < 2; boards++) {
			struct steps_choice tried = *choice;
			tried.algorithm = (enum ring_algorithm)algorithm;
			tried.boards = boards > 0;
			if ((wanted != STEPS_ANY_ALGORITHM && wanted != algorithm) ||
			    !steps_choice_is_plan(&tried) || !try_chunks(match, &tried))
				continue;
			*choice = tried;
			return true;
		}
	return false;
}

/* Tries all orders of the ranks from position `from` on. */
static bool try_all_orders(const struct steps_match *match, struct steps_choice *choice, int from)
{
	if (from == choice->ranks)
		return try_algorithms(match, choice);
	for (int other = from; other < choice->ranks; other++) {
		int rank = choice->order[from];
		choice->order[from] = choice->order[other];
		choice->order[other] = rank;
		if (try_all_orders(match, choice, from + 1))
			return true;
		choice->order[other] = choice->order[from];
		choice->order[from] = rank;
	}
	return false;
}

/*
 * The order of ranks is not recorded. If first messages do not show it, all orders are tried, for
 * few ranks.
 */
static bool try_orders(const struct steps_match *match, struct steps_choice *choice)
{
	if (follow_ring(match, choice) && try_algorithms(match, choice))
		return true;
	steps_choice_order(choice);
	if (choice->ranks <= RANKS_TRIED)
		return try_all_orders(match, choice, 0);
	return try_algorithms(match, choice);
}

static struct steps_match find_records(const struct steps_trace *trace, uint64_t call)
{
	struct steps_match match = {trace->records, trace->records};
	const struct steps_record *end = trace->records + trace->record_count;
	while (match.begin < end && match.begin->call < call)
		match.begin++;
	for (match.end = match.begin; match.end < end && match.end->call == call;)
		match.end++;
	return match;
}

/* Why a call that was recorded whole cannot be shown. */
static void refuse_plan(const struct steps_match *match, const struct steps_call *call,
			char *sentence, size_t room)
{
	char what[128];
	int channels = 1;
	for (const struct steps_record *record = match->begin; record < match->end; record++)
		channels = record->channel >= channels ? record->channel + 1 : channels;
	snprintf(what, sizeof(what), "call %" PRIu64 ", %s of %" PRIu64 " by %s", call->number,
		 steps_kind_name((enum ring_kind)call->kind), call->count, call->algorithm);
	if (channels > 1)
		snprintf(sentence, room,
			 "%s, ran on %d channels: record it with RING_CHANNELS=1 to see its steps",
			 what, channels);
	else
		snprintf(sentence, room,
			 "%s, follows no plan that was tried; give --chunk and --chunks-per-round "
			 "as it had them",
			 what);
}

/* What is known of a call before its plan is found. */
static struct steps_choice choice_of(const struct steps_trace *trace, const struct steps_call *call,
				     struct steps_choice choice)
{
	int algorithm = steps_algorithm_find(call->algorithm);
	choice.kind = (enum ring_kind)call->kind;
	choice.count = call->count;
	choice.element_bytes = call->count > 0 ? call->bytes / call->count : 0;
	choice.recorded = true;
	choice.ranks = trace->ranks;
	if ((int)choice.algorithm == STEPS_ANY_ALGORITHM && algorithm >= 0)
		choice.algorithm = (enum ring_algorithm)algorithm;
	return choice;
}

bool steps_trace_find(struct steps_trace *trace, uint64_t *call, struct steps_choice *choice,
		      char *sentence, size_t room)
{
	steps_calls_sort(trace);
	uint64_t number = *call ? *call : steps_calls_last(trace);
	if (!steps_calls_check(trace, number, sentence, room))
		return false;
	const struct steps_call *first = steps_calls_find(trace, number, 0);
	struct steps_choice found = choice_of(trace, first, *choice);
	sort_records(trace);
	struct steps_match match = find_records(trace, number);
	if (!try_orders(&match, &found)) {
		refuse_plan(&match, first, sentence, room);
		return false;
	}
	*call = number;
	*choice = found;
	return true;
}

/* ---- its times ------------------------------------------------------------------------------- */

void steps_trace_time(struct steps_trace *trace, uint64_t call, struct steps_walk *walk)
{
	uint64_t begin = UINT64_MAX;
	walk->recorded = call;
	for (size_t i = 0; i < trace->call_count; i++)
		if (trace->calls[i].number == call && trace->calls[i].begin_ns < begin)
			begin = trace->calls[i].begin_ns;
	for (size_t e = 0; e < walk->event_count; e++) {
		struct steps_event *event = &walk->events[e];
		struct steps_record wanted = {.call = call,
					      .rank = event->rank,
					      .incoming = event->incoming,
					      .index = event->index};
		const struct steps_record *found = NULL;
		if (trace->record_count > 0)
			found = bsearch(&wanted, trace->records, trace->record_count,
					sizeof(wanted), steps_record_compare);
		if (found && found->end_ns >= begin)
			event->us = (double)(found->end_ns - begin) * 1e-3;
	}
}
