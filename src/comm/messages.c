/* SPDX-License-Identifier: MIT */
/* Batches of sends and receives, from their turn to their end; see messages.h. */
#include "messages.h"

#include "ending.h"
#include "explain.h"
#include "progress.h"
#include "start.h"

int ring_messages_add(struct ring_comm *comm, struct ring_call *lead)
{
	int err = 0;
	lead->batch.left = 0;
	lead->batch.ready = false;
	lead->result = 0;
	for (struct ring_call *call = lead; call && !err; call = call->together) {
		call->batch.lead = lead;
		err = ring_pairs_add(&comm->run.pairs, call);
	}
	return err ? ring_explain_no_memory(&comm->failure) : 0;
}

void ring_messages_begin(struct ring_comm *comm, struct ring_call *lead)
{
	struct ring_question question = ring_call_question(comm, lead);
	lead->batch.ready = true;
	ring_way_of_messages(&comm->run.ways, &comm->team.placement.tuning, &question);
	ring_call_begin(comm, lead);
}

/* Until those of the batch are complete; NULL: while comm->run says so. */
static int run(struct ring_comm *comm, struct ring_call *lead)
{
	struct ring_waiting waiting = {0};
	comm->run.active = NULL;
	comm->run.ways.loaded = NULL;
	comm->run.current = lead;
	int err = ring_progress_run(comm, &waiting);
	comm->run.current = NULL;
	if (err)
		ring_call_fail(comm, lead);
	return err;
}

int ring_messages_run(struct ring_comm *comm)
{
	return run(comm, NULL);
}

bool ring_messages_are_under_way(const struct ring_comm *comm)
{
	return comm->run.pairs.busy;
}

struct ring_call *ring_messages_take(struct ring_comm *comm)
{
	struct ring_call *lead = ring_pairs_take_ended(&comm->run.pairs);
	if (lead)
		ring_call_end(comm, lead, lead->result);
	return lead;
}

void ring_messages_start(struct ring_comm *comm, struct ring_call *lead)
{
	int err = ring_messages_add(comm, lead);
	ring_messages_begin(comm, lead);
	if (!err)
		return;
	ring_call_fail(comm, lead);
	lead->result = err;
}

int ring_messages_finish(struct ring_comm *comm, struct ring_call *lead)
{
	run(comm, lead);
	ring_messages_take(comm);
	return lead->result;
}
