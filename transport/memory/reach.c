/* SPDX-License-Identifier: MIT */
/* Sharing regions over a FIFO link's connection, and checking what comes before it is mapped. */
#include "reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "fifo_link.h"
#include "base/held.h"
#include "base/log.h"
#include "transport/sealed.h"
#include "base/status.h"

/* Subtracted from how many regions are let go, by a receiver that leaves before all is closed. */
#define KEEPS (1 << 30)

/* ---- the regions, by number ------------------------------------------------------------------ */

/* The place of the first region that is not below this one. */
static int place_of(const struct ring_reach *reach, uint64_t region)
{
	int low = 0, high = reach->count;
	while (low < high) {
		int middle = (low + high) / 2;
		if (reach->regions[middle].region < region)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct ring_reached *find(const struct ring_reach *reach, uint64_t region)
{
	int place = place_of(reach, region);
	bool is_there = place < reach->count && reach->regions[place].region == region;
	return is_there ? &reach->regions[place] : NULL;
}

/* Makes room for one more; forgotten ones do not count. returns 0; RING_ENOTSUP; RING_ENOMEM */
static int reserve(struct ring_reach *reach)
{
	if (reach->count - reach->forgotten == RING_REACH_MAX)
		return RING_ENOTSUP;
	if (reach->count < reach->room)
		return 0;
	int room = reach->room ? 2 * reach->room : 8;
	struct ring_reached *larger = realloc(reach->regions, (size_t)room * sizeof(*larger));
	if (!larger)
		return RING_ENOMEM;
	reach->regions = larger;
	reach->room = room;
	return 0;
}

static void insert(struct ring_reach *reach, const struct ring_reached *reached)
{
	int place = place_of(reach, reached->region);
	struct ring_reached *at = &reach->regions[place];
	memmove(at + 1, at, (size_t)(reach->count - place) * sizeof(*at));
	*at = *reached;
	reach->count++;
}

static void unmap(const struct ring_reach *reach, const struct ring_reached *reached)
{
	ring_fd_close(reached->fd);
	if (!reach->maps || !reached->memory)
		return;
	if (reached->opener)
		reached->opener->close(reached->opener->chip, reached->memory);
	else
		ring_held_end(reached->memory, reached->bytes, ring_held_unmap);
}

void ring_reach_close(struct ring_reach *reach)
{
	for (int i = 0; i < reach->count; i++)
		unmap(reach, &reach->regions[i]);
	free(reach->regions);
	*reach = (struct ring_reach){.maps = reach->maps,
				     .notices = reach->notices,
				     .forgets = reach->forgets,
				     .opener = reach->opener};
}

/* ---- saying and hearing ---------------------------------------------------------------------- */

static int lose(const struct ring_fifo_link *link, const char *why)
{
	const struct ring_link *base = &link->base;
	ring_log(RING_WARN, "rank %d -> %d %s: shared region: %s",
		 base->outgoing ? base->self : base->peer, base->outgoing ? base->peer : base->self,
		 base->transport->name, why);
	return RING_EPEER;
}

/*
 * An end that is gone needs no notice. It may have left in order; if it died, the lanes say so.
 */
static bool has_left(int error)
{
	return error == EPIPE || error == ECONNRESET;
}

/* A notice is small, so it goes whole or not at all. */
static int say(struct ring_fifo_link *link, const struct ring_notice *notice, int fd)
{
	ssize_t sent = ring_fd_send_with(link->fd, notice, sizeof(*notice), &fd, fd >= 0);
	if (sent == (ssize_t)sizeof(*notice)) {
		ring_fifo_notify(link->end.fifo, ++link->reach.notices);
		return 0;
	}
	if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS))
		return RING_EAGAIN;
	if (sent < 0 && has_left(errno))
		return RING_EPEER;
	return lose(link, sent < 0 ? strerror(errno) : "a notice was cut short");
}

static int hear(struct ring_fifo_link *link, struct ring_notice *notice, int *fd)
{
	int nfds = 0;
	ssize_t got = ring_fd_recv_with(link->fd, notice, sizeof(*notice), fd, 1, &nfds);
	*fd = nfds ? *fd : -1;
	if (got == (ssize_t)sizeof(*notice))
		return 0;
	ring_fd_close(*fd);
	int err = lose(link, got < 0 ? strerror(errno) : "no notice came");
	return got < 0 && ring_fd_ran_out(errno) ? RING_ESYSTEM : err;
}

/* ---- what notices say ------------------------------------------------------------------------ */

