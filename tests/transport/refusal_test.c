/* SPDX-License-Identifier: MIT */
/*
 * What a broken or hostile other end may do: say nonsense while a link is set up, pass descriptors
 * that are not what they should be, or send bytes that are no messages. Each is refused.
 */
#include <endian.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "ringccl.h"
#include "tests/transport/pair.h"
#include "transport/memory/offer.h"
#include "transport/sealed.h"
#include "transport/slot_fifo.h"
#include "transport/tcp/link.h"

#define DEPTH 4
#define SLOT_BYTES 1000

/* One end under test; the test itself is the other end of its socket. */
struct stage {
	struct pair pair;
	struct ring_link *link;
	int peer;
};

static void open_stage(struct stage *stage, const struct ring_transport *transport, int end)
{
	int fds[2];
	assert_true(pair_init(&stage->pair));
	assert_true(pair_sockets(transport->lane, fds));
	struct ring_link_params params = pair_params(&stage->pair, end, fds[end], DEPTH, SLOT_BYTES);
	assert_int_equal(transport->open(&params, &stage->pair.ends[end]), 0);
	stage->link = stage->pair.ends[end];
	stage->peer = fds[!end];
}

static void close_stage(struct stage *stage)
{
	pair_close(&stage->pair);
	close(stage->peer);
}

static int finish(struct stage *stage)
{
	return ring_link_finish(stage->link);
}

static struct ring_offer right_offer(void)
{
	return (struct ring_offer){.depth = DEPTH, .slot_bytes = SLOT_BYTES};
}

static int sealed_memory(size_t bytes, unsigned depth)
{
	int fd;
	void *memory;
	assert_int_equal(ring_sealed_create("test", bytes, &fd, &memory), 0);
	struct ring_fifo *fifo = memory;
	fifo->depth = depth;
	fifo->slot_bytes = SLOT_BYTES;
	munmap(memory, bytes);
	return fd;
}

/* A shm sender is offered this; returns what it says to it. */
static int offer_to_sender(const struct ring_offer *offer, int memory_fd, int nfds)
{
	struct stage stage;
	open_stage(&stage, &ring_transport_shm, SENDER);
	struct ring_bell *bell = &stage.pair.bells[RECEIVER];
	int fds[] = {bell->memory_fd, bell->event_fd, memory_fd};
	assert_int_equal(finish(&stage), RING_EAGAIN);
	assert_int_equal(ring_offer_send(stage.peer, offer, fds, nfds), 0);
	int err = finish(&stage);
	ring_fd_close(memory_fd);
	close_stage(&stage);
	return err;
}

static void shm_refuses_wrong_memory(void **state)
{
	(void)state;
	size_t bytes = ring_fifo_memory(DEPTH, SLOT_BYTES);
	struct ring_offer offer = right_offer();
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes, DEPTH), 3), 0);

	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes - 64, DEPTH), 3), RING_EPEER);
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes + 64, DEPTH), 3), RING_EPEER);
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes, DEPTH + 1), 3), RING_EPEER);
	assert_int_equal(offer_to_sender(&offer, open("/dev/zero", O_RDWR), 3), RING_EPEER);
	int unsealed = ring_fd_memory("test");
	assert_int_equal(ftruncate(unsealed, (off_t)bytes), 0);
	assert_int_equal(offer_to_sender(&offer, unsealed, 3), RING_EPEER);
}

static void shm_refuses_wrong_offers(void **state)
{
	(void)state;
	size_t bytes = ring_fifo_memory(DEPTH, SLOT_BYTES);
	struct ring_offer offer = right_offer();
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes, DEPTH), 2), RING_EPEER);
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes, DEPTH), 0), RING_EPEER);
	offer.depth++;
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes, DEPTH), 3), RING_EPEER);
	offer = right_offer();
	offer.slot_bytes--;
	assert_int_equal(offer_to_sender(&offer, sealed_memory(bytes, DEPTH), 3), RING_EPEER);
}

static void shm_receiver_refuses_wrong_bells(void **state)
{
	(void)state;
	for (int wrong = 0; wrong < 3; wrong++) {
		struct stage stage;
		struct ring_offer offer = right_offer();
		open_stage(&stage, &ring_transport_shm, RECEIVER);
		struct ring_bell *bell = &stage.pair.bells[SENDER];
		int fds[] = {wrong == 1 ? bell->event_fd : bell->memory_fd,
			     wrong == 2 ? bell->memory_fd : bell->event_fd};
		assert_int_equal(ring_offer_send(stage.peer, &offer, fds, 2), 0);
		assert_int_equal(finish(&stage), wrong ? RING_EPEER : 0);
		close_stage(&stage);
	}
}

static void set_up_refuses_garbage(void **state)
{
	(void)state;
	static const struct ring_transport *const transports[] = {&ring_transport_loopback,
								  &ring_transport_shm};
	static const char garbage[] = "GET / HTTP/1.1\r\nHost: ring\r\nUser-Agent: scanner\r\n\r\n";
	for (int i = 0; i < 4; i++) {
		struct stage stage;
		open_stage(&stage, transports[i / 2], i % 2);
		assert_int_equal(write(stage.peer, garbage, sizeof(garbage)), sizeof(garbage));
		assert_int_equal(finish(&stage), RING_EPEER);
		close_stage(&stage);

		open_stage(&stage, transports[i / 2], i % 2);
		assert_int_equal(write(stage.peer, garbage, 5), 5);
		assert_int_equal(finish(&stage), RING_EAGAIN);
		shutdown(stage.peer, SHUT_WR);
		assert_int_equal(finish(&stage), RING_EPEER);
		close_stage(&stage);
	}
}

