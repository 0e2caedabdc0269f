/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a call; see ending.h. */
#include "ending.h"

#include <time.h>

#include "base/clock.h"
#include "base/datatype.h"
#include "base/waits.h"
#include "comm.h"
#include "explain.h"
#include "mixed.h"
#include "engine/trace.h"

/* ---- what is told of it ---------------------------------------------------------------------- */

static struct ring_trace_record record_of(const struct ring_call *call,
					  enum ring_trace_counter counter)
{
	return (struct ring_trace_record){
		.time_ns = ring_clock_ns(),
		.call = call->record.sequence,
		.index = call->count,
		.channel = call->internal ? RING_TRACE_OWN : RING_TRACE_CALL,
		.peer = call->root,
		.step = (int32_t)call->kind,
		.counter = counter,
		.bytes = call->count * ring_datatype_bytes(call->operands.type),
	};
}

void ring_call_begin(struct ring_comm *comm, const struct ring_call *call)
{
	ring_flag_raise(&comm->run.busy);
	if (!comm->team.trace)
		return;
	struct ring_trace_record record = record_of(call, RING_CALLED);
	record.tag = ring_trace_tag(comm->team.trace, call->tag);
	ring_trace_add(comm->team.trace, &record);
}

static void note_end(struct ring_comm *comm, const struct ring_call *call, int err)
{
	if (!comm->team.trace)
		return;
	struct ring_trace_record record = record_of(call, RING_RETURNED);
	record.block = err;
	if (!err)
		record.action = ring_kind_is_message(call->kind)
					? (int32_t)ring_algorithm_of(call->kind)
					: (int32_t)comm->run.ways.last.choice->algorithm;
	ring_trace_add(comm->team.trace, &record);
}

static uint64_t calls_together(const struct ring_call *call)
{
	uint64_t calls = 0;
	for (; call; call = call->together)
		calls++;
	return calls;
}

static void rest_if_idle(struct ring_comm *comm)
{
	if (!comm->run.pairs.busy)
		ring_flag_lower(&comm->run.busy);
}

void ring_call_end(struct ring_comm *comm, const struct ring_call *call, int err)
{
	rest_if_idle(comm);
	note_end(comm, call, err);
	ring_lookout_wake(&comm->links.lookout); /* bytes may still be under way */
	if (err)
		return;
	comm->run.calls += calls_together(call);
	if (!call->on.kernel)
		return;
	comm->run.kernel_bytes += ring_kernels_payload(&comm->kernels, call);
	comm->run.by_kernel = ring_mixed_told(comm, &call->record);
}

/* ---- after a failure ------------------------------------------------------------------------- */

/* The first of the channels whose device is still at work; NULL if none is. */
static const struct ring_channel *first_unsettled(const struct ring_channel *channel)
{
	while (channel && ring_channel_settled(channel) != RING_EAGAIN)
		channel = channel->next;
	return channel;
}

static const struct ring_channel *find_unsettled(const struct ring_comm *comm)
{
	const struct ring_channel *channel = first_unsettled(comm->run.active);
	return channel ? channel : first_unsettled(comm->run.pairs.busy);
}

bool ring_call_settle(const struct ring_comm *comm)
{
	uint64_t until = ring_clock_ms() + RING_SETTLE_MS;
	const struct ring_channel *channel = find_unsettled(comm);
	for (; channel && ring_clock_ms() < until; channel = find_unsettled(comm))
		nanosleep(&(struct timespec){.tv_nsec = RING_BUFFERS_LOOK_NS}, NULL);
	return !channel;
}

/* After a failed call its caller may free the buffers: no job may still use them. */
static void settle_devices(struct ring_comm *comm)
{
	const struct ring_channel *channel = ring_call_settle(comm) ? NULL : find_unsettled(comm);
	if (channel)
		ring_comm_add(&comm->failure,
			      "; the %s device is still at work on rank %d's buffers",
			      channel->device->name, comm->team.rank);
}

/* Nor may a kernel. One that has not begun will see that it is not to. */
static void stop_kernel(struct ring_comm *comm, const struct ring_call *call)
{
	uint64_t until = ring_clock_ms() + RING_SETTLE_MS;
	ring_kernels_stop(&comm->kernels);
	while (ring_kernels_are_inside(&comm->kernels, call) && ring_clock_ms() < until)
		nanosleep(&(struct timespec){.tv_nsec = RING_BUFFERS_LOOK_NS}, NULL);
	if (ring_kernels_are_inside(&comm->kernels, call))
		ring_comm_add(&comm->failure,
			      "; the %s device is still at work on rank %d's buffers",
			      call->device->name, comm->team.rank);
}

/* Nor may a network card still write there. */
static void withdraw_landings(const struct ring_channel *channel)
{
	for (; channel; channel = channel->next)
		for (int i = 0; i < channel->route_count; i++)
			if (channel->routes[i].in)
				ring_link_withdraw(channel->routes[i].in);
}

bool ring_call_leave(const struct ring_comm *comm)
{
	withdraw_landings(comm->run.active);
	return ring_call_settle(comm);
}

void ring_call_fail(struct ring_comm *comm, const struct ring_call *call)
{
	if (call && call->on.kernel)
		stop_kernel(comm, call);
	settle_devices(comm);
	withdraw_landings(comm->run.active);
	withdraw_landings(comm->run.pairs.busy);
	ring_explain_call(comm, call);
	ring_pairs_give_up(&comm->run.pairs, ring_comm_failed(&comm->failure));
	rest_if_idle(comm);
}