/* Takes a region in; *fd: -1, if it has the descriptor from here on. */
static int add(struct ring_fifo_link *link, const struct ring_notice *notice, int *fd)
{
	struct ring_reach *reach = &link->reach;
	struct ring_reached reached = {.region = notice->region,
				       .memory = (void *)(uintptr_t)notice->address,
				       .bytes = notice->bytes,
				       .lends = notice->lends,
				       .lent = notice->lent,
				       .fd = -1};
	const bool far = reach->maps && reached.lends;
	if (find(reach, notice->region))
		return lose(link, "it was shared twice");
	if (!far && reach->maps != (*fd >= 0))
		return lose(link, "its descriptor is missing, or should be");
	int err = reserve(reach);
	if (err == RING_ENOTSUP)
		return lose(link, "there are too many");
	if (far)
		reached.memory = NULL;
	else if (!err && reach->maps)
		err = ring_sealed_map(*fd, reached.bytes, &reached.memory);
	if (err)
		return err;
	if (far) {
		reached.fd = *fd;
		*fd = -1;
	}
	insert(reach, &reached);
	return 0;
}

/* False if there is no such region, if it was forgotten before, or if it was to stay. */
static bool mark_forgotten(struct ring_reach *reach, uint64_t region)
{
	struct ring_reached *reached = find(reach, region);
	if (!reached || reached->forgotten || reached->kept)
		return false;
	reached->forgotten = true;
	reach->forgotten++;
	return true;
}

static int obey(struct ring_fifo_link *link, const struct ring_notice *notice, int *fd)
{
	if (notice->kind == RING_SHARE)
		return add(link, notice, fd);
	bool forgets = notice->kind == RING_FORGET && *fd < 0;
	link->reach.forgets += forgets;
	if (forgets && mark_forgotten(&link->reach, notice->region))
		return 0;
	return lose(link,
		    forgets ? "it was forgotten, but not shared, or in use" : "a notice is none");
}

/* What is lost leaves all that comes behind it unknown, however often somebody asks. */
static int be_deaf(struct ring_reach *reach, int err)
{
	if (!reach->deaf) {
		reach->deaf = err;
		reach->cause = errno;
	}
	errno = reach->cause;
	return reach->deaf;
}

static int take_in_one(struct ring_fifo_link *link)
{
	struct ring_notice notice;
	int fd, err = hear(link, &notice, &fd);
	if (err)
		return be_deaf(&link->reach, err);
	link->reach.notices++;
	err = obey(link, &notice, &fd);
	ring_fd_close(fd);
	return err;
}

/* Receiver: does what has been said since the last time. */
static int take_in(struct ring_fifo_link *link)
{
	const uint32_t said = ring_fifo_notices(link->end.fifo);
	int err = link->reach.deaf ? be_deaf(&link->reach, 0) : 0;
	while (!err && link->reach.notices != said)
		err = take_in_one(link);
	return err;
}

/* ---- the contract of transport.h ------------------------------------------------------------- */

/*
 * The sender tells the other end that a region is gone, the receiver unmaps it. returns 0;
 * RING_EAGAIN: there is no room to tell, or it was told, and has a device's memory open yet
 */
static int let_go(struct ring_fifo_link *link, struct ring_reached *reached)
{
	struct ring_notice notice = {.kind = RING_FORGET, .region = reached->region};
	if (!link->base.outgoing) {
		unmap(&link->reach, reached);
		return 0;
	}
	int err = reached->told ? 0 : say(link, &notice, -1);
	if (err)
		return err;
	if (!reached->told)
		reached->turn = ++link->reach.forgets;
	reached->told = true;
	bool lent = link->reach.maps && reached->lends;
	return lent && (int32_t)(ring_fifo_gone(link->end.fifo) - reached->turn) < 0 ? RING_EAGAIN
										     : 0;
}

/* Receiver: tells that it has let go of so many, unless something is yet to be closed. */
static void tell_gone(struct ring_fifo_link *link, uint32_t regions)
{
	const struct ring_opener *opener = link->reach.opener;
	link->reach.owes = opener && !opener->has_closed(opener->chip);
	if (!link->reach.owes)
		ring_fifo_let_go(link->end.fifo, regions);
}

/* Lets go of what was forgotten, as far as there is room to say so. */
static int sweep(struct ring_fifo_link *link)
{
	struct ring_reach *reach = &link->reach;
	int err = 0, kept = 0;
	if (reach->forgotten == 0 && !reach->owes)
		return 0;
	for (int i = 0; i < reach->count; i++) {
		struct ring_reached reached = reach->regions[i];
		int held = reached.forgotten ? err : 0;
		if (reached.forgotten && !err)
			held = let_go(link, &reached);
		if (held && !reached.told)
			err = held;
		if (!reached.forgotten || held)
			reach->regions[kept++] = reached;
	}
	reach->forgotten -= reach->count - kept;
	reach->count = kept;
	if (!err && !link->base.outgoing)
		tell_gone(link, reach->forgets);
	return err;
}

