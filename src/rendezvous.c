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
#include <unistd.h>

#include "clock.h"
#include "describe.h"
#include "dial.h"
#include "fd.h"
#include "identity.h"
#include "interface.h"
#include "log.h"
#include "mail.h"
#include "watcher.h"

#define HEAR_MS 500    /* beyond my own timeout, to hear the root's sentence about it */
#define EXPLAIN_MS 300 /* for the root to say that a neighbour I cannot reach has died */
#define POLL_MAX 64

/* A connection to next that is being made, by role and channel. */
struct line {
	enum ring_role role;
	int channel;
	struct ring_dial dial;
	uint64_t failed_ms; /* when it was given up, 0: not yet */
	struct line *next;
};

struct ring_join {
	struct ring_watcher *watcher;
	struct ring_port port; /* port.wake: a neighbour's connection has come */
	struct ring_identity identity;
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

	struct line *lines;
};

/* ---- talking with the root ---- */

static int my_rank(const struct ring_join *join)
{
	return join->description.peer.rank;
}

static void drop_line(struct ring_join *join, struct line *line)
{
	struct line **link = &join->lines;
	while (*link != line)
		link = &(*link)->next;
	*link = line->next;
	ring_dial_stop(&line->dial);
	free(line);
}

static void drop_lines(struct ring_join *join)
{
	while (join->lines)
		drop_line(join, join->lines);
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
		return give_up(
			join, err,
			"rank %d: the meeting at %s refused this rank (%s): it may be over, as "
			"one id makes one communicator, or run another version",
			my_rank(join), join->root, join->dial.trouble);
	if (err)
		return err;
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_description(&wire, &join->description);
	ring_mail_init(&join->mail, fd, ring_placement_bytes(join->description.size));
	join->met = true;
	join->deadline_ms += HEAR_MS;
	if (ring_mail_post(&join->mail, RING_LETTER_DESCRIBE, body, wire.at) == RING_ENOMEM)
		return give_up(join, RING_ENOMEM, "rank %d: no memory", my_rank(join));
	return 0;
}

/* A later placement means: all start again. Connections of the attempt before are useless. */
static int take_placement(struct ring_join *join, struct ring_wire *wire)
{
	struct ring_placement *placement = &join->placement;
	ring_wire_placement(wire, placement);
	if (!ring_wire_done(wire) || placement->order[placement->position] != my_rank(join))
		return give_up(join, RING_EPEER, "rank %d: the root at %s sent nonsense",
			       my_rank(join), join->root);
	drop_lines(join);
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
			"rank %d: nobody served the meeting at %s within %d ms (%s); does the "
			"process that made the id still run, and can it be reached?",
			my_rank(join), join->root, patience_ms,
			join->dial.trouble[0] ? join->dial.trouble : "no answer");
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

/* ---- connecting to the neighbours ---- */

static struct line *find_line(struct ring_join *join, enum ring_role role, int channel)
{
	struct line *line = join->lines;
	while (line && (line->role != role || line->channel != channel))
		line = line->next;
	return line;
}

static struct line *start_line(struct ring_join *join, const struct ring_hello *hello,
			       enum ring_lane lane)
{
	const struct ring_peer *next = &join->placement.next;
	struct line *line = calloc(1, sizeof(*line));
	if (!line)
		return NULL;
	line->role = hello->role;
	line->channel = hello->channel;
	if (lane == RING_LANE_LOCAL)
		ring_dial_local(&line->dial, next->local);
	else
		ring_dial_tcp(&line->dial, &next->tcp, ring_watcher_address(join->watcher));
	line->dial.hello = *hello;
	memcpy(line->dial.secret, join->identity.secret, RING_SECRET_BYTES);
	line->next = join->lines;
	join->lines = line;
	return line;
}

