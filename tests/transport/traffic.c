/* SPDX-License-Identifier: MIT */
/* Traffic: what to send, how to check it, and running one end. */
#include "tests/transport/traffic.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "tests/transport/dice.h"

#define STUCK_MS 100000

bool traffic_init(struct traffic *traffic, struct ring_link *link, struct ring_bell *bell,
		  uint64_t seed, uint64_t messages)
{
	*traffic = (struct traffic){.link = link,
				    .bell = bell,
				    .seed = seed,
				    .dice = seed ^ link->outgoing,
				    .messages = messages,
				    .typical = 32};
	/* One more byte each: sources begin at any alignment. */
	traffic->sources = malloc(TRAFFIC_SOURCES * (link->slot_bytes + 1));
	return traffic->sources;
}

void traffic_free(struct traffic *traffic)
{
	free(traffic->sources);
	traffic->sources = NULL;
}

size_t traffic_bytes(const struct traffic *traffic, uint64_t message)
{
	uint64_t dice = traffic->seed + message;
	size_t limit = traffic->link->slot_bytes;
	if (dice_below(&dice, 64) > 0 && traffic->typical < limit)
		limit = traffic->typical;
	return 1 + dice_below(&dice, limit);
}

void traffic_fill(const struct traffic *traffic, uint64_t message, unsigned char *bytes)
{
	size_t count = traffic_bytes(traffic, message);
	uint64_t dice = ~(traffic->seed + message);
	for (size_t i = 0; i < count; i += 8) {
		uint64_t word = dice_roll(&dice);
		memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
	}
}

static bool is_message(const struct traffic *traffic, uint64_t message, const unsigned char *bytes,
		       size_t count)
{
	if (count != traffic_bytes(traffic, message))
		return false;
	uint64_t dice = ~(traffic->seed + message);
	for (size_t i = 0; i < count; i += 8) {
		uint64_t word = dice_roll(&dice);
		if (memcmp(bytes + i, &word, count - i < 8 ? count - i : 8) != 0)
			return false;
	}
	return true;
}

static bool send_next(struct traffic *traffic)
{
	struct ring_link *link = traffic->link;
	traffic->err = ring_link_poll(link);
	if (traffic->err || traffic->moved == traffic->messages ||
	    traffic->moved - link->sent == TRAFFIC_SOURCES)
		return false;
	unsigned char *source = traffic->sources +
				traffic->moved % TRAFFIC_SOURCES * (link->slot_bytes + 1);
	traffic_fill(traffic, traffic->moved, source);
	int err = ring_link_send(link, source, traffic_bytes(traffic, traffic->moved));
	if (err == 0)
		traffic->moved++;
	else if (err != RING_EAGAIN)
		traffic->err = err;
	return err == 0;
}

static bool receive_next(struct traffic *traffic)
{
	struct ring_link *link = traffic->link;
	traffic->err = ring_link_poll(link);
	if (link->arrived - link->released > link->depth)
		snprintf(traffic->wrong, sizeof(traffic->wrong), "more messages than slots");
	if (link->arrived == traffic->moved ||
	    (traffic->patient && dice_below(&traffic->dice, 4) == 0))
		return false;
	const struct ring_arrival *arrival = ring_link_arrival(link, traffic->moved);
	if (!is_message(traffic, traffic->moved, arrival->data, arrival->bytes))
		snprintf(traffic->wrong, sizeof(traffic->wrong),
			 "message %llu is not as it was sent", (unsigned long long)traffic->moved);
	ring_link_release(link);
	traffic->moved++;
	return true;
}

bool traffic_step(struct traffic *traffic)
{
	return traffic->link->outgoing ? send_next(traffic) : receive_next(traffic);
}

bool traffic_is_over(const struct traffic *traffic)
{
	const struct ring_link *link = traffic->link;
	bool all = traffic->moved == traffic->messages &&
		   (!link->outgoing || link->sent == traffic->moved);
	return all || traffic->err || traffic->wrong[0];
}

bool traffic_sleep(struct ring_link *link, struct ring_bell *bell, bool (*moved)(void *context),
		   void *context)
{
	struct pollfd look[2] = {{0}};
	look[0].fd = ring_link_wait_fd(link, &look[0].events);
	int nfds = look[0].fd >= 0;
	uint32_t ticket = ring_bell_announce(bell, nfds > 0);
	ring_link_arm(link);
	bool slept = !moved(context);
	uint64_t before = ring_clock_ms();
	if (slept && nfds > 0)
		look[0].fd = ring_link_wait_fd(link, &look[0].events);
	if (slept)
		ring_bell_sleep(bell, ticket, look, nfds, STUCK_MS);
	ring_bell_awake(bell);
	return !slept || ring_clock_ms() - before < STUCK_MS;
}

static bool step_or_end(void *context)
{
	return traffic_step(context) || traffic_is_over(context);
}

void traffic_run(struct traffic *traffic, bool sleeps)
{
	uint64_t since = ring_clock_ms();
	while (!traffic_is_over(traffic)) {
		if (traffic_step(traffic)) {
			since = ring_clock_ms();
			continue;
		}
		bool stuck = ring_clock_ms() - since > STUCK_MS;
		if (sleeps)
			stuck = !traffic_sleep(traffic->link, traffic->bell, step_or_end, traffic);
		else
			sched_yield();
		if (stuck)
			snprintf(traffic->wrong, sizeof(traffic->wrong), "stuck at message %llu",
				 (unsigned long long)traffic->moved);
	}
}
