/* SPDX-License-Identifier: MIT */
/*
 * The paced link: two messages of the inner link for each of its own,
 *
 *	| stamp 0 | message 0 | stamp 1 | message 1 | ...
 *
 * and counters that follow the inner ones when the time has come.
 */
#include "paced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/status.h"

#define EACH 2 /* inner messages per message */
#define DEPTH_MAX (RING_DEPTH_MAX / EACH)

struct paced_link {
	struct ring_link base;           /* what the user sees */
	struct ring_transport transport; /* under the inner one's name */
	struct ring_link *inner;
	struct ring_pace *pace;
	bool finished;
	int timer;

	uint64_t due_ns; /* when the next message counts; 0: it is not whole yet */
	bool entered;    /* receiver: the incoming wire has taken it by then */
	bool torn_off;   /* receiver: the stamp behind the last release was given back: early_ns */
	uint64_t early_ns;

	/* sender: message k at k % DEPTH_MAX */
	uint64_t posted;
	bool stamped;                 /* the stamp of message `posted` is on its way */
	uint64_t taken_ns[DEPTH_MAX]; /* when the wire has taken it */
	uint64_t stamps[DEPTH_MAX];   /* when it arrives */
};

/* ---- holding back ---- */

/* The counter that is held back. */
static uint64_t *shown_of(struct paced_link *link)
{
	return link->base.outgoing ? &link->base.sent : &link->base.arrived;
}

static bool is_whole(const struct paced_link *link, uint64_t message)
{
	const struct ring_link *inner = link->inner;
	return (link->base.outgoing ? inner->sent : inner->arrived) >= EACH * (message + 1);
}

/* A received message in the inner link. */
static struct ring_arrival *arrival_of(const struct paced_link *link, uint64_t message)
{
	return ring_link_arrival(link->inner, EACH * message + 1);
}

static int read_stamp(const struct paced_link *link, uint64_t message, uint64_t *stamp)
{
	const struct ring_arrival *arrival = ring_link_arrival(link->inner, EACH * message);
	if (link->torn_off && message == link->base.released) {
		*stamp = link->early_ns;
		return 0;
	}
	if (arrival->bytes != sizeof(*stamp)) {
		ring_log(RING_WARN, "rank %d -> %d paced %s: no stamp before a message",
			 link->base.peer, link->base.self, link->transport.name);
		return RING_EPEER;
	}
	memcpy(stamp, arrival->data, sizeof(*stamp));
	return 0;
}

/*
 * A message passes the incoming wire when it is there, not when its stamp was seen: other links'
 * messages may come in between.
 */
static void enter(struct paced_link *link, uint64_t message)
{
	link->due_ns = ring_pace_enter(link->pace, link->due_ns, arrival_of(link, message)->bytes);
	link->entered = true;
}

/* returns 0 if the message's time has come; RING_EAGAIN; RING_EPEER */
static int hold(struct paced_link *link, uint64_t message, uint64_t now_ns)
{
	bool outgoing = link->base.outgoing;
	int err = 0;
	if (!link->due_ns && outgoing)
		link->due_ns = link->taken_ns[message % DEPTH_MAX];
	else if (!link->due_ns)
		err = read_stamp(link, message, &link->due_ns);
	if (err)
		return err;
	if (!outgoing && !link->entered && link->due_ns <= now_ns)
		enter(link, message);
	return link->due_ns <= now_ns ? 0 : RING_EAGAIN;
}

/* Counts what is whole and due. returns 0: no message is held back; RING_EAGAIN; RING_EPEER */
static int show(struct paced_link *link)
{
	struct ring_link *base = &link->base;
	uint64_t *shown = shown_of(link);
	if (!is_whole(link, *shown))
		return 0;
	uint64_t now_ns = ring_clock_ns();
	for (; is_whole(link, *shown); (*shown)++) {
		int err = hold(link, *shown, now_ns);
		if (err)
			return err;
		if (!base->outgoing)
			*ring_link_arrival(base, base->arrived) = *arrival_of(link, base->arrived);
		link->due_ns = 0;
		link->entered = false;
	}
	return 0;
}

