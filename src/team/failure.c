/* SPDX-License-Identifier: MIT */
/* How a communicator's first failure stays and spreads, and who said goodbye; see failure.h. */
#include "failure.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/waits.h"

void ring_comm_failure_open(struct ring_comm_failure *failure, const struct ring_team *team,
			    struct ring_links *links)
{
	*failure = (struct ring_comm_failure){.team = team, .links = links};
	pthread_mutex_init(&failure->lock, NULL);
}

void ring_comm_failure_close(struct ring_comm_failure *failure)
{
	pthread_mutex_destroy(&failure->lock);
}

void ring_comm_failure_listen(struct ring_comm_failure *failure, struct ring_listener *listener)
{
	pthread_mutex_lock(&failure->lock);
	listener->next = failure->listeners;
	failure->listeners = listener;
	pthread_mutex_unlock(&failure->lock);
}

void ring_comm_failure_leave(struct ring_comm_failure *failure, const struct ring_listener *listener)
{
	pthread_mutex_lock(&failure->lock);
	struct ring_listener **link = &failure->listeners;
	while (*link && *link != listener)
		link = &(*link)->next;
	if (*link)
		*link = listener->next;
	pthread_mutex_unlock(&failure->lock);
}

/* ---- the first failure ----------------------------------------------------------------------- */

static void tell_listener(struct ring_listener *listener)
{
	if (listener->bell)
		ring_bell_ring(listener->bell);
	else
		listener->hear(listener);
}

int ring_comm_fail_with(struct ring_comm_failure *failure, const struct ring_news *news, bool tell)
{
	struct ring_links *links = failure->links;
	pthread_mutex_lock(&failure->lock);
	bool first = failure->first.err == 0;
	if (first) {
		ring_fail(&failure->first, news->err, "%s", news->text);
		failure->first_call = news->call;
		ring_flag_raise(&failure->failed);
	}
	for (struct ring_listener *listener = failure->listeners; first && listener;
	     listener = listener->next)
		tell_listener(listener);
	int sticks = failure->first.err;
	pthread_mutex_unlock(&failure->lock);

	if (first)
		ring_log(RING_WARN, "rank %d: %s", failure->team->rank, news->text);
	if (first && tell && links->lanes)
		ring_lanes_report(links->lanes, news);
	if (first)
		ring_bell_ring(&links->bell);
	return sticks;
}

int ring_comm_fail(struct ring_comm_failure *failure, int err, int culprit, const char *format, ...)
{
	struct ring_news news = {.err = err, .culprit = culprit};
	va_list args;
	va_start(args, format);
	vsnprintf(news.text, sizeof(news.text), format, args);
	va_end(args);
	return ring_comm_fail_with(failure, &news, true);
}

int ring_comm_refuse_with(struct ring_comm_failure *failure, int err, const char *call,
			  const char *format, va_list args)
{
	char text[RING_FAILURE_TEXT];
	vsnprintf(text, sizeof(text), format, args);
	pthread_mutex_lock(&failure->lock);
	failure->refused = (struct ring_failure){0};
	ring_fail(&failure->refused, err, "%s: %s", call, text);
	pthread_mutex_unlock(&failure->lock);
	return err;
}

int ring_comm_refuse(struct ring_comm_failure *failure, int err, const char *call,
		     const char *format, ...)
{
	va_list args;
	va_start(args, format);
	ring_comm_refuse_with(failure, err, call, format, args);
	va_end(args);
	return err;
}

int ring_comm_await_failure(struct ring_comm_failure *failure, uint64_t call)
{
	struct ring_bell *bell = &failure->links->bell;
	uint64_t now = ring_clock_ms(), until = now + RING_NEWS_MS;
	for (; now < until && !ring_comm_failed_in(failure, call); now = ring_clock_ms()) {
		uint32_t ticket = ring_bell_announce(bell, false);
		if (!ring_comm_failed_in(failure, call))
			ring_bell_sleep(bell, ticket, NULL, 0, (int)(until - now));
		ring_bell_awake(bell);
	}
	return ring_comm_failed_in(failure, call);
}

void ring_comm_add(struct ring_comm_failure *failure, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	pthread_mutex_lock(&failure->lock);
	char *text = failure->first.text;
	size_t length = strlen(text);
	vsnprintf(text + length, sizeof(failure->first.text) - length, format, args);
	pthread_mutex_unlock(&failure->lock);
	va_end(args);
}

void ring_comm_sentence(struct ring_comm_failure *failure, char text[RING_FAILURE_TEXT])
{
	pthread_mutex_lock(&failure->lock);
	const struct ring_failure *last = failure->first.err ? &failure->first : &failure->refused;
	memcpy(text, last->text, RING_FAILURE_TEXT);
	pthread_mutex_unlock(&failure->lock);
}

/* ---- what lanes and lookout tell ------------------------------------------------------------- */

void ring_comm_found_out(void *owner, const struct ring_news *news)
{
	ring_comm_fail_with(owner, news, true);
}

void ring_comm_heard(void *owner, const struct ring_news *news)
{
	ring_comm_fail_with(owner, news, false);
}

/* 0: prev; 1: next. Of two ranks each is both to the other. */
static int neighbour(const struct ring_comm_failure *failure, int i)
{
	const struct ring_placement *placement = &failure->team->placement;
	return i == 0 ? placement->prev.rank : placement->next.rank;
}

void ring_comm_neighbour_left(void *owner, int rank)
{
	struct ring_comm_failure *failure = owner;
	for (int i = 0; i < 2; i++) {
		if (neighbour(failure, i) != rank || ring_flag_is_raised(&failure->left[i]))
			continue;
		failure->left_ms[i] = ring_clock_ms();
		ring_flag_raise(&failure->left[i]);
	}
	ring_bell_ring(&failure->links->bell);
}

void ring_comm_neighbour_waits(void *owner, int rank, const struct ring_record *record)
{
	struct ring_comm_failure *failure = owner;
	pthread_mutex_lock(&failure->lock);
	for (int i = 0; i < 2; i++)
		if (neighbour(failure, i) == rank)
			failure->waits[i] = *record;
	pthread_mutex_unlock(&failure->lock);
	ring_bell_ring(&failure->links->bell);
}

int ring_comm_find_other_call(struct ring_comm_failure *failure, const struct ring_record *mine,
			      struct ring_record *theirs)
{
	int found = -1;
	pthread_mutex_lock(&failure->lock);
	for (int i = 0; i < 2 && found < 0; i++) {
		*theirs = failure->waits[i];
		if (ring_record_contradicts(theirs, mine))
			found = neighbour(failure, i);
	}
	pthread_mutex_unlock(&failure->lock);
	return found;
}

bool ring_comm_has_come_to(struct ring_comm_failure *failure, int peer, uint64_t sequence)
{
	bool has = false;
	pthread_mutex_lock(&failure->lock);
	for (int i = 0; i < 2; i++)
		has = has ||
		      (neighbour(failure, i) == peer && failure->waits[i].sequence >= sequence);
	pthread_mutex_unlock(&failure->lock);
	return has;
}

bool ring_comm_departed(const struct ring_comm_failure *failure, int peer, int grace_ms)
{
	for (int i = 0; i < 2; i++)
		if (ring_flag_is_raised(&failure->left[i]) &&
		    (peer == -1 || peer == neighbour(failure, i)) &&
		    ring_clock_ms() - failure->left_ms[i] >= (uint64_t)grace_ms)
			return true;
	return false;
}
