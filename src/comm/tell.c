/* SPDX-License-Identifier: MIT */
/* What people are told of a long wait; see tell.h. */
#include "tell.h"

#include "base/log.h"
#include "base/waits.h"
#include "comm.h"
#include "explain.h"

/* answer NULL: the question did not come back */
static void say(struct ring_comm *comm, uint64_t waited_ms, const char *answer)
{
	const char *last = !answer     ? "a process on the way around the ring does not answer: is "
					 "it stopped?"
			   : answer[0] ? answer
				       : "all ranks are in this call";
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	struct ring_record record;
	int peer = ring_explain_where(comm, &record);
	ring_explain_record(comm, &record, mine);
	ring_log(RING_LOUD, "rank %d has waited %.3g s in %s%s%s; %s", comm->team.rank,
		 (double)waited_ms / 1000, mine, peer >= 0 ? ", for " : "",
		 peer >= 0 ? ring_team_rank_text(&comm->team, peer, who) : "", last);
}

static void lower(int *timeout_ms, uint64_t ms)
{
	if (*timeout_ms < 0 || (uint64_t)*timeout_ms > ms)
		*timeout_ms = (int)ms;
}

void ring_tell(struct ring_comm *comm, struct ring_telling *telling, uint64_t waited_ms,
	       int *timeout_ms)
{
	uint64_t after_ms = (uint64_t)comm->team.config.tell_after_ms;
	char answer[RING_ROLL_TEXT] = "";
	struct ring_record record;
	if (waited_ms < RING_ASK_MS) {
		lower(timeout_ms, RING_ASK_MS - waited_ms);
		return;
	}
	int peer = ring_explain_where(comm, &record);
	if (!telling->listed)
		ring_roll_wait(&comm->roll, &record, peer);
	telling->listed = true;
	if (after_ms == 0 || telling->said)
		return;
	if (waited_ms < after_ms) {
		lower(timeout_ms, after_ms - waited_ms);
		return;
	}
	if (!telling->asked)
		ring_roll_ask(&comm->roll, &record, peer);
	telling->asked = true;
	bool answered = ring_roll_answered(&comm->roll, answer);
	if (answered || waited_ms >= after_ms + RING_ROLL_MS) {
		say(comm, waited_ms, answered ? answer : NULL);
		telling->said = true;
	} else {
		lower(timeout_ms, after_ms + RING_ROLL_MS - waited_ms);
	}
}

void ring_tell_end(struct ring_comm *comm, struct ring_telling *telling)
{
	if (telling->listed)
		ring_roll_wait(&comm->roll, NULL, -1);
	telling->listed = false;
}