/* ---- the contract of transport.h ---- */

static int finish(struct ring_link *base)
{
	struct paced_link *link = (struct paced_link *)base;
	int err = ring_link_finish(link->inner);
	base->why = link->inner->why;
	link->finished = !err;
	return err;
}

/* Gives the wire the next message, and sends the stamp that says when it arrives. */
static int send_stamp(struct paced_link *link, uint64_t now_ns, size_t bytes)
{
	struct ring_pace *pace = link->pace;
	uint64_t taken_ns = ring_pace_leave(pace, now_ns, bytes);
	unsigned at = link->posted % DEPTH_MAX;
	link->taken_ns[at] = taken_ns;
	link->stamps[at] = taken_ns + pace->speed.latency_ns;
	int err = ring_link_send(link->inner, &link->stamps[at], sizeof(uint64_t));
	if (err)
		ring_pace_take_back(pace, taken_ns, bytes);
	link->stamped = !err;
	return err;
}

/*
 * A refused caller may sleep, but it looked for room before the stamp took some. Slots given back
 * in between wake nobody, as not all were full.
 */
static int send_behind_stamp(struct ring_link *inner, const void *source, size_t bytes)
{
	int err = ring_link_send(inner, source, bytes);
	if (err != RING_EAGAIN)
		return err;
	err = ring_link_poll(inner);
	return err ? err : ring_link_send(inner, source, bytes);
}

/*
 * The inner link has room for a stamp and its message, or for neither, or the receiver is just
 * giving two slots back. So a message that is refused after its stamp goes soon.
 */
static int send_message(struct ring_link *base, const void *source, size_t bytes)
{
	struct paced_link *link = (struct paced_link *)base;
	uint64_t now_ns = ring_clock_ns(); /* moving the bytes is part of the message's time */
	int err = link->posted - base->sent == base->depth ? RING_EAGAIN : 0;
	if (!err && !link->stamped)
		err = send_stamp(link, now_ns, bytes);
	if (!err)
		err = send_behind_stamp(link->inner, source, bytes);
	base->cause = link->inner->cause;
	base->why = link->inner->why;
	if (err)
		return err;
	link->posted++;
	link->stamped = false;
	return 0;
}

/*
 * A stamp's slot is given back at once: its message may never come, and a link tells that its other
 * end is gone only once all slots were given back.
 */
static int tear_off(struct paced_link *link)
{
	struct ring_link *inner = link->inner;
	if (link->base.outgoing || link->torn_off || inner->arrived != inner->released + 1)
		return 0;
	int err = read_stamp(link, link->base.released, &link->early_ns);
	if (err)
		return err;
	ring_link_release(inner);
	link->torn_off = true;
	return 0;
}

static int poll_link(struct ring_link *base)
{
	struct paced_link *link = (struct paced_link *)base;
	int err = ring_link_poll(link->inner);
	int held = show(link);
	base->cause = link->inner->cause;
	base->why = link->inner->why;
	if (!held)
		held = tear_off(link);
	if (held == RING_EAGAIN)
		return base->outgoing ? err : 0;
	return err ? err : held;
}

static void release(struct ring_link *base)
{
	struct paced_link *link = (struct paced_link *)base;
	for (int i = link->torn_off; i < EACH; i++)
		ring_link_release(link->inner);
	link->torn_off = false;
	base->released++;
}

static void expect(struct ring_link *base, size_t bytes, void *landing)
{
	struct ring_link *inner = ((struct paced_link *)base)->inner;
	ring_link_expect(inner, sizeof(uint64_t), NULL);
	ring_link_expect(inner, bytes, landing);
}

static void withdraw(struct ring_link *base)
{
	ring_link_withdraw(((struct paced_link *)base)->inner);
}

static size_t slots(const struct ring_link *base, void **memory)
{
	return ring_link_slots(((const struct paced_link *)base)->inner, memory);
}

