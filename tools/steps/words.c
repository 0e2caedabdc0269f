/* SPDX-License-Identifier: MIT */
/* The sentences about plans and steps. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/words.h"

/* ---- the plan ------------------------------------------------------------------------------ */

const char *steps_say_how(const struct steps_choice *choice)
{
	return ring_algorithm_how(choice->algorithm, choice->kind);
}

void steps_say_title(const struct steps_walk *walk, char *text, size_t room)
{
	const struct steps_choice *choice = &walk->choice;
	char root[32] = "", what[64] = "", call[64] = "";
	uint64_t longest = choice->count * (uint64_t)(choice->ranks - 1);
	if (ring_kind_has_root(choice->kind))
		snprintf(root, sizeof(root), ", root %d", choice->root);
	if (choice->kind != RING_KIND_BARRIER)
		snprintf(what, sizeof(what), " of %" PRIu64 " element%s%s", choice->count,
			 choice->count == 1 ? "" : "s",
			 ring_direct_has_shares(choice->kind) ? "" : " per rank");
	if (choice->uneven)
		snprintf(what, sizeof(what), " of 0 to %" PRIu64 " elements per rank", longest);
	if (walk->recorded > 0)
		snprintf(call, sizeof(call), ", recorded as call %" PRIu64, walk->recorded);
	snprintf(text, room, "%s%s on %d rank%s%s, %s: %d step%s%s", steps_call_name(choice), what,
		 choice->ranks, choice->ranks == 1 ? "" : "s", root,
		 ring_algorithm_way(choice->algorithm), walk->numbered,
		 walk->numbered == 1 ? "" : "s", call);
}

/* The first complete sum that an event makes. */
static struct steps_value find_whole(const struct steps_walk *walk)
{
	for (size_t e = 0; e < walk->event_count; e++) {
		const struct steps_event *event = &walk->events[e];
		struct steps_value value = {0};
		if (event->count > 0)
			value = walk->values[event->begin];
		if (value.index == 0 && value.length > 1 && value.length == walk->choice.ranks)
			return value;
	}
	return (struct steps_value){0};
}

/* Says which numbers pieces have. */
static void say_numbers(const struct steps_walk *walk, char *text, size_t room)
{
	static const char *const begins[] = {" Rank 0 begins with 1, 2, 3 ..",
					     ", rank 1 with 10, 20, 30 ..", ", rank 2 with 100 .."};
	int ranks = walk->choice.ranks, have = 0;
	if (ranks > 9)
		snprintf(text, room, " As numbers, rank r begins with r+1, 2(r+1), 3(r+1) ..");
	for (int rank = 0; ranks <= 9 && rank < ranks && rank < 3; rank++)
		have += snprintf(text + have, room - (size_t)have, "%s", begins[rank]);
	if (ring_kind_reduces(walk->choice.kind) && ranks > 1 && ranks <= 9)
		snprintf(text + have, room - (size_t)have,
			 ", so the digits of a sum show whose inputs are in it.");
}

void steps_say_names(const struct steps_walk *walk, const struct steps_cells *cells, bool numbers,
		     char *text, size_t room)
{
	const char *times = walk->recorded ? " Times are since the first rank began." : "";
	char sum[STEPS_LABEL], piece[64] = "";
	struct steps_value whole = find_whole(walk);
	int rank = walk->choice.ranks - 1;
	if (cells->count == 0) {
		snprintf(text, room, "There are no data, only signals.%s", times);
		return;
	}
	if (steps_input_length(&walk->choice, rank) == 0)
		rank = walk->choice.root;
	size_t length = cells->count > 1 ? cells->begin[1] : cells->length;
	if (length > 1)
		snprintf(piece, sizeof(piece), ", %zu elements that stay together", length);
	int have = snprintf(text, room, "a%d is piece a of rank %d's input%s.%s", rank, rank, piece,
			    times);
	if (whole.length > 0)
		have += snprintf(text + have, room - (size_t)have,
				 " A is the sum of piece a over all ranks, %s.",
				 steps_value_name(walk, cells, whole, true, sum));
	if (numbers)
		say_numbers(walk, text + have, room - (size_t)have);
}

void steps_say_bytes(const struct steps_walk *walk, char *text, size_t room)
{
	const uint64_t *sent = walk->sent_bytes;
	bool alike = true;
	for (int rank = 1; rank < walk->choice.ranks; rank++)
		alike = alike && sent[rank] == sent[0];
	int have = snprintf(text, room, "Bytes sent, %" PRIu64 " per element: ",
			    steps_element_bytes(&walk->choice));
	if (alike)
		snprintf(text + have, room - (size_t)have, "%" PRIu64 " by %s", sent[0],
			 walk->choice.ranks > 1 ? "every rank." : "rank 0.");
	for (int rank = 0; !alike && rank < walk->choice.ranks && (size_t)have < room; rank++)
		have += snprintf(text + have, room - (size_t)have, "%s%" PRIu64 " by rank %d%s",
				 rank > 0 ? ", " : "", sent[rank], rank,
				 rank == walk->choice.ranks - 1 ? "." : "");
}

