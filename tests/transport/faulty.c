/* SPDX-License-Identifier: MIT */
/* The faulty link: passes everything on, then shows less of it or breaks. */
#include "tests/transport/faulty.h"

#include <stdlib.h>

#include "base/status.h"
#include "tests/transport/dice.h"

struct faulty_link {
	struct ring_link base; /* what the user sees */
	struct ring_link *inner;
	struct ring_faults faults;
	uint64_t operations, dice;
};

static bool breaks(struct faulty_link *link)
{
	link->operations++;
	return link->faults.fail_at > 0 && link->operations >= link->faults.fail_at;
}

/* How much of `ready` is shown this time. */
static uint64_t burst(struct faulty_link *link, uint64_t ready)
{
	if (!link->faults.late || ready == 0)
		return ready;
	return dice_below(&link->dice, 3) ? 0 : 1 + dice_below(&link->dice, ready);
}

static void show(struct faulty_link *link)
{
	struct ring_link *base = &link->base, *inner = link->inner;
	base->sent += burst(link, inner->sent - base->sent);
	uint64_t arrived = base->arrived + burst(link, inner->arrived - base->arrived);
	for (; base->arrived < arrived; base->arrived++)
		*ring_link_arrival(base, base->arrived) = *ring_link_arrival(inner, base->arrived);
}

static int send_message(struct ring_link *base, const void *source, size_t bytes)
{
	struct faulty_link *link = (struct faulty_link *)base;
	return breaks(link) ? RING_EPEER : ring_link_send(link->inner, source, bytes);
}

static int poll_link(struct ring_link *base)
{
	struct faulty_link *link = (struct faulty_link *)base;
	if (breaks(link))
		return RING_EPEER;
	int err = ring_link_poll(link->inner);
	show(link);
	if (base->sent == link->inner->sent && base->arrived == link->inner->arrived)
		return err;
	if (link->faults.bell)
		ring_bell_ring(link->faults.bell); /* nobody may sleep over what is held back */
	return 0;
}

static void release(struct ring_link *base)
{
	struct faulty_link *link = (struct faulty_link *)base;
	ring_link_release(link->inner);
	base->released++;
}

static void expect(struct ring_link *base, size_t bytes, void *landing)
{
	struct ring_link *inner = ((struct faulty_link *)base)->inner;
	if (inner->transport->expect)
		ring_link_expect(inner, bytes, landing);
}

static void withdraw(struct ring_link *base)
{
	ring_link_withdraw(((struct faulty_link *)base)->inner);
}

static int wait_fd(const struct ring_link *base, short *events)
{
	const struct ring_link *inner = ((const struct faulty_link *)base)->inner;
	return ring_link_wait_fd(inner, events);
}

static void arm(struct ring_link *base)
{
	ring_link_arm(((struct faulty_link *)base)->inner);
}

static int finish(struct ring_link *base)
{
	struct ring_link *inner = ((struct faulty_link *)base)->inner;
	return ring_link_finish(inner);
}

static void close_link(struct ring_link *base)
{
	struct faulty_link *link = (struct faulty_link *)base;
	if (!link)
		return;
	ring_link_close(link->inner);
	free(link);
}

static const struct ring_transport faulty = {
	.name = "faulty",
	.finish = finish,
	.send = send_message,
	.poll = poll_link,
	.release = release,
	.expect = expect,
	.withdraw = withdraw,
	.wait_fd = wait_fd,
	.arm = arm,
	.close = close_link,
};

int ring_faulty_wrap(struct ring_link *inner, const struct ring_faults *faults,
		     struct ring_link **wrapped)
{
	struct faulty_link *link = calloc(1, sizeof(*link));
	if (!link)
		return RING_ENOMEM;
	link->base = *inner;
	link->base.transport = &faulty;
	link->inner = inner;
	link->faults = *faults;
	link->dice = faults->seed;
	*wrapped = &link->base;
	return 0;
}