int ring_reach_share(struct ring_link *base, const struct ring_region *region)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	struct ring_reach *reach = &link->reach;
	if (find(reach, region->number))
		return 0;
	struct ring_notice notice = {.kind = RING_SHARE,
				     .region = region->number,
				     .bytes = region->bytes,
				     .address = (uintptr_t)region->start,
				     .lends = region->lends,
				     .lent = region->lent};
	int err = sweep(link);
	if (!err)
		err = reserve(reach);
	if (!err)
		err = say(link, &notice, reach->maps ? region->fd : -1);
	if (err)
		return err;
	struct ring_reached reached = {.region = region->number, .lends = region->lends, .fd = -1};
	insert(reach, &reached);
	return 0;
}

void ring_reach_forget(struct ring_link *base, uint64_t region)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	mark_forgotten(&link->reach, region);
	sweep(link);
}

/* What a message names. returns 0; RING_EPEER: it was not shared; RING_ESYSTEM */
static int look_up(struct ring_fifo_link *link, uint64_t region, uint64_t offset, size_t bytes,
		   struct ring_reached **found)
{
	struct ring_reached *reached = find(&link->reach, region);
	if (!reached) {
		int err = take_in(link);
		if (err)
			return err;
		reached = find(&link->reach, region);
	}
	if (!reached || offset > reached->bytes || bytes > reached->bytes - offset)
		return lose(link, "a message names a place that was not shared");
	*found = reached;
	return 0;
}

int ring_reach_map(struct ring_link *base, uint64_t region, uint64_t offset, size_t bytes,
		   void **address)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	struct ring_reached *reached;
	int err = look_up(link, region, offset, bytes, &reached);
	if (err)
		return err;
	if (reached->lends)
		return lose(link, "a message names memory of a device for the host's");
	*address = (char *)reached->memory + offset;
	return 0;
}

/* Of another process. The driver says how large it is: what the peer says of it is to fit. */
static int open_far(struct ring_reached *reached, const struct ring_opener *opener)
{
	return opener->open(opener->chip, &reached->lent, reached->fd, &reached->memory,
			    &reached->opened);
}

static bool is_inside(const struct ring_reached *reached)
{
	return reached->lent.offset <= reached->opened &&
	       reached->bytes <= reached->opened - reached->lent.offset;
}

/* A device's memory, by who reaches it first. */
static int open_lent(struct ring_reach *reach, struct ring_reached *reached,
		     const struct ring_opener *opener)
{
	int err = reach->maps ? open_far(reached, opener)
			      : opener->reach(opener->chip, reached->memory);
	if (err)
		return err;
	reached->opener = opener;
	if (reach->maps && opener->has_closed)
		reach->opener = opener;
	ring_fd_close(reached->fd);
	reached->fd = -1;
	return 0;
}

int ring_reach_open(struct ring_link *base, uint64_t region, uint64_t offset, size_t bytes,
		    const struct ring_opener *opener, void **address)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	struct ring_reached *reached;
	int err = look_up(link, region, offset, bytes, &reached);
	if (err)
		return err;
	if (!reached->lends)
		return lose(link, "a message names memory of the host for a device's");
	if (!reached->opener)
		err = open_lent(&link->reach, reached, opener);
	if (err == RING_EPEER)
		return lose(link, "its descriptor is of no memory of that size");
	if (err)
		return err;
	if (link->reach.maps && !is_inside(reached))
		return lose(link, "it reaches beyond the memory that was opened");
	*address = (char *)reached->memory + offset;
	if (link->reach.maps)
		*address = (char *)*address + reached->lent.offset;
	return 0;
}

/* Sender: the other end has left in order, and has yet to close something. */
static bool keeps(const struct ring_fifo_link *link)
{
	return (int32_t)(link->reach.forgets - ring_fifo_gone(link->end.fifo)) > KEEPS / 2;
}

bool ring_reach_lends(struct ring_link *base, uint64_t region)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	if (!link->reach.maps || !find(&link->reach, region))
		return false;
	sweep(link);
	return find(&link->reach, region) && (!ring_fifo_link_has_ended(link) || keeps(link));
}

/* It has also let go of whatever else it was told to forget. */
bool ring_reach_part(struct ring_link *base)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	ring_reach_close(&link->reach);
	if (link->reach.maps)
		tell_gone(link, link->reach.forgets + RING_REACH_MAX);
	if (link->reach.owes)
		ring_fifo_let_go(link->end.fifo, link->reach.forgets - (uint32_t)KEEPS);
	return !link->reach.owes;
}

int ring_reach_keep(struct ring_link *base, uint64_t region)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	struct ring_reached *reached = find(&link->reach, region);
	if (!reached || reached->forgotten)
		return lose(link, "what is to stay was not shared, or is forgotten already");
	reached->kept = true;
	return 0;
}

int ring_reach_tidy(struct ring_link *base)
{
	struct ring_fifo_link *link = (struct ring_fifo_link *)base;
	int err = take_in(link);
	return err ? err : sweep(link);
}
