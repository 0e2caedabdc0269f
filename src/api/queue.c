/* SPDX-License-Identifier: MIT */
/* The queue of one communicator, and its thread; see queue.h. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "comm/messages.h"
#include "comm/progress.h"
#include "stream.h"
#include "user_stream.h"

struct ring_queue {
	struct ring_comm *comm;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work; /* a call was added, or closing */
	pthread_cond_t done; /* a call ended */

	/* under the lock */
	struct ring_call *added, **last_added; /* batches, by the `next` of their leads */
	struct ring_flag news;                 /* there are some */
	bool closing;

	/* the thread's */
	struct ring_call *collectives, **last_collective; /* in the order in which they were made */
	struct ring_call *due; /* batches whose turn on their streams has come, by batch.next */
};

void ring_queue_lock(struct ring_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
}

void ring_queue_unlock(struct ring_queue *queue)
{
	pthread_mutex_unlock(&queue->lock);
}

void ring_queue_await(struct ring_queue *queue)
{
	pthread_cond_wait(&queue->done, &queue->lock);
}

void ring_queue_wake(struct ring_queue *queue)
{
	pthread_cond_broadcast(&queue->done);
}

/* ---- from a call's turn to its end ----------------------------------------------------------- */

/* The thread has taken it in, and streams leave it to the thread when it begins. */
static void find_due(struct ring_queue *queue, struct ring_call *lead)
{
	if (!lead->batch.taken || !ring_stream_has_turn(lead))
		return;
	lead->batch.next = queue->due;
	queue->due = lead;
}

/* Frees a call with a stream; the waiter may free one without as soon as it sees it done. */
static void complete_one(struct ring_queue *queue, struct ring_call *call,
			 const struct ring_outcome *outcome, struct ring_note **notes)
{
	const struct ring_call *lead = call->batch.lead;
	call->result = outcome->result;
	call->done = true;
	if (!call->stream)
		return;
	struct ring_call *next = ring_stream_complete(call, outcome, notes);
	free(call);
	if (next && next->batch.lead != lead)
		find_due(queue, next->batch.lead);
}

static void complete(struct ring_queue *queue, struct ring_call *lead, int result)
{
	struct ring_outcome outcome = {.result = result, .began_ns = lead->batch.began_ns};
	struct ring_note *notes = NULL;
	ring_call_let_streams_go(lead);
	outcome.ended_ns = ring_clock_ns();
	pthread_mutex_lock(&queue->lock);
	for (struct ring_call *call = lead, *rest; call; call = rest) {
		rest = call->together;
		complete_one(queue, call, &outcome, &notes);
	}
	ring_queue_wake(queue);
	pthread_mutex_unlock(&queue->lock);
	ring_stream_tell(notes);
}

/* After a failure the pairs know nothing of messages that were not ready. */
static void begin(struct ring_queue *queue, struct ring_call *lead)
{
	lead->batch.began_ns = ring_clock_ns();
	if (!ring_kind_is_message(lead->kind))
		lead->batch.ready = true;
	else if (lead->batch.left > 0)
		ring_messages_begin(queue->comm, lead);
	else
		complete(queue, lead, ring_comm_failed(&queue->comm->failure));
}

/* returns how many have begun */
static int begin_due(struct ring_queue *queue)
{
	int begun = 0;
	struct ring_call **link = &queue->due;
	while (*link) {
		struct ring_call *lead = *link;
		if (!ring_call_streams_have_come(queue->comm, lead)) {
			link = &lead->batch.next;
			continue;
		}
		*link = lead->batch.next;
		begin(queue, lead);
		begun++;
	}
	return begun;
}

static void append(struct ring_call ***last, struct ring_call *call)
{
	call->next = NULL;
	**last = call;
	*last = &call->next;
}

static void take(struct ring_queue *queue, struct ring_call *lead)
{
	if (!ring_kind_is_message(lead->kind))
		append(&queue->last_collective, lead);
	else if (!ring_comm_failed(&queue->comm->failure))
		ring_messages_add(queue->comm, lead); /* its failure is the communicator's */
	pthread_mutex_lock(&queue->lock);
	lead->batch.taken = true;
	find_due(queue, lead);
	pthread_mutex_unlock(&queue->lock);
}

