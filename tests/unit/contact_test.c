/* SPDX-License-Identifier: MIT */
/*
 * Contacts and edges: any two ranks connect at any time, for a purpose of their choice, and who is
 * not there is told apart from who is slow.
 */
#include "door/edge.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"

#define JOB 4711
#define SLOT_BYTES 256

static const unsigned char secret[RING_SECRET_BYTES] = "fifteen letters";

/* One rank; two of them share this process's watcher. */
struct rank {
	struct ring_peer peer;
	struct ring_bell bell;
	struct ring_edge_ends ends;
};

static struct ring_watcher *watcher;
static struct rank ranks[2];

static int open_ranks(void **state)
{
	struct ring_config config;
	(void)state;
	assert_int_equal(ring_config_resolve(&config, NULL, NULL), 0);
	assert_int_equal(ring_watcher_hold(&watcher, &config, NULL, NULL), 0);
	for (int i = 0; i < 2; i++) {
		struct rank *rank = &ranks[i];
		*rank = (struct rank){
			.peer = {.rank = i,
				 .host = "host",
				 .tcp = *ring_watcher_address(watcher),
				 .process = ring_watcher_process(watcher)},
			.ends = {.self = i, .bell = &rank->bell, .peer_lost_ms = 5000},
		};
		snprintf(rank->peer.local, sizeof(rank->peer.local), "%s",
			 ring_watcher_local_name(watcher));
		assert_int_equal(ring_bell_create(&rank->bell), 0);
		assert_int_equal(ring_contact_open(&rank->ends.contact, watcher,
						   ring_watcher_address(watcher), JOB, secret, i,
						   NULL),
				 0);
	}
	return 0;
}

static int close_ranks(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		ring_contact_close(ranks[i].ends.contact);
		ring_bell_close(&ranks[i].bell);
	}
	ring_watcher_drop(watcher);
	return 0;
}

/* Sleeps as the owners of two edges do. */
static void wait_for(const struct ring_edge *edges)
{
	struct pollfd fds[4];
	int ms = 1000;
	for (int i = 0; i < 2; i++) {
		ring_edge_poll(&edges[i], &fds[i], &ms);
		fds[2 + i] = (struct pollfd){.fd = ring_contact_wake_fd(ranks[i].ends.contact),
					     .events = POLLIN};
	}
	poll(fds, 4, ms);
	for (int i = 0; i < 2; i++)
		ring_contact_awake(ranks[i].ends.contact);
}

/* Both ends of a connection from rank `from` to the other: edges[0] is rank 0's. */
static void make_edges(struct ring_edge *edges, int from, enum ring_role role, int channel,
		       int transport)
{
	uint64_t until_ms = ring_clock_ms() + 10000;
	int ready = 0;
	for (int i = 0; i < 2; i++)
		edges[i] = (struct ring_edge){
			.role = role,
			.channel = channel,
			.outgoing = i == from,
			.peer = &ranks[1 - i].peer,
			.transport = transport,
			.depth = 2,
			.slot_bytes = SLOT_BYTES,
		};
	while (ready < 2) {
		struct ring_failure failure = {0};
		ready = 0;
		for (int i = 0; i < 2; i++) {
			int err = ring_edge_step(&edges[i], &ranks[i].ends, &failure);
			if (err && err != RING_EAGAIN)
				fail_msg("%d %s", err, failure.text);
			ready += err == 0;
		}
		assert_true(ring_clock_ms() < until_ms);
		if (ready < 2)
			wait_for(edges);
	}
}

static void lanes_both_ways(void **state)
{
	(void)state;
	for (int from = 0; from < 2; from++) {
		struct ring_edge edges[2];
		char said;
		make_edges(edges, from, RING_ROLE_CONTROL, 0, 0);
		assert_int_equal(send(edges[from].fd, "x", 1, 0), 1);
		struct pollfd readable = {.fd = edges[1 - from].fd, .events = POLLIN};
		assert_int_equal(poll(&readable, 1, 10000), 1);
		assert_int_equal(read(readable.fd, &said, 1), 1);
		ring_edge_drop(&edges[0]);
		ring_edge_drop(&edges[1]);
	}
}

#define STRANGERS 80 /* more than may be in at once */

