/* SPDX-License-Identifier: MIT */
/*
 * One rank's side of the meeting; see rendezvous.h. Every call first looks at what the root said
 * since the last one (`advance`), so there is no other state machine: what arrived decides.
 */
#include "rendezvous.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "describe.h"
#include "door/dial.h"
#include "base/fd.h"
#include "base/waits.h"
#include "door/interface.h"
#include "door/mail.h"

struct ring_join {
	unsigned fork_generation;
	struct ring_description description; /* mine */
	char root[RING_ADDRESS_TEXT];
	uint64_t deadline_ms;

	struct ring_dial dial; /* to the root */
	bool met;              /* the root proved itself; mail.fd is its connection */
	struct ring_mail mail;
	struct ring_placement placement;
	bool placed, taken; /* a placement came; ring_join_placed handed it out */
	bool go;
	struct ring_news over; /* err: how the meeting failed */
};

/* ---- talking with the root ---- */

static int my_rank(const struct ring_join *join)
{
	return join->description.peer.rank;
}

__attribute__((format(printf, 3, 4))) static int give_up(struct ring_join *join, int err,
							 const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(join->over.text, sizeof(join->over.text), format, args);
	va_end(args);
	join->over.err = err;
	return err;
}

/* Drives the connection to the root; once it stands, introduces this rank. */
static int meet_root(struct ring_join *join)
{
	int fd;
	int err = ring_dial_step(&join->dial, &fd);
	if (err == RING_EPEER)
		return give_up(join, err, "rank %d: the meeting at %s refused this rank (%s): %s",
			       my_rank(join), join->root, join->dial.trouble,
			       join->dial.early
				       ? "have all ranks the same RING_SECRET and version?"
				       : "it may be over, as one id makes one communicator, or run "
					 "another version");
	if (err == RING_ESYSTEM)
		return give_up(join, err, "rank %d: cannot connect with the meeting at %s: %s",
			       my_rank(join), join->root, join->dial.trouble);
	if (err)
		return err;
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_description(&wire, &join->description);
	ring_mail_init(&join->mail, fd, ring_placement_bytes(join->description.size));
	join->met = true;
	join->deadline_ms += RING_HEAR_MS;
	if (ring_mail_post(&join->mail, RING_LETTER_DESCRIBE, body, wire.at) == RING_ENOMEM)
		return give_up(join, RING_ENOMEM, "rank %d: no memory", my_rank(join));
	return 0;
}

/* A later placement means: all start again. */
static int take_placement(struct ring_join *join, struct ring_wire *wire)
{
	struct ring_placement *placement = &join->placement;
	ring_wire_placement(wire, placement);
	if (!ring_wire_done(wire) || placement->order[placement->position] != my_rank(join))
		return give_up(join, RING_EPEER, "rank %d: the root at %s sent nonsense",
			       my_rank(join), join->root);
	join->placed = true;
	join->taken = false;
	return 0;
}

static int take_letter(struct ring_join *join, uint32_t kind, const unsigned char *body,
		       size_t bytes)
{
	struct ring_wire wire = ring_wire_reader(body, bytes);
	struct ring_news news = {0};
	switch (kind) {
	case RING_LETTER_PLACE:
		return take_placement(join, &wire);
	case RING_LETTER_GO:
		join->go = true;
		return 0;
	case RING_LETTER_FAIL:
		ring_wire_news(&wire, &news);
		if (!ring_wire_done(&wire))
			break;
		join->over = news;
		return news.err;
	}
	return give_up(join, RING_EPEER, "rank %d: the root at %s sent nonsense", my_rank(join),
		       join->root);
}

static int read_letters(struct ring_join *join)
{
	int err = 0;
	ring_mail_flush(&join->mail); /* a broken connection shows when reading */
	while (!err && !join->go) {
		uint32_t kind;
		const unsigned char *body;
		size_t bytes;
		err = ring_mail_next(&join->mail, &kind, &body, &bytes);
		if (err == RING_EPEER)
			return give_up(
				join, err,
				"rank %d: the process that serves the meeting at %s went away",
				my_rank(join), join->root);
		if (err == RING_ENOMEM)
			return give_up(join, err, "rank %d: no memory for a letter of the root",
				       my_rank(join));
		if (!err)
			err = take_letter(join, kind, body, bytes);
	}
	return err;
}

static int out_of_time(struct ring_join *join)
{
	int patience_ms = join->description.create_timeout_ms;
	if (!join->met)
		return give_up(
			join, RING_ETIMEDOUT,
			"rank %d: nobody served the meeting at %s within %d ms (%s); does %s "
			"still run, and is that port open to this host?",
			my_rank(join), join->root, patience_ms,
			join->dial.trouble[0] ? join->dial.trouble : "no answer",
			join->dial.early ? "rank 0 of this very job"
					 : "the process that made the id");
	return give_up(join, RING_ETIMEDOUT, "rank %d: the root at %s did not say %s within %d ms",
		       my_rank(join), join->root,
		       join->placed ? "that all ranks are linked" : "that all ranks have come",
		       patience_ms);
}

/* Takes in what the root said. returns 0 while the meeting goes on, or its error */
static int advance(struct ring_join *join, struct ring_failure *failure)
{
	int err = join->over.err;
	if (!err && !join->go) {
		err = join->met ? 0 : meet_root(join);
		if (!err)
			err = read_letters(join);
		if (err == RING_EAGAIN)
			err = ring_clock_ms() > join->deadline_ms ? out_of_time(join) : 0;
	}
	return err ? ring_fail(failure, err, "%s", join->over.text) : 0;
}