/* returns how many batches that were */
static int take_in(struct ring_queue *queue)
{
	int taken = 0;
	pthread_mutex_lock(&queue->lock);
	struct ring_call *lead = queue->added;
	queue->added = NULL;
	queue->last_added = &queue->added;
	ring_flag_lower(&queue->news);
	pthread_mutex_unlock(&queue->lock);
	for (struct ring_call *rest; lead; lead = rest) {
		rest = lead->next;
		take(queue, lead);
		taken++;
	}
	return taken;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool has_work(const struct ring_queue *queue)
{
	return queue->collectives || queue->due || ring_messages_are_under_way(queue->comm);
}

/* A collective that may begin, or NULL. */
static struct ring_call *next_collective(const struct ring_queue *queue)
{
	struct ring_call *call = queue->collectives;
	return call && call->batch.ready ? call : NULL;
}

static int attend(struct ring_comm *comm, bool *leaves)
{
	struct ring_queue *queue = comm->caller.queue;
	struct ring_call *ended;
	int moves = 0;
	if (ring_flag_is_raised(&queue->news))
		moves += take_in(queue);
	while ((ended = ring_messages_take(comm))) {
		complete(queue, ended, ended->result);
		moves++;
	}
	if (queue->due)
		moves += begin_due(queue);
	*leaves = next_collective(queue) || !has_work(queue);
	return moves;
}

static void carry_next(struct ring_queue *queue)
{
	struct ring_call *call = queue->collectives;
	queue->collectives = call->next;
	if (!queue->collectives)
		queue->last_collective = &queue->collectives;
	call->batch.began_ns = ring_clock_ns();
	int result = ring_carry(queue->comm, call);
	complete(queue, call, result);
}

/* Runs calls until there are none. */
static void run(struct ring_queue *queue)
{
	struct ring_comm *comm = queue->comm;
	pthread_mutex_lock(&comm->run.lock);
	bool leaves;
	for (attend(comm, &leaves); has_work(queue); attend(comm, &leaves)) {
		if (next_collective(queue))
			carry_next(queue);
		else
			ring_messages_run(comm);
	}
	pthread_mutex_unlock(&comm->run.lock);
}

/* Sleeps until there are calls. returns false: the queue closes instead */
static bool await_calls(struct ring_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->added && !queue->closing)
		pthread_cond_wait(&queue->work, &queue->lock);
	bool more = queue->added != NULL;
	pthread_mutex_unlock(&queue->lock);
	return more;
}

static void *serve(void *argument)
{
	struct ring_queue *queue = argument;
	while (await_calls(queue))
		run(queue);
	return NULL;
}

/* ---- from open to close ---------------------------------------------------------------------- */

static struct ring_queue *make_queue(struct ring_comm *comm)
{
	struct ring_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->comm = comm;
	queue->last_added = &queue->added;
	queue->last_collective = &queue->collectives;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->work, NULL);
	pthread_cond_init(&queue->done, NULL);
	return queue;
}

static void free_queue(struct ring_queue *queue)
{
	pthread_cond_destroy(&queue->work);
	pthread_cond_destroy(&queue->done);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

int ring_queue_open(struct ring_comm *comm, const char *call)
{
	if (comm->caller.queue)
		return 0;
	struct ring_queue *queue = make_queue(comm);
	if (!queue)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, call,
					"no memory for a queue of calls");
	comm->caller.queue = queue;
	ring_progress_attend(comm, attend);
	int cause = ring_thread_start(&queue->thread, "ring-queue", 0, serve, queue);
	if (!cause)
		return 0;
	comm->caller.queue = NULL;
	ring_progress_attend(comm, NULL);
	free_queue(queue);
	return ring_comm_refuse(&comm->failure, RING_ESYSTEM, call,
				"no thread for the queue of calls: %s", strerror(cause));
}

void ring_queue_close(struct ring_comm *comm)
{
	struct ring_queue *queue = comm->caller.queue;
	if (!queue)
		return;
	pthread_mutex_lock(&queue->lock);
	queue->closing = true;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	comm->caller.queue = NULL;
	ring_progress_attend(comm, NULL);
	free_queue(queue);
}

/* ---- for callers ----------------------------------------------------------------------------- */

void ring_queue_add(struct ring_comm *comm, struct ring_call *lead)
{
	struct ring_queue *queue = comm->caller.queue;
	pthread_mutex_lock(&queue->lock);
	for (struct ring_call *call = lead; call; call = call->together) {
		call->done = false;
		call->batch = (struct ring_batch){.lead = lead};
		if (call->stream)
			ring_stream_issue(call);
	}
	append(&queue->last_added, lead);
	ring_flag_raise(&queue->news);
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
	ring_bell_ring(&comm->links.bell);
}

int ring_queue_wait(struct ring_comm *comm, struct ring_call *call)
{
	struct ring_queue *queue = comm->caller.queue;
	pthread_mutex_lock(&queue->lock);
	while (!call->done)
		ring_queue_await(queue);
	pthread_mutex_unlock(&queue->lock);
	return call->result;
}