static int dial_next(struct ring_join *join, const struct ring_hello *hello, enum ring_lane lane,
		     int *fd, struct ring_failure *failure)
{
	struct line *line = find_line(join, hello->role, hello->channel);
	if (!line)
		line = start_line(join, hello, lane);
	if (!line)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", my_rank(join));
	int err = line->failed_ms ? RING_EPEER : ring_dial_step(&line->dial, fd);
	if (err == RING_EAGAIN)
		return err;
	if (err && !line->failed_ms)
		line->failed_ms = ring_clock_ms();
	if (err && ring_clock_ms() < line->failed_ms + EXPLAIN_MS)
		return RING_EAGAIN;
	if (err) {
		char name[RING_PEER_NAME], address[RING_ADDRESS_TEXT] = "its local socket";
		if (lane == RING_LANE_TCP)
			ring_address_format(&join->placement.next.tcp, address);
		ring_fail(failure, err, "rank %d -> %s at %s: %s", my_rank(join),
			  ring_peer_name(&join->placement.next, name), address, line->dial.trouble);
	}
	drop_line(join, line);
	return err;
}

static int fetch_prev(struct ring_join *join, const struct ring_hello *hello, enum ring_lane lane,
		      int *fd, struct ring_failure *failure)
{
	int arrived, domain = 0;
	socklen_t length = sizeof(domain);
	int err = ring_watcher_fetch(join->watcher, hello, &arrived);
	if (err)
		return err;
	getsockopt(arrived, SOL_SOCKET, SO_DOMAIN, &domain, &length);
	if ((domain == AF_UNIX) != (lane == RING_LANE_LOCAL)) {
		ring_fd_close(arrived);
		return ring_fail(failure, RING_EPEER,
				 "rank %d: rank %d came by another kind of connection", hello->to,
				 hello->from);
	}
	*fd = arrived;
	return 0;
}

int ring_join_connect(struct ring_join *join, enum ring_role role, int channel, enum ring_lane lane,
		      bool outgoing, int *fd, struct ring_failure *failure)
{
	int err = advance(join, failure);
	if (err)
		return err;
	if (!join->taken)
		return RING_EAGAIN; /* all start again; the verdict says so */
	struct ring_hello hello = {
		.job = join->identity.job,
		.role = role,
		.from = outgoing ? my_rank(join) : join->placement.prev.rank,
		.to = outgoing ? join->placement.next.rank : my_rank(join),
		.channel = channel,
		.attempt = join->placement.attempt,
	};
	return outgoing ? dial_next(join, &hello, lane, fd, failure)
			: fetch_prev(join, &hello, lane, fd, failure);
}

/* ---- the verdict ---- */

