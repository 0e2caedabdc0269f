/* SPDX-License-Identifier: MIT */
/*
 * Control lanes; see lanes.h. There are five letters:
 *
 *	NEWS            something went wrong; passed on by whoever had not heard of anything
 *	GOODBYE         I am leaving; my closing the lane will be no death
 *	GOODBYE_HEARD   ... and so will be yours
 *	WAITS           I have waited long, in this call: an entry record; for the neighbour alone
 *	ROLL            who is not in my call? Goes around to the next, until its asker has it again
 */
#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fd.h"
#include "transport/outage.h"
#include "door/mail.h"

enum { LETTER_NEWS = 1, LETTER_GOODBYE, LETTER_GOODBYE_HEARD, LETTER_WAITS, LETTER_ROLL };

void ring_wire_news(struct ring_wire *wire, struct ring_news *news)
{
	ring_wire_int(wire, &news->err);
	ring_wire_expect(wire, news->err, RING_ENOTSUP, RING_EINVAL);
	ring_wire_int(wire, &news->culprit);
	ring_wire_expect(wire, news->culprit, RING_RANK_ROOT, RING_SIZE_MAX - 1);
	ring_wire_text(wire, news->text, sizeof(news->text));
	ring_wire_u64(wire, &news->call);
}

/* The lane to one neighbour. */
struct lane {
	struct ring_watch watch; /* fd -1 once closed */
	struct ring_mail mail;
	struct ring_lanes *lanes;
	struct ring_peer peer;
	bool leaving; /* the neighbour said goodbye */
	bool heard;   /* the neighbour heard our goodbye */
};

struct ring_lanes {
	struct ring_watcher *watcher;
	struct ring_lanes_params params;
	struct lane lane[2]; /* prev, next */
	int count;           /* 0 if alone */
	bool failed;         /* something was heard */
	bool closing;        /* we said goodbye */
	pthread_cond_t changed;
};

static void close_lane(struct lane *lane)
{
	if (lane->watch.fd < 0)
		return;
	ring_watcher_remove(lane->lanes->watcher, &lane->watch);
	ring_fd_close(lane->watch.fd);
	lane->watch.fd = -1;
	pthread_cond_broadcast(&lane->lanes->changed);
}