int ring_join_placed(struct ring_join *join, struct ring_placement *placement,
		     struct ring_failure *failure)
{
	int err = advance(join, failure);
	if (err)
		return err;
	if (!join->placed)
		return RING_EAGAIN;
	join->taken = true;
	*placement = join->placement;
	return 0;
}

/* ---- the verdict ---- */

int ring_join_report(struct ring_join *join, uint32_t failed, int peer, const char *why,
		     struct ring_failure *failure)
{
	int err = advance(join, failure);
	if (err || !join->taken)
		return err;
	struct ring_readiness readiness = {.attempt = join->placement.attempt,
					   .failed = failed,
					   .peer = peer};
	snprintf(readiness.why, sizeof(readiness.why), "%s", why ? why : "");
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_readiness(&wire, &readiness);
	err = ring_mail_post(&join->mail, RING_LETTER_READY, body, wire.at);
	if (err == RING_ENOMEM)
		return ring_fail(failure, err, "rank %d: no memory", my_rank(join));
	return 0; /* a broken connection shows when reading */
}

int ring_join_verdict(struct ring_join *join, struct ring_failure *failure)
{
	int err = advance(join, failure);
	if (err || join->go)
		return err;
	return join->placed && !join->taken ? RING_ENOTSUP : RING_EAGAIN;
}

/* ---- waiting, coming and leaving ---- */

/* How long there is nothing to do but to wait for the root. */
static int patience(const struct ring_join *join)
{
	uint64_t now = ring_clock_ms();
	if (join->go || join->over.err || (join->placed && !join->taken) || now > join->deadline_ms)
		return 0;
	uint64_t left = join->deadline_ms - now;
	return left < INT_MAX ? (int)left + 1 : INT_MAX;
}

void ring_join_poll(const struct ring_join *join, struct pollfd *pollfd, int *ms)
{
	int patience_ms = patience(join);
	if (patience_ms < *ms)
		*ms = patience_ms;
	if (join->met) {
		*pollfd = (struct pollfd){.fd = join->mail.fd, .events = POLLIN};
		if (ring_mail_pending(&join->mail))
			pollfd->events |= POLLOUT;
		return;
	}
	int retry_ms = ring_dial_poll(&join->dial, pollfd);
	if (retry_ms < *ms)
		*ms = retry_ms;
}

static void describe(struct ring_description *description, int size, const struct ring_peer *self,
		     const struct ring_config *config)
{
	*description = (struct ring_description){
		.size = size,
		.create_timeout_ms = config->create_timeout_ms,
		.peer = *self,
		.schedule = *config,
	};
}

static void dial_root(struct ring_join *join, const struct ring_identity *identity)
{
	ring_dial_tcp(&join->dial, &identity->root, &join->description.peer.tcp);
	join->dial.patient = true;
	join->dial.early = identity->derived;
	join->dial.hello = (struct ring_hello){
		.job = identity->job,
		.role = RING_ROLE_JOIN,
		.from = my_rank(join),
		.to = RING_RANK_ROOT,
		.channel = identity->follows,
	};
	memcpy(join->dial.secret, identity->secret, RING_SECRET_BYTES);
}

int ring_join_start(struct ring_join **started, int size, const struct ring_peer *self,
		    const struct ring_identity *identity, const struct ring_config *config,
		    struct ring_failure *failure)
{
	struct ring_join *join = calloc(1, sizeof(*join));
	int *order = calloc((size_t)size, sizeof(*order));
	if (!join || !order) {
		free(join);
		free(order);
		return ring_fail(failure, RING_ENOMEM, "no memory for %d ranks", size);
	}
	join->fork_generation = ring_fork_generation();
	join->placement.size = size;
	join->placement.order = order;
	describe(&join->description, size, self, config);
	ring_address_format(&identity->root, join->root);
	join->deadline_ms = ring_clock_ms() + (uint64_t)config->create_timeout_ms;
	dial_root(join, identity);
	*started = join;
	return 0;
}

/* Tells the root why this rank leaves before the end, so that nobody takes it for a death. */
static void say_farewell(struct ring_join *join, const struct ring_failure *failure)
{
	struct ring_news news = {.err = RING_EABORTED, .culprit = my_rank(join)};
	unsigned char body[RING_LETTER_BYTES], unread[256];
	if (failure && failure->err) {
		news.err = failure->err;
		snprintf(news.text, sizeof(news.text), "%.*s", RING_NEWS_TEXT - 1, failure->text);
	} else {
		char name[RING_PEER_NAME];
		snprintf(news.text, sizeof(news.text),
			 "%s left while the communicator was being created",
			 ring_peer_name(&join->description.peer, name));
	}
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_news(&wire, &news);
	ring_mail_post(&join->mail, RING_LETTER_FAIL, body, wire.at);
	/* A close with unread letters would reset the connection under the farewell. */
	while (recv(join->mail.fd, unread, sizeof(unread), MSG_DONTWAIT) > 0)
		;
}

void ring_join_close(struct ring_join *join, const struct ring_failure *failure)
{
	if (!join)
		return;
	bool mine = join->fork_generation == ring_fork_generation();
	if (mine && join->met && !join->go && !join->over.err)
		say_farewell(join, failure);
	if (mine)
		ring_dial_stop(&join->dial);
	if (mine && join->met)
		ring_fd_close(join->mail.fd);
	ring_mail_free(&join->mail);
	free(join->placement.order);
	free(join);
}