int ring_join_report(struct ring_join *join, uint32_t failed, const char *why,
		     struct ring_failure *failure)
{
	int err = advance(join, failure);
	if (err || !join->taken)
		return err;
	struct ring_readiness readiness = {.attempt = join->placement.attempt, .failed = failed};
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

/* ---- waiting and leaving ---- */

static int earlier(int a, int b)
{
	return a < b ? a : b;
}

/* How long there is nothing to do but to wait for descriptors. */
static int patience(const struct ring_join *join, int ms)
{
	uint64_t now = ring_clock_ms();
	if (join->go || join->over.err || (join->placed && !join->taken))
		return 0;
	if (ms < 0)
		ms = INT_MAX;
	for (const struct line *line = join->lines; line; line = line->next)
		if (line->failed_ms)
			ms = earlier(ms, EXPLAIN_MS);
	if (now > join->deadline_ms)
		return 0;
	if (join->deadline_ms - now < (uint64_t)ms)
		ms = (int)(join->deadline_ms - now) + 1;
	return ms;
}

void ring_join_wait(struct ring_join *join, struct pollfd *extra, int nextra, int ms)
{
	struct pollfd fds[POLL_MAX];
	int count = 0;
	ms = patience(join, ms);
	nextra = earlier(nextra, POLL_MAX / 2);
	for (; count < nextra; count++)
		fds[count] = extra[count];
	int wake = count++;
	fds[wake] = (struct pollfd){.fd = join->port.wake, .events = POLLIN};
	if (join->met) {
		short events = POLLIN;
		if (ring_mail_pending(&join->mail))
			events |= POLLOUT;
		fds[count++] = (struct pollfd){.fd = join->mail.fd, .events = events};
	} else {
		ms = earlier(ms, ring_dial_poll(&join->dial, &fds[count++]));
	}
	for (const struct line *line = join->lines; line && count < POLL_MAX; line = line->next)
		if (!line->failed_ms)
			ms = earlier(ms, ring_dial_poll(&line->dial, &fds[count++]));
	if (poll(fds, (nfds_t)count, ms) <= 0)
		return;
	for (int i = 0; i < nextra; i++)
		extra[i].revents = fds[i].revents;
	uint64_t rung;
	if (fds[wake].revents && read(join->port.wake, &rung, sizeof(rung)) < 0)
		ring_log(RING_DEBUG, "rank %d: eventfd: %m", my_rank(join));
}

static void describe(struct ring_description *description, int size, const struct ring_peer *self,
		     const struct ring_config *config)
{
	*description = (struct ring_description){
		.size = size,
		.create_timeout_ms = config->create_timeout_ms,
		.peer = *self,
		.schedule =
			{
				.chunk_bytes = config->chunk_bytes,
				.depth = config->depth,
				.chunks_per_round = config->chunks_per_round,
				.channels = config->channels,
			},
	};
	memcpy(description->schedule.transport, config->transport,
	       sizeof(description->schedule.transport));
}

static void dial_root(struct ring_join *join)
{
	ring_dial_tcp(&join->dial, &join->identity.root, ring_watcher_address(join->watcher));
	join->dial.patient = true;
	join->dial.hello = (struct ring_hello){
		.job = join->identity.job,
		.role = RING_ROLE_JOIN,
		.from = my_rank(join),
		.to = RING_RANK_ROOT,
	};
	memcpy(join->dial.secret, join->identity.secret, RING_SECRET_BYTES);
}

/* From here on neighbours may connect: before anybody can have heard of this rank. */
static void open_port(struct ring_join *join)
{
	join->port.job = join->identity.job;
	join->port.rank = my_rank(join);
	memcpy(join->port.secret, join->identity.secret, RING_SECRET_BYTES);
	ring_watcher_open_port(join->watcher, &join->port);
}

static int prepare(struct ring_join *join, int size, const struct ring_config *config,
		   struct ring_failure *failure)
{
	join->placement.size = size;
	join->placement.order = calloc((size_t)size, sizeof(*join->placement.order));
	join->port.wake = ring_fd_event();
	if (!join->placement.order)
		return ring_fail(failure, RING_ENOMEM, "no memory for %d ranks", size);
	if (join->port.wake < 0)
		return ring_fail(failure, RING_ESYSTEM, "cannot make an eventfd: %m");
	return ring_watcher_hold(&join->watcher, config, &join->identity.root, failure);
}

int ring_join_start(struct ring_join **started, int size, struct ring_peer *self,
		    const struct ring_unique_id *id, const struct ring_config *config,
		    struct ring_failure *failure)
{
	struct ring_join *join = calloc(1, sizeof(*join));
	if (!join)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", self->rank);
	join->port.wake = -1;
	join->dial.fd = -1;
	int err = 0;
	if (size < 1 || size > RING_SIZE_MAX)
		err = ring_fail(failure, RING_EINVAL, "%d ranks: 1..%d are possible", size,
				RING_SIZE_MAX);
	else if (ring_identity_read(id, &join->identity))
		err = ring_fail(failure, RING_EINVAL,
				"rank %d: these 128 bytes are no id of this "
				"version",
				self->rank);
	if (!err)
		err = prepare(join, size, config, failure);
	if (err) {
		ring_join_close(join, NULL);
		return err;
	}
	self->tcp = *ring_watcher_address(join->watcher);
	self->process = ring_watcher_process(join->watcher);
	snprintf(self->local, sizeof(self->local), "%s", ring_watcher_local_name(join->watcher));
	describe(&join->description, size, self, config);
	ring_address_format(&join->identity.root, join->root);
	join->deadline_ms = ring_clock_ms() + (uint64_t)config->create_timeout_ms;
	open_port(join);
	dial_root(join);
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
	bool mine = !join->watcher || ring_watcher_is_mine(join->watcher);
	if (mine && join->met && !join->go && !join->over.err)
		say_farewell(join, failure);
	if (mine) {
		drop_lines(join);
		ring_dial_stop(&join->dial);
		if (join->met)
			ring_fd_close(join->mail.fd);
		if (join->port.job)
			ring_watcher_close_port(join->watcher, &join->port);
		ring_fd_close(join->port.wake);
		if (join->watcher)
			ring_watcher_drop(join->watcher);
	}
	ring_mail_free(&join->mail);
	free(join->placement.order);
	free(join);
}