/* A connection that broke meanwhile shows when reading. */
static void send_letter(struct lane *lane, uint32_t kind, const void *body, size_t bytes)
{
	if (lane->watch.fd < 0)
		return;
	ring_mail_post(&lane->mail, kind, body, bytes);
	ring_watcher_change(lane->lanes->watcher, &lane->watch,
			    ring_mail_pending(&lane->mail) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Only the first news counts: it is told here and on all lanes but the one it came by. */
static void spread(struct ring_lanes *lanes, const struct ring_news *news, const struct lane *source)
{
	if (lanes->failed)
		return;
	lanes->failed = true;
	struct ring_news copy = *news;
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_news(&wire, &copy);
	for (int i = 0; i < lanes->count; i++)
		if (&lanes->lane[i] != source)
			send_letter(&lanes->lane[i], LETTER_NEWS, body, wire.at);
	if (!lanes->closing)
		lanes->params.failed(lanes->params.owner, news);
}

/* Two ranks have two lanes between them; one goodbye is enough. */
static void note_goodbye(struct lane *lane)
{
	struct ring_lanes *lanes = lane->lanes;
	bool first = true;
	for (int i = 0; i < lanes->count; i++)
		if (lanes->lane[i].peer.rank == lane->peer.rank && lanes->lane[i].leaving)
			first = false;
	lane->leaving = true;
	send_letter(lane, LETTER_GOODBYE_HEARD, NULL, 0);
	if (first && !lanes->closing)
		lanes->params.left(lanes->params.owner, lane->peer.rank);
}

/* The lane ended. Unless a goodbye was said, its other end died or cannot be reached. */
static void lose_lane(struct lane *lane)
{
	struct ring_lanes *lanes = lane->lanes;
	int cause = lane->mail.cause, lost_ms = lanes->params.peer_lost_ms;
	char name[RING_PEER_NAME];
	close_lane(lane);
	if (lane->leaving || lanes->closing)
		return;
	struct ring_news news = {.err = RING_EPEER, .culprit = lane->peer.rank};
	if (ring_outage_is_cause(cause))
		ring_peer_unreached(&lane->peer, lanes->params.self, lost_ms, false, news.text);
	else
		snprintf(news.text, sizeof(news.text),
			 "%s died: its connection to rank %d closed without goodbye",
			 ring_peer_name(&lane->peer, name), lanes->params.self);
	spread(lanes, &news, lane);
}

static void note_waiting(const struct lane *lane, const void *body, size_t bytes)
{
	const struct ring_lanes *lanes = lane->lanes;
	struct ring_record record;
	if (bytes != sizeof(record))
		return;
	memcpy(&record, body, sizeof(record));
	if (ring_record_is_valid(&record) && !lanes->closing)
		lanes->params.waits(lanes->params.owner, lane->peer.rank, &record);
}

static void wire_question(struct ring_wire *wire, struct ring_roll_question *question)
{
	ring_wire_int(wire, &question->asker);
	ring_wire_expect(wire, question->asker, 0, RING_SIZE_MAX - 1);
	ring_wire_u64(wire, &question->number);
	ring_wire_int(wire, &question->hops);
	ring_wire_expect(wire, question->hops, 0, RING_SIZE_MAX);
	ring_wire_u64(wire, &question->call);
	ring_wire_int(wire, &question->wanted);
	ring_wire_expect(wire, question->wanted, -1, RING_SIZE_MAX - 1);
	ring_wire_text(wire, question->answer, sizeof(question->answer));
}

/* To the next rank, which has the last of the lanes. */
static void pass_on(struct ring_lanes *lanes, struct ring_roll_question *question)
{
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	wire_question(&wire, question);
	if (lanes->count > 0)
		send_letter(&lanes->lane[lanes->count - 1], LETTER_ROLL, body, wire.at);
}

static void take_question(struct ring_lanes *lanes, struct ring_roll_question *question)
{
	const struct ring_lanes_params *params = &lanes->params;
	if (!params->asked || lanes->closing)
		return;
	if (question->asker == params->self) {
		params->returned(params->roll, question);
	} else if (question->hops-- > 0) {
		params->asked(params->roll, question);
		pass_on(lanes, question);
	}
}

static void take_letter(struct lane *lane, uint32_t kind, const unsigned char *body, size_t bytes)
{
	struct ring_wire wire = ring_wire_reader(body, bytes);
	struct ring_news news;
	struct ring_roll_question question;
	switch (kind) {
	case LETTER_NEWS:
		ring_wire_news(&wire, &news);
		if (ring_wire_done(&wire))
			spread(lane->lanes, &news, lane);
		break;
	case LETTER_GOODBYE:
		note_goodbye(lane);
		break;
	case LETTER_GOODBYE_HEARD:
		lane->heard = true;
		pthread_cond_broadcast(&lane->lanes->changed);
		break;
	case LETTER_WAITS:
		note_waiting(lane, body, bytes);
		break;
	case LETTER_ROLL:
		wire_question(&wire, &question);
		if (ring_wire_done(&wire))
			take_question(lane->lanes, &question);
		break;
	}
}

static void lane_moved(struct ring_watch *watch, uint32_t events)
{
	struct lane *lane = (struct lane *)watch;
	uint32_t kind;
	const unsigned char *body;
	size_t bytes;
	int err;
	(void)events;
	if (ring_mail_flush(&lane->mail) == 0)
		ring_watcher_change(lane->lanes->watcher, watch, EPOLLIN);
	while (!(err = ring_mail_next(&lane->mail, &kind, &body, &bytes)))
		take_letter(lane, kind, body, bytes);
	if (err != RING_EAGAIN)
		lose_lane(lane);
}

static void open_lane(struct ring_lanes *lanes, const struct ring_peer *peer, int fd)
{
	struct lane *lane = &lanes->lane[lanes->count++];
	lane->lanes = lanes;
	lane->peer = *peer;
	lane->watch = (struct ring_watch){.fd = fd, .events = EPOLLIN, .ready = lane_moved};
	ring_mail_init(&lane->mail, fd, RING_LETTER_BYTES);
	ring_outage_bear(fd, lanes->params.peer_lost_ms);
	ring_outage_limit(fd, lanes->params.peer_lost_ms);
}

static void free_lanes(struct ring_lanes *lanes)
{
	for (int i = 0; i < lanes->count; i++)
		ring_mail_free(&lanes->lane[i].mail);
	pthread_cond_destroy(&lanes->changed);
	free(lanes);
}

int ring_lanes_open(struct ring_lanes **opened, struct ring_watcher *watcher,
		    const struct ring_lanes_params *params, struct ring_failure *failure)
{
	struct ring_lanes *lanes = calloc(1, sizeof(*lanes));
	if (!lanes)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", params->self);
	lanes->watcher = watcher;
	lanes->params = *params;
	pthread_cond_init(&lanes->changed, NULL);
	if (params->prev)
		open_lane(lanes, params->prev, params->prev_fd);
	if (params->next)
		open_lane(lanes, params->next, params->next_fd);

	int err = 0, added = 0;
	for (int i = 0; i < lanes->count && !err; i++) /* a lane without memory would look dead */
		err = ring_mail_reserve(&lanes->lane[i].mail);
	ring_watcher_lock(watcher); /* neither lane moves before both are there */
	while (added < lanes->count && !err)
		err = ring_watcher_add(watcher, &lanes->lane[added++].watch);
	for (int i = 0; err && i < added - 1; i++)
		ring_watcher_remove(watcher, &lanes->lane[i].watch);
	ring_watcher_unlock(watcher);
	if (err) {
		free_lanes(lanes);
		return ring_fail(failure, err, "rank %d: cannot watch its neighbours: %s",
				 params->self, ring_strerror(err));
	}
	*opened = lanes;
	return 0;
}

void ring_lanes_report(struct ring_lanes *lanes, const struct ring_news *news)
{
	ring_watcher_lock(lanes->watcher);
	spread(lanes, news, NULL);
	ring_watcher_unlock(lanes->watcher);
}

void ring_lanes_tell(struct ring_lanes *lanes, const struct ring_record *record)
{
	ring_watcher_lock(lanes->watcher);
	for (int i = 0; i < lanes->count; i++)
		send_letter(&lanes->lane[i], LETTER_WAITS, record, sizeof(*record));
	ring_watcher_unlock(lanes->watcher);
}

void ring_lanes_ask(struct ring_lanes *lanes, const struct ring_roll_question *question)
{
	struct ring_roll_question copy = *question;
	ring_watcher_lock(lanes->watcher);
	if (!lanes->closing)
		pass_on(lanes, &copy);
	ring_watcher_unlock(lanes->watcher);
}

static bool is_over(const struct lane *lane)
{
	return lane->watch.fd < 0 || lane->heard;
}

void ring_lanes_part(struct ring_lanes *lanes, uint64_t deadline_ms)
{
	unsigned char letter[RING_MAIL_HEADER];
	ring_mail_head(letter, LETTER_GOODBYE);
	if (!ring_watcher_lock_until(lanes->watcher, deadline_ms))
		return;
	lanes->closing = true;
	for (int i = 0; i < lanes->count; i++) {
		struct lane *lane = &lanes->lane[i];
		bool free = lane->watch.fd >= 0 && !ring_mail_pending(&lane->mail);
		lane->heard = !free || send(lane->watch.fd, letter, sizeof(letter),
					    MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
	}
	ring_watcher_unlock(lanes->watcher);
}

static void await_heard(struct ring_lanes *lanes, uint64_t deadline_ms)
{
	for (int i = 0; i < lanes->count; i++)
		while (!is_over(&lanes->lane[i]) && ring_clock_ms() < deadline_ms)
			ring_watcher_wait(lanes->watcher, &lanes->changed, deadline_ms);
}

void ring_lanes_await_parted(struct ring_lanes *lanes, uint64_t deadline_ms)
{
	if (!ring_watcher_lock_until(lanes->watcher, deadline_ms))
		return;
	if (lanes->closing)
		await_heard(lanes, deadline_ms);
	ring_watcher_unlock(lanes->watcher);
}

void ring_lanes_close(struct ring_lanes *lanes, int timeout_ms)
{
	if (!lanes)
		return;
	if (ring_watcher_is_mine(lanes->watcher)) {
		uint64_t deadline_ms = ring_clock_ms() + (uint64_t)timeout_ms;
		ring_watcher_lock(lanes->watcher);
		lanes->closing = true;
		for (int i = 0; i < lanes->count; i++)
			send_letter(&lanes->lane[i], LETTER_GOODBYE, NULL, 0);
		await_heard(lanes, deadline_ms);
		for (int i = 0; i < lanes->count; i++)
			close_lane(&lanes->lane[i]);
		ring_watcher_unlock(lanes->watcher);
	}
	free_lanes(lanes);
}
