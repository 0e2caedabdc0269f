/* SPDX-License-Identifier: MIT */
/* Counts who does what in a step, and puts it into words. */
#include "sentence.h"

#include <stdio.h>
#include <string.h>

/* What the events of a step have in common. */
struct summary {
	bool sends[STEPS_RANKS_MOST], works[STEPS_RANKS_MOST];
	int messages, signals, added, held, kept, reached;
	bool adds_all;              /* one that has all adds them */
	bool to_next;               /* all messages go from a rank to the next one on the ring */
	int sent[STEPS_RANKS_MOST]; /* messages of a rank */
	bool complete;              /* what is sent are complete sums */
	const struct steps_event *first; /* the first that moves data */
};

static bool is_complete(const struct steps_walk *walk, const struct steps_event *event)
{
	int length = walk->values[event->begin].length;
	return length > 1 && length == walk->choice.ranks;
}

static void count_message(const struct steps_walk *walk, const struct steps_event *event,
			  struct summary *summary)
{
	const struct steps_choice *choice = &walk->choice;
	int next = (steps_position(choice, event->rank) + 1) % choice->ranks;
	summary->first = summary->first ? summary->first : event;
	summary->messages++;
	summary->sent[event->rank]++;
	summary->sends[event->rank] = true;
	summary->to_next = summary->to_next && choice->order[next] == event->entry.peer;
	summary->complete = summary->complete && is_complete(walk, event);
}

static void count_work(const struct steps_event *event, struct summary *summary)
{
	bool reaches = steps_event_crosses(event);
	summary->adds_all = summary->adds_all || event->entry.action == RING_REDUCE;
	if (event->message == 0 && !reaches)
		return;
	summary->works[event->rank] = true;
	summary->added += event->entry.action == RING_REDUCE;
	summary->held += event->entry.action == RING_HOLD;
	summary->kept += event->entry.action == RING_COPY;
	if (!reaches)
		return;
	summary->first = summary->reached++ == 0 ? event : summary->first;
}

static struct summary summarize(const struct steps_walk *walk, int step)
{
	struct summary summary = {.to_next = true, .complete = true};
	for (size_t e = walk->steps[step].begin; e < walk->steps[step].end; e++) {
		const struct steps_event *event = &walk->events[e];
		if (event->count == 0)
			summary.signals += !event->incoming;
		else if (event->incoming)
			count_work(event, &summary);
		else
			count_message(walk, event, &summary);
	}
	return summary;
}

/* "Every rank", "Rank 2", "Ranks 1 and 3" or "5 ranks"; returns its length. */
static int say_who(const struct steps_walk *walk, const bool *who, char *text, size_t room,
		   bool *several)
{
	int count = 0, first = -1, last = -1, ranks = walk->choice.ranks;
	for (int rank = 0; rank < ranks; rank++)
		if (who[rank]) {
			first = count++ == 0 ? rank : first;
			last = rank;
		}
	*several = count > 1 && count < ranks;
	if (count == ranks && ranks > 1)
		return snprintf(text, room, "Every rank");
	if (count == 1)
		return snprintf(text, room, "Rank %d", first);
	if (count == 2)
		return snprintf(text, room, "Ranks %d and %d", first, last);
	return snprintf(text, room, "%d ranks", count);
}

/* How many messages each sender sends; 0: not all as many. */
static int each_sends(const struct summary *summary)
{
	int each = 0;
	for (int rank = 0; rank < STEPS_RANKS_MOST; rank++) {
		if (summary->sent[rank] == 0)
			continue;
		if (each > 0 && summary->sent[rank] != each)
			return 0;
		each = summary->sent[rank];
	}
	return each;
}

/* What receivers do with it. */
static const char *say_then(const struct summary *summary, bool to_one)
{
	if (!summary->added && summary->adds_all)
		return "; whoever has all of them adds them";
	if (summary->added && summary->kept)
		return "; what is not complete is added to, what is complete is kept";
	if (summary->added)
		return to_one ? ", which adds its own" : "; whoever has all of them adds them";
	if (summary->held)
		return "; it is held until all that is to be added has come";
	return to_one ? ", which keeps what it gets" : "";
}

/* "one piece", "2 complete sums"; of several pieces, which moved names: "one message" */
static const char *say_what(const struct summary *summary, int each, const char *moved,
			    char text[32])
{
	const char *what = strchr(moved, ' ')  ? "message"
			   : summary->complete ? "complete sum"
					       : "piece";
	if (each == 1)
		snprintf(text, 32, "one %s", what);
	else
		snprintf(text, 32, "%d %ss", each, what);
	return text;
}

static int say_messages(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct summary *summary, char *text, size_t room)
{
	char label[STEPS_LABEL], what[32];
	bool several;
	int have = say_who(walk, summary->sends, text, room, &several), each = each_sends(summary);
	bool to_one = each == 1 || (each > 1 && summary->to_next);
	const char *sends = several ? "send" : "sends", *then = say_then(summary, to_one);
	const char *moved = steps_event_name(walk, cells, summary->first, false, label);
	if (to_one)
		have += snprintf(text + have, room - (size_t)have, " %s %s to %s%s", sends,
				 say_what(summary, each, moved, what),
				 summary->to_next ? "the next rank" : "one other rank", then);
	else
		have += snprintf(text + have, room - (size_t)have, " %s, %d messages in all%s",
				 sends, summary->messages, then);
	return have + snprintf(text + have, room - (size_t)have, "%s %d sends %s to rank %d.",
			       *then == ';' ? ". Rank" : ": rank", summary->first->rank, moved,
			       summary->first->entry.peer);
}

static int say_reaches(const struct steps_walk *walk, const struct summary *summary, char *text,
		       size_t room)
{
	bool several;
	int have = say_who(walk, summary->works, text, room, &several);
	const char *s = several ? "" : "s";
	if (summary->added)
		return have +
		       snprintf(text + have,
				room - (size_t)have, " read%s the others' memory and add%s what is there; nothing is sent.",
				s, s);
	return have + snprintf(text + have, room - (size_t)have,
			       " read%s or write%s the others' memory; nothing is sent.", s, s);
}

void steps_say_all(const struct steps_walk *walk, const struct steps_cells *cells, int step,
		   char *text, size_t room)
{
	struct summary summary = summarize(walk, step);
	if (summary.messages > 0)
		say_messages(walk, cells, &summary, text, room);
	else if (summary.reached > 0)
		say_reaches(walk, &summary, text, room);
	else if (summary.signals > 0)
		snprintf(text, room,
			 "Signals only: ranks tell one another that they make the same call, "
			 "before any data move.");
	else if (cells->count == 0)
		snprintf(text, room, "Nobody knows yet that the others have come.");
	else
		snprintf(text, room, "Every rank has its input; nothing has moved yet.");
}