void steps_say_step(const struct steps_walk *walk, int step, char *text, size_t room)
{
	int number = walk->steps[step].number;
	if (number >= 0)
		snprintf(text, room, "step %d", number);
	else
		snprintf(text, room, "%s", step == 0 ? "before" : "signals");
}

/* ---- what happens -------------------------------------------------------------------------- */

/* Writes ", + b0": the terms that a rank adds to what arrived. */
static int say_added(const struct steps_walk *walk, const struct steps_cells *cells,
		     const struct steps_event *event, char *text)
{
	struct steps_value rest = walk->values[event->begin];
	struct steps_value last = walk->values[event->begin + event->count - 1];
	if (cells->of[rest.index] != cells->of[last.index])
		return sprintf(text, ", + its own");
	int arrived = walk->values[walk->events[event->message - 1].begin].length;
	char own[STEPS_LABEL];
	rest.first = (int16_t)((rest.first + arrived) % walk->choice.ranks);
	rest.length = (int16_t)(rest.length - arrived);
	return sprintf(text, ", + %s", steps_value_name(walk, cells, rest, true, own));
}

static void say_result(const struct steps_walk *walk, const struct steps_cells *cells,
		       const struct steps_event *event, char *text)
{
	char result[STEPS_LABEL];
	steps_event_name(walk, cells, event, true, result);
	const char *number = strchr(result, '=');
	sprintf(text, " -> %s",
		walk->values[event->begin].length == walk->choice.ranks || !number ? result
										   : number + 1);
}

/* Writes what came in a message, and what is added to it. */
static void say_arrival(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct steps_event *event, bool numbers, char *text)
{
	const struct steps_event *sent = &walk->events[event->message - 1];
	char what[STEPS_LABEL];
	int have = sprintf(text, "%s from %d", steps_event_name(walk, cells, sent, numbers, what),
			   event->entry.peer);
	if (event->entry.action != RING_REDUCE)
		return;
	have += say_added(walk, cells, event, text + have);
	if (numbers)
		say_result(walk, cells, event, text + have);
}

static const char *say_place(enum ring_buffer buffer, int peer, bool is_result, char *text)
{
	switch (buffer) {
	case RING_ALL_OUTPUTS:
		return ", to all";
	case RING_OTHER_OUTPUTS:
		return ", to all others";
	case RING_PEER_INPUT:
	case RING_PEER_OUTPUT:
	case RING_PEER_STAGE:
		sprintf(text, is_result ? ", to %d" : " of %d", peer);
		return text;
	case RING_STAGE:
		return ", to the stage";
	default:
		return "";
	}
}

/* Writes what a rank does without a message. */
static void say_work(const struct steps_walk *walk, const struct steps_cells *cells,
		     const struct steps_event *event, bool numbers, char *text)
{
	const struct ring_transfer *in = &event->entry;
	char what[STEPS_LABEL], from[32], to[32], terms[STEPS_LABEL];
	steps_event_name(walk, cells, event, numbers, what);
	if (in->action == RING_REDUCE)
		sprintf(text, "%s -> %s%s",
			steps_value_name(walk, cells, walk->values[event->begin], true, terms),
			what, say_place(in->result.buffer, in->peer, true, to));
	else
		sprintf(text, "copies %s%s%s", what,
			say_place(in->source.buffer, in->peer, false, from),
			say_place(in->result.buffer, in->peer, true, to));
}

void steps_say_event(const struct steps_walk *walk, const struct steps_cells *cells,
		     const struct steps_event *event, bool numbers, char *text)
{
	if (event->count == 0)
		sprintf(text, event->incoming ? "signal from %d" : "signal", event->entry.peer);
	else if (!event->incoming)
		steps_event_name(walk, cells, event, numbers, text);
	else if (event->message > 0)
		say_arrival(walk, cells, event, numbers, text);
	else
		say_work(walk, cells, event, numbers, text);
}

const char *steps_say_time(const struct steps_event *event, char *text)
{
	text[0] = 0;
	if (event->us >= 0)
		sprintf(text, ", %.1f us", event->us);
	return text;
}

bool steps_sends_alike(const struct steps_walk *walk, const struct steps_event *a,
		       const struct steps_event *b)
{
	if (a->rank != b->rank || a->count != b->count || a->incoming || b->incoming)
		return false;
	return a->count == 0 || memcmp(&walk->values[a->begin], &walk->values[b->begin],
				       a->count * sizeof(*walk->values)) == 0;
}
