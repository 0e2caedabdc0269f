/* SPDX-License-Identifier: MIT */
/* Letters over a socket pair: whole, in order, in any pieces, and refused when too long. */
#include "door/mail.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ringccl.h"

#define LIMIT 100000

static struct ring_mail here, there;

static int connect_both(void **state)
{
	(void)state;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		return -1;
	ring_mail_init(&here, pair[0], LIMIT);
	ring_mail_init(&there, pair[1], LIMIT);
	return 0;
}

static int close_both(void **state)
{
	(void)state;
	close(here.fd);
	close(there.fd);
	ring_mail_free(&here);
	ring_mail_free(&there);
	return 0;
}

static void assert_letter(uint32_t kind, const void *body, size_t bytes)
{
	uint32_t got_kind;
	const unsigned char *got;
	size_t got_bytes;
	assert_int_equal(ring_mail_next(&there, &got_kind, &got, &got_bytes), 0);
	assert_int_equal(got_kind, kind);
	assert_int_equal(got_bytes, bytes);
	assert_memory_equal(got, body, bytes);
}

static int next(void)
{
	uint32_t kind;
	const unsigned char *body;
	size_t bytes;
	return ring_mail_next(&there, &kind, &body, &bytes);
}

static void letters_arrive_in_order(void **state)
{
	(void)state;
	assert_int_equal(next(), RING_EAGAIN);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(ring_mail_post(&here, i, &i, i % 2 ? sizeof(i) : 0), 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_letter(i, &i, i % 2 ? sizeof(i) : 0);
	assert_int_equal(next(), RING_EAGAIN);
}

/* More than the socket takes waits in the queue. */
static void long_letters_wait(void **state)
{
	(void)state;
	unsigned char *body = malloc(LIMIT);
	for (size_t i = 0; i < LIMIT; i++)
		body[i] = (unsigned char)(i * 31);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(ring_mail_post(&here, i, body, LIMIT - i), 0);
	assert_true(ring_mail_pending(&here));
	for (uint32_t i = 0; i < 50; i++) {
		int err;
		while ((err = next()) == RING_EAGAIN)
			ring_mail_flush(&here);
		assert_int_equal(err, 0);
	}
	assert_false(ring_mail_pending(&here));
	free(body);
}

static void pieces_are_put_together(void **state)
{
	(void)state;
	const unsigned char letter[] = {7, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'};
	for (size_t i = 0; i < sizeof(letter); i++) {
		assert_int_equal(next(), RING_EAGAIN);
		assert_int_equal(write(here.fd, letter + i, 1), 1);
	}
	assert_letter(7, "abc", 3);
}

static void too_long_is_refused_before_it_came(void **state)
{
	(void)state;
	const unsigned char header[] = {7, 0, 0, 0, 0xa1, 0x86, 1, 0}; /* LIMIT + 1 */
	assert_int_equal(write(here.fd, header, sizeof(header)), sizeof(header));
	assert_int_equal(next(), RING_EPEER);
	assert_int_equal(there.cause, EPROTO);
}

static void last_letter_survives_the_end(void **state)
{
	(void)state;
	ring_mail_post(&here, 1, "bye", 3);
	shutdown(here.fd, SHUT_RDWR);
	assert_letter(1, "bye", 3);
	assert_int_equal(next(), RING_EPEER);
	assert_int_equal(there.cause, 0);
	assert_int_equal(ring_mail_post(&here, 1, "bye", 3), RING_EPEER);
}

/* A rank that had no memory for a letter took its neighbour for dead: what was reserved is enough for the longest. */
static void a_letter_needs_no_more_than_was_reserved(void **state)
{
	(void)state;
	static unsigned char body[LIMIT];
	assert_int_equal(ring_mail_reserve(&here), 0);
	assert_int_equal(ring_mail_reserve(&there), 0);
	const unsigned char *in = there.in, *out = here.out;
	assert_true(in && out);
	const size_t in_room = there.in_room, out_room = here.out_room;
	assert_int_equal(ring_mail_post(&here, 1, body, LIMIT), 0);
	int err;
	while ((err = next()) == RING_EAGAIN)
		ring_mail_flush(&here);
	assert_int_equal(err, 0);
	assert_ptr_equal(there.in, in);
	assert_ptr_equal(here.out, out);
	assert_int_equal(there.in_room, in_room);
	assert_int_equal(here.out_room, out_room);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, connect_both, close_both)
	const struct CMUnitTest tests[] = {
		TEST(letters_arrive_in_order),      TEST(long_letters_wait),
		TEST(pieces_are_put_together),      TEST(too_long_is_refused_before_it_came),
		TEST(last_letter_survives_the_end), TEST(a_letter_needs_no_more_than_was_reserved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