static void crowd_the_door(int strangers[STRANGERS])
{
	const struct sockaddr_storage *door = ring_watcher_address(watcher);
	for (int i = 0; i < STRANGERS; i++) {
		strangers[i] = socket(door->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(strangers[i] >= 0);
		assert_int_equal(connect(strangers[i], (const struct sockaddr *)door,
					 sizeof(struct sockaddr_in)),
				 0);
	}
}

/* A rank that had no CPU to greet in time was shown out, took itself for let in, and then its peer for dead. */
static void a_rank_that_was_shown_out_comes_again(void **state)
{
	(void)state;
	int strangers[STRANGERS];
	struct ring_edge edges[2];
	struct ring_failure failure = {0};
	for (int i = 0; i < 2; i++)
		edges[i] = (struct ring_edge){.role = RING_ROLE_CONTROL,
					      .outgoing = i == 0,
					      .peer = &ranks[1 - i].peer};
	ring_watcher_lock(watcher); /* nobody answers before it is slow */
	while (edges[0].dial.greeting.step == 0)
		assert_int_equal(ring_edge_step(&edges[0], &ranks[0].ends, &failure), RING_EAGAIN);
	ring_watcher_unlock(watcher);
	crowd_the_door(strangers);
	struct pollfd ended = {.fd = edges[0].dial.fd, .events = POLLRDHUP};
	assert_int_equal(poll(&ended, 1, 10000), 1);

	uint64_t until_ms = ring_clock_ms() + 10000;
	while (!edges[0].ready || !edges[1].ready) {
		for (int i = 0; i < 2; i++) {
			int err = ring_edge_step(&edges[i], &ranks[i].ends, &failure);
			if (err && err != RING_EAGAIN)
				fail_msg("%d %s", err, failure.text);
		}
		if (ring_clock_ms() >= until_ms)
			fail_msg("the caller is %s, the host %s", edges[0].ready ? "let in" : "not",
				 edges[1].ready ? "has it" : "has heard of nobody");
		wait_for(edges);
	}
	for (int i = 0; i < STRANGERS; i++)
		close(strangers[i]);
	ring_edge_drop(&edges[0]);
	ring_edge_drop(&edges[1]);
}

/* The first message of a link. */
static void carry(struct ring_link *out, struct ring_link *in, const char *message)
{
	uint64_t until_ms = ring_clock_ms() + 10000;
	size_t bytes = strlen(message) + 1;
	assert_int_equal(ring_link_send(out, message, bytes), 0);
	while (in->arrived == 0) {
		assert_int_equal(ring_link_poll(out), 0);
		assert_int_equal(ring_link_poll(in), 0);
		assert_true(ring_clock_ms() < until_ms);
	}
	assert_int_equal(ring_link_arrival(in, 0)->bytes, bytes);
	assert_string_equal(ring_link_arrival(in, 0)->data, message);
}

/* Links of every transport that this machine has, both ways, on several channels at once: none takes another's connection. */
static void links_by_channel(void **state)
{
	(void)state;
	char why[RING_ABSENT_TEXT];
	uint32_t present = ring_transports_present(NULL, why);
	for (int transport = 0; transport < ring_transport_count; transport++) {
		if (!(present >> transport & 1))
			continue;
		struct ring_edge edges[4][2];
		struct ring_link *links[4][2];
		static const char *const names[] = {"mesh 0", "mesh 1", "pair 0", "pair 1"};
		for (int i = 0; i < 4; i++)
			make_edges(edges[i], i % 2, RING_ROLE_DATA,
				   i < 2 ? RING_CHANNEL_MESH : RING_CHANNEL_PAIR, transport);
		for (int i = 0; i < 8; i++) {
			links[i / 2][i % 2] = ring_edge_take_link(&edges[i / 2][i % 2]);
			ring_edge_drop(&edges[i / 2][i % 2]);
		}
		for (int i = 3; i >= 0; i--) {
			assert_int_equal(links[i][0]->peer, 1);
			assert_int_equal(links[i][0]->slot_bytes, SLOT_BYTES);
			carry(links[i][i % 2], links[i][1 - i % 2], names[i]);
		}
		for (int i = 0; i < 8; i++)
			ring_link_close(links[i / 2][i % 2]);
	}
}

/* Drives one outgoing edge to its failure. returns how many milliseconds that took */
static uint64_t fail_to_reach(const struct ring_peer *peer, int transport, const char *words)
{
	struct ring_failure failure = {0};
	struct ring_edge edges[2] = {
		{.role = RING_ROLE_DATA, .outgoing = true, .peer = peer, .transport = transport},
		{.ready = true},
	};
	uint64_t begin_ms = ring_clock_ms();
	int err;
	while ((err = ring_edge_step(&edges[0], &ranks[0].ends, &failure)) == RING_EAGAIN)
		wait_for(edges);
	assert_int_equal(err, RING_EPEER);
	if (!strstr(failure.text, words))
		fail_msg("no \"%s\" in: %s", words, failure.text);
	ring_edge_drop(&edges[0]);
	return ring_clock_ms() - begin_ms;
}

/* Once of a few times, as others may keep the CPUs. */
static bool fails_within(uint64_t ms, const struct ring_peer *peer, int transport, const char *words)
{
	bool within = false;
	for (int i = 0; i < 5 && !within; i++)
		within = fail_to_reach(peer, transport, words) < ms;
	return within;
}

/* The process is there, the rank is not: it never was, or has closed its door. */
static void unknown_rank_is_refused(void **state)
{
	(void)state;
	struct ring_contact *gone;
	struct ring_peer peer = ranks[1].peer;
	peer.rank = 7;
	assert_int_equal(ring_contact_open(&gone, watcher, ring_watcher_address(watcher), JOB,
					   secret, 7, NULL),
			 0);
	ring_contact_close(gone);
	for (int transport = 0; transport < ring_transport_count; transport++)
		assert_true(fails_within(1500, &peer, transport, "rank 0 -> rank 7 (host host, "));
}

/* Nobody listens any more where its process was. */
static void dead_process_is_told_at_once(void **state)
{
	(void)state;
	struct ring_peer dead = ranks[1].peer;
	snprintf(dead.local, sizeof(dead.local), "ringccl-nobody");
	assert_true(fails_within(500, &dead, 0, "at its local socket: connect: "));
}

/* A connection of an attempt that was given up is closed, whether it came before or comes after. */
static void attempts_are_kept_apart(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct ring_purpose purpose = {.role = RING_ROLE_CONTROL, .outgoing = true};
		struct ring_dial dial;
		int fd = -1, fetched, err = RING_EAGAIN;
		uint32_t attempt = 2 * (uint32_t)late;
		for (int i = 0; i < 2; i++)
			ring_contact_renew(ranks[i].ends.contact, attempt);
		ring_contact_dial(ranks[0].ends.contact, &ranks[1].peer, &purpose, &dial);
		if (late)
			ring_contact_renew(ranks[1].ends.contact, attempt + 1);
		while (err == RING_EAGAIN) {
			err = ring_dial_step(&dial, &fd);
			usleep(1000);
		}
		assert_int_equal(err, 0);
		struct pollfd wake = {.fd = ring_contact_wake_fd(ranks[1].ends.contact),
				      .events = POLLIN};
		if (!late)
			assert_int_equal(poll(&wake, 1, 10000), 1);
		ring_contact_renew(ranks[1].ends.contact, attempt + 1);
		ring_contact_awake(ranks[1].ends.contact);

		struct pollfd closed = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&closed, 1, 10000), 1);
		purpose.outgoing = false;
		assert_int_equal(ring_contact_fetch(ranks[1].ends.contact, &ranks[0].peer, &purpose,
						    &fetched, NULL),
				 RING_EAGAIN);
		ring_fd_close(fd);
	}
}

