/* SPDX-License-Identifier: MIT */
/* Who keeps whom waiting, asked around the ring; see roll.h. */
#include "roll.h"

#include <stdio.h>
#include <string.h>

#include "base/note.h"

void ring_roll_open(struct ring_roll *roll, const struct ring_team *team, struct ring_links *links,
		    const struct ring_flag *busy)
{
	*roll = (struct ring_roll){.team = team, .links = links, .busy = busy};
	pthread_mutex_init(&roll->lock, NULL);
}

void ring_roll_close(struct ring_roll *roll)
{
	pthread_mutex_destroy(&roll->lock);
}

/* Under the lock: what this rank does, as others hear it. */
static void describe(const struct ring_roll *roll, char text[RING_ROLL_TEXT])
{
	char who[RING_RANK_TEXT], call[RING_RECORD_TEXT];
	ring_team_rank_text(roll->team, roll->team->rank, who);
	if (roll->waits && roll->peer >= 0)
		snprintf(text, RING_ROLL_TEXT, "%s waits for rank %d, in %s", who, roll->peer,
			 ring_record_format(&roll->record, call));
	else if (roll->waits)
		snprintf(text, RING_ROLL_TEXT, "%s waits in %s", who,
			 ring_record_format(&roll->record, call));
	else if (ring_flag_is_raised(roll->busy))
		snprintf(text, RING_ROLL_TEXT, "%s is at work in a call", who);
	else
		snprintf(text, RING_ROLL_TEXT, "%s is in no call", who);
}

void ring_roll_wait(struct ring_roll *roll, const struct ring_record *record, int peer)
{
	char text[RING_ROLL_TEXT];
	pthread_mutex_lock(&roll->lock);
	roll->waits = record != NULL;
	roll->peer = peer;
	if (record)
		roll->record = *record;
	describe(roll, text);
	pthread_mutex_unlock(&roll->lock);
	if (record)
		ring_note_wait(roll, text);
	else
		ring_note_go_on(roll);
}

static bool is_message(const struct ring_record *record)
{
	return ring_kind_is_message((enum ring_kind)record->kind);
}

void ring_roll_ask(struct ring_roll *roll, const struct ring_record *record, int peer)
{
	pthread_mutex_lock(&roll->lock);
	struct ring_roll_question question = {
		.asker = roll->team->rank,
		.number = ++roll->question,
		.hops = roll->team->size,
		.call = is_message(record) ? 0 : record->sequence,
		.wanted = is_message(record) ? peer : -1,
	};
	roll->answered = false;
	pthread_mutex_unlock(&roll->lock);
	if (roll->links->lanes)
		ring_lanes_ask(roll->links->lanes, &question);
}

bool ring_roll_answered(struct ring_roll *roll, char text[RING_ROLL_TEXT])
{
	pthread_mutex_lock(&roll->lock);
	bool answered = roll->answered;
	if (answered)
		memcpy(text, roll->answer, RING_ROLL_TEXT);
	pthread_mutex_unlock(&roll->lock);
	return answered;
}

void ring_roll_asked(void *owner, struct ring_roll_question *question)
{
	struct ring_roll *roll = owner;
	if (question->answer[0])
		return;
	pthread_mutex_lock(&roll->lock);
	bool same = roll->waits && !is_message(&roll->record) &&
		    roll->record.sequence == question->call;
	bool begins = !roll->waits && ring_flag_is_raised(roll->busy);
	bool mine = question->wanted >= 0 ? question->wanted == roll->team->rank : !same && !begins;
	if (mine)
		describe(roll, question->answer);
	pthread_mutex_unlock(&roll->lock);
}

void ring_roll_returned(void *owner, const struct ring_roll_question *question)
{
	struct ring_roll *roll = owner;
	pthread_mutex_lock(&roll->lock);
	if (question->number == roll->question) {
		memcpy(roll->answer, question->answer, RING_ROLL_TEXT);
		roll->answered = true;
	}
	pthread_mutex_unlock(&roll->lock);
	ring_bell_ring(&roll->links->bell);
}
