/* SPDX-License-Identifier: MIT */
/*
 * The receiving end of a TCP link. One readv(2) goes straight to where the current message belongs
 * and on into a small inbox, so bulk is copied once and small messages share a system call. Nothing
 * is read while no slot is free: that is the back-pressure, TCP passes it on.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/slot_place.h"
#include "base/status.h"
#include "link.h"

void ring_tcp_expect(struct ring_link *base, size_t bytes, void *landing)
{
	struct ring_tcp_receiver *receiver = (struct ring_tcp_receiver *)base;
	unsigned at = receiver->announced++ % base->depth;
	receiver->landing[at] = landing;
	receiver->expected[at] = bytes;
}

/*
 * Slots take no memory before they are written to, which may be never, if messages land at their
 * destination.
 */
static void count_use(struct ring_tcp_receiver *receiver, unsigned at, size_t bytes)
{
	struct ring_link *base = &receiver->link.base;
	if (bytes <= receiver->used[at])
		return;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride = ring_slot_stride(base->slot_bytes);
	size_t use = (bytes + page - 1) / page * page;
	use = use < stride ? use : stride;
	base->memory_bytes += use - receiver->used[at];
	receiver->used[at] = use;
}

/* Where the next message goes: its landing if that was announced in time and fits, or its slot. */
static unsigned char *place_of(struct ring_tcp_receiver *receiver, size_t bytes)
{
	const struct ring_link *base = &receiver->link.base;
	unsigned at = base->arrived % base->depth;
	if (base->arrived < receiver->announced && receiver->landing[at] &&
	    receiver->expected[at] == bytes)
		return receiver->landing[at];
	count_use(receiver, at, bytes);
	return receiver->slots + at * ring_slot_stride(base->slot_bytes);
}

/* Reads the next message's header out of the inbox. False if it is not there yet or nonsense. */
static bool begin_message(struct ring_tcp_receiver *receiver)
{
	struct ring_link *base = &receiver->link.base;
	struct ring_tcp_header header;
	if (receiver->in_end - receiver->in_first < sizeof(header))
		return false;
	memcpy(&header, receiver->inbox + receiver->in_first, sizeof(header));
	uint64_t bytes = le64toh(header.bytes);
	uint64_t number = le64toh(header.number);
	if (bytes == 0 || bytes > base->slot_bytes || number != base->arrived) {
		char why[144];
		snprintf(why, sizeof(why),
			 "message %" PRIu64 " of %" PRIu64 " bytes where %" PRIu64
			 " of at most %zu was due",
			 number, bytes, base->arrived, base->slot_bytes);
		ring_tcp_lose(&receiver->link, 0, why);
		return false;
	}
	receiver->in_first += sizeof(header);
	receiver->bytes = bytes;
	receiver->have = 0;
	receiver->place = place_of(receiver, bytes);
	return true;
}

static void end_message(struct ring_tcp_receiver *receiver)
{
	struct ring_link *base = &receiver->link.base;
	*ring_link_arrival(base, base->arrived++) = (struct ring_arrival){receiver->place,
									  receiver->bytes};
	receiver->place = NULL;
}

/*
 * Whether the next message may be begun in a look that has found `found` already: not before the
 * user could announce where it goes. (all_gather of 1 MiB on 2 ranks went to slots.)
 */
static bool may_begin(const struct ring_tcp_receiver *receiver, uint64_t found)
{
	uint64_t next = receiver->link.base.arrived;
	return found == 0 || receiver->announced == 0 || next < receiver->announced;
}

/* Distributes the inbox as far as slots are free and messages may be begun. */
static void empty_inbox(struct ring_tcp_receiver *receiver, uint64_t before)
{
	const struct ring_link *base = &receiver->link.base;
	while (ring_tcp_has_slot(base)) {
		if (!receiver->place && !may_begin(receiver, base->arrived - before))
			return;
		if (!receiver->place && !begin_message(receiver))
			return;
		size_t here = receiver->in_end - receiver->in_first;
		size_t missing = receiver->bytes - receiver->have;
		size_t taken = here < missing ? here : missing;
		memcpy(receiver->place + receiver->have, receiver->inbox + receiver->in_first,
		       taken);
		receiver->in_first += taken;
		receiver->have += taken;
		if (taken < missing)
			return;
		end_message(receiver);
	}
}

/*
 * Reads what is missing of a message, and what follows it into the rest of the inbox; returns as
 * readv(2).
 */
static ssize_t ask(struct ring_tcp_receiver *receiver, size_t missing, size_t room)
{
	const int fd = receiver->link.fd;
	unsigned char *rest = receiver->inbox + receiver->in_end;
	if (missing == 0)
		return recv(fd, rest, room, MSG_DONTWAIT);
	struct iovec parts[] = {{receiver->place + receiver->have, missing}, {rest, room}};
	return readv(fd, parts, 2);
}

/* Asks the socket once. True if it gave all that was asked for, so there may be more. */
static bool read_on(struct ring_tcp_receiver *receiver)
{
	struct ring_tcp_link *link = &receiver->link;
	size_t left = receiver->in_end - receiver->in_first;
	memmove(receiver->inbox, receiver->inbox + receiver->in_first, left);
	receiver->in_first = 0;
	receiver->in_end = left;

	size_t missing = receiver->place ? receiver->bytes - receiver->have : 0;
	size_t room = sizeof(receiver->inbox) - left;
	ssize_t got = ask(receiver, missing, room);
	if (got > 0) {
		size_t placed = (size_t)got < missing ? (size_t)got : missing;
		receiver->have += placed;
		receiver->in_end += (size_t)got - placed;
		if (missing > 0 && placed == missing)
			end_message(receiver);
	} else if (got == 0) {
		link->lost = true;
		if (left > 0 || receiver->place)
			ring_tcp_lose(link, 0, "the other end closed inside a message");
	} else if (errno == EAGAIN) {
		link->quiet = true;
	} else if (errno != EINTR) {
		ring_tcp_lose(link, errno, strerror(errno));
	}
	return got > 0 && (size_t)got == missing + room;
}

static bool wants_more(const struct ring_tcp_receiver *receiver, uint64_t before)
{
	const struct ring_link *base = &receiver->link.base;
	return !receiver->link.lost && ring_tcp_has_slot(base) &&
	       (receiver->place || may_begin(receiver, base->arrived - before));
}

int ring_tcp_receive(struct ring_tcp_receiver *receiver)
{
	struct ring_tcp_link *link = &receiver->link;
	const uint64_t before = link->base.arrived;

	empty_inbox(receiver, before);
	bool more = wants_more(receiver, before) && ring_tcp_is_ready(link, POLLIN);
	while (more) {
		more = read_on(receiver);
		empty_inbox(receiver, before);
		more = more && wants_more(receiver, before);
	}
	/* The user may first finish with what arrived. */
	return link->lost && link->base.released == link->base.arrived ? RING_EPEER : 0;
}