/* Dropped halfway, an edge leaves nothing behind; the next one for the same purpose works. */
static void dropped_at_every_step(void **state)
{
	(void)state;
	for (int steps = 0; steps < 20; steps++) {
		struct ring_edge edges[2];
		ring_contact_renew(ranks[0].ends.contact, 100 + (uint32_t)steps);
		ring_contact_renew(ranks[1].ends.contact, 100 + (uint32_t)steps);
		make_edges(edges, 0, RING_ROLE_DATA, RING_CHANNEL_PAIR, 0);
		ring_edge_drop(&edges[0]);
		ring_edge_drop(&edges[1]);
		struct ring_edge half = {.role = RING_ROLE_DATA,
					 .channel = RING_CHANNEL_PAIR,
					 .outgoing = true,
					 .peer = &ranks[1].peer,
					 .depth = 2};
		for (int i = 0; i < steps; i++)
			ring_edge_step(&half, &ranks[0].ends, NULL);
		ring_edge_drop(&half);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_both_ways),
		cmocka_unit_test(a_rank_that_was_shown_out_comes_again),
		cmocka_unit_test(links_by_channel),
		cmocka_unit_test(unknown_rank_is_refused),
		cmocka_unit_test(dead_process_is_told_at_once),
		cmocka_unit_test(attempts_are_kept_apart),
		cmocka_unit_test(dropped_at_every_step),
	};
	return cmocka_run_group_tests(tests, open_ranks, close_ranks);
}