/*
 * The timer, or what the inner link waits for. Once finished there is always a descriptor, if only
 * a timer that is not set: a sleeper has announced that it has one.
 */
static int wait_fd(const struct ring_link *base, short *events)
{
	const struct paced_link *link = (const struct paced_link *)base;
	struct itimerspec wake = {0};
	if (link->due_ns) {
		uint64_t wake_ns = link->due_ns - link->pace->early_ns;
		wake.it_value.tv_sec = (time_t)(wake_ns / 1000000000u);
		wake.it_value.tv_nsec = (long)(wake_ns % 1000000000u);
	} else {
		int fd = ring_link_wait_fd(link->inner, events);
		if (fd >= 0 || !link->finished)
			return fd;
	}
	timerfd_settime(link->timer, TFD_TIMER_ABSTIME, &wake, NULL);
	*events = POLLIN;
	return link->timer;
}

static void arm(struct ring_link *base)
{
	ring_link_arm(((struct paced_link *)base)->inner);
}

static void discard_link(struct paced_link *link)
{
	ring_fd_close(link->timer);
	free(link);
}

static void close_link(struct ring_link *base)
{
	struct paced_link *link = (struct paced_link *)base;
	if (!link)
		return;
	ring_link_close(link->inner);
	discard_link(link);
}

static int reverse(struct ring_link *base, struct ring_link **back);

static const struct ring_transport paced = {
	.finish = finish,
	.send = send_message,
	.poll = poll_link,
	.release = release,
	.withdraw = withdraw,
	.slots = slots,
	.wait_fd = wait_fd,
	.arm = arm,
	.close = close_link,
};

/* Without its inner link. returns 0; RING_ENOMEM, RING_ESYSTEM */
static int make_link(struct ring_pace *pace, struct paced_link **made)
{
	struct paced_link *link = calloc(1, sizeof(*link));
	if (!link)
		return RING_ENOMEM;
	link->timer = ring_fd_timer();
	if (link->timer < 0) {
		ring_log(RING_WARN, "paced link: timerfd: %s", strerror(errno));
		free(link);
		return RING_ESYSTEM;
	}
	link->pace = pace;
	*made = link;
	return 0;
}

static struct ring_link *dress_link(struct paced_link *link, unsigned depth, size_t slot_bytes)
{
	const struct ring_transport *transport = link->inner->transport;
	link->transport = paced;
	link->transport.name = transport->name;
	link->transport.lane = transport->lane;
	link->transport.kind = transport->kind;
	link->transport.expect = transport->expect ? expect : NULL;
	link->transport.reverse = transport->reverse ? reverse : NULL;
	link->base = *link->inner;
	link->base.transport = &link->transport;
	link->base.depth = depth;
	link->base.slot_bytes = slot_bytes;
	link->base.memory_bytes += sizeof(*link);
	return &link->base;
}

static int reverse(struct ring_link *base, struct ring_link **back)
{
	struct paced_link *link = (struct paced_link *)base, *made;
	int err = make_link(link->pace, &made);
	if (err)
		return err;
	err = ring_link_reverse(link->inner, &made->inner);
	if (err) {
		discard_link(made);
		return err;
	}
	made->finished = true;
	*back = dress_link(made, base->depth, base->slot_bytes);
	return 0;
}

int ring_paced_open(const struct ring_transport *transport, const struct ring_link_params *params,
		    struct ring_pace *pace, struct ring_link **opened)
{
	unsigned depth = params->depth < DEPTH_MAX ? params->depth : DEPTH_MAX;
	struct ring_link_params inner = *params;
	inner.depth = EACH * depth;
	if (inner.slot_bytes < sizeof(uint64_t))
		inner.slot_bytes = sizeof(uint64_t);

	struct paced_link *link;
	int err = make_link(pace, &link);
	if (err)
		return err;
	err = transport->open(&inner, &link->inner);
	if (err) {
		discard_link(link);
		return err;
	}
	*opened = dress_link(link, depth, params->slot_bytes);
	return 0;
}