static void loopback_refuses_wrong_tokens(void **state)
{
	(void)state;
	for (int end = 0; end < 2; end++) {
		struct stage stage;
		struct ring_offer offer = right_offer();
		memset(offer.token, 'x', sizeof(offer.token));
		open_stage(&stage, &ring_transport_loopback, end);
		assert_int_equal(ring_offer_send(stage.peer, &offer, NULL, 0), 0);
		assert_int_equal(finish(&stage), RING_EPEER);
		close_stage(&stage);
	}
}

/* The receiver's own token sent back, by somebody who never joined. */
static void loopback_refuses_an_echo(void **state)
{
	(void)state;
	struct stage stage;
	struct ring_offer offer;
	open_stage(&stage, &ring_transport_loopback, RECEIVER);
	assert_int_equal(finish(&stage), RING_EAGAIN);
	assert_int_equal(read(stage.peer, &offer, sizeof(offer)), sizeof(offer));
	assert_int_equal(write(stage.peer, &offer, sizeof(offer)), sizeof(offer));
	assert_int_equal(finish(&stage), RING_EPEER);
	close_stage(&stage);
}

/* ---- after set-up ---- */

/* A peer that shares the FIFO with a receiver and writes what it likes. */
static struct ring_fifo *share_fifo(struct stage *stage)
{
	struct ring_offer offer = right_offer();
	struct ring_offer_inbox inbox = {0};
	void *memory;
	open_stage(stage, &ring_transport_shm, RECEIVER);
	assert_int_equal(finish(stage), RING_EAGAIN);
	assert_int_equal(ring_offer_receive(stage->peer, &inbox, &offer, 3), 0);
	assert_int_equal(ring_sealed_map(inbox.fds[2], ring_fifo_memory(DEPTH, SLOT_BYTES), &memory),
			 0);
	ring_offer_discard(&inbox);
	struct ring_bell *bell = &stage->pair.bells[SENDER];
	int fds[] = {bell->memory_fd, bell->event_fd};
	assert_int_equal(ring_offer_send(stage->peer, &offer, fds, 2), 0);
	assert_int_equal(finish(stage), 0);
	return memory;
}

static void shm_refuses_a_broken_fifo(void **state)
{
	(void)state;
	static const struct {
		uint64_t number, bytes;
		int expected;
	} tries[] = {{1, SLOT_BYTES, 0},
		     {1, SLOT_BYTES + 1, RING_EPEER},
		     {1, 0, RING_EPEER},
		     {2, 1, RING_EPEER},
		     {UINT32_MAX, 1, RING_EPEER}};
	for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct stage stage;
		struct ring_fifo *fifo = share_fifo(&stage);
		atomic_store(&fifo->flags[0].word, tries[i].number << 32 | tries[i].bytes);
		assert_int_equal(ring_link_poll(stage.link), tries[i].expected);
		munmap(fifo, ring_fifo_memory(DEPTH, SLOT_BYTES));
		close_stage(&stage);
	}
}

static int poll_until_error(struct ring_link *link)
{
	uint64_t deadline = ring_clock_ms() + 10000;
	int err = 0;
	while (!err && ring_clock_ms() < deadline)
		err = ring_link_poll(link);
	return err;
}

static void tcp_refuses_wrong_headers(void **state)
{
	(void)state;
	const uint64_t above = (uint64_t)1 << 32;
	const struct ring_tcp_header headers[] = {{0, 0},          {SLOT_BYTES + 1, 0},
						  {UINT64_MAX, 0}, {8 + above, 0},
						  {8, 1},          {8, UINT64_MAX},
						  {8, above}};
	for (unsigned i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct stage stage;
		uint64_t words[3] = {htole64(headers[i].bytes), htole64(headers[i].number), 0};
		open_stage(&stage, &ring_transport_tcp, RECEIVER);
		assert_int_equal(finish(&stage), 0);
		assert_int_equal(write(stage.peer, words, sizeof(words)), sizeof(words));
		assert_int_equal(poll_until_error(stage.link), RING_EPEER);
		assert_int_equal(stage.link->arrived, 0);
		close_stage(&stage);
	}
}

static void tcp_never_shows_half_a_message(void **state)
{
	(void)state;
	static const uint64_t stream[] = {8, 0, 0x11111111, 16, 1, 0x22222222, 0x33333333};
	uint64_t bytes[sizeof(stream) / sizeof(stream[0])];
	for (unsigned i = 0; i < sizeof(stream) / sizeof(stream[0]); i++)
		bytes[i] = htole64(stream[i]);
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		struct stage stage;
		open_stage(&stage, &ring_transport_tcp, RECEIVER);
		assert_int_equal(write(stage.peer, bytes, cut), cut);
		shutdown(stage.peer, SHUT_WR);
		uint64_t whole = cut == sizeof(bytes) ? 2 : cut >= 24;
		while (stage.link->arrived < whole)
			assert_int_equal(ring_link_poll(stage.link), 0);
		while (stage.link->released < whole)
			ring_link_release(stage.link);
		assert_int_equal(poll_until_error(stage.link), RING_EPEER);
		assert_int_equal(stage.link->arrived, whole);
		close_stage(&stage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shm_refuses_wrong_memory),
		cmocka_unit_test(shm_refuses_wrong_offers),
		cmocka_unit_test(shm_receiver_refuses_wrong_bells),
		cmocka_unit_test(set_up_refuses_garbage),
		cmocka_unit_test(loopback_refuses_wrong_tokens),
		cmocka_unit_test(loopback_refuses_an_echo),
		cmocka_unit_test(shm_refuses_a_broken_fifo),
		cmocka_unit_test(tcp_refuses_wrong_headers),
		cmocka_unit_test(tcp_never_shows_half_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
