/* SPDX-License-Identifier: MIT */
/* Greetings over a socket pair: who is let in, who is not, and that not one byte too many is read. */
#include "door/greeting.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const unsigned char secret[RING_SECRET_BYTES] = "fifteen letters";
static const struct ring_hello hello = {.job = 0x1122334455667788,
					.role = RING_ROLE_DATA,
					.from = 3,
					.to = 4,
					.channel = 2,
					.attempt = 1};

static int pair[2];
static struct ring_greeting caller, host;

static bool know_secret(void *context, const struct ring_hello *said, unsigned char *found)
{
	(void)context;
	memcpy(found, secret, RING_SECRET_BYTES);
	return said->job == hello.job && said->to == hello.to;
}

static int connect_both(void **state)
{
	(void)state;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		return -1;
	ring_greeting_connecting(&caller, pair[0], &hello, secret);
	ring_greeting_listening(&host, pair[1], know_secret, NULL);
	return 0;
}

static int close_both(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* Lets both talk until neither goes on. A greeting that failed hangs up. */
static void greet(int *caller_err, int *host_err)
{
	short events;
	*caller_err = *host_err = RING_EAGAIN;
	for (int i = 0; i < 8; i++) {
		if (*caller_err == RING_EAGAIN)
			*caller_err = ring_greeting_step(&caller, &events, NULL);
		if (*caller_err == RING_EPEER)
			shutdown(pair[0], SHUT_RDWR);
		if (*host_err == RING_EAGAIN)
			*host_err = ring_greeting_step(&host, &events, NULL);
		if (*host_err == RING_EPEER)
			shutdown(pair[1], SHUT_RDWR);
	}
}

static void assert_refused(enum ring_stranger stranger)
{
	int caller_err, host_err;
	greet(&caller_err, &host_err);
	assert_int_equal(caller_err, RING_EPEER);
	assert_int_equal(host_err, RING_EPEER);
	assert_int_equal(host.stranger, stranger);
}

static void friends_prove_themselves(void **state)
{
	(void)state;
	int caller_err, host_err;
	greet(&caller_err, &host_err);
	assert_int_equal(caller_err, 0);
	assert_int_equal(host_err, 0);
	assert_int_equal(host.hello.job, hello.job);
	assert_int_equal(host.hello.role, hello.role);
	assert_int_equal(host.hello.from, hello.from);
	assert_int_equal(host.hello.to, hello.to);
	assert_int_equal(host.hello.channel, hello.channel);
	assert_int_equal(host.hello.attempt, hello.attempt);
}

/* What follows a greeting belongs to whoever takes over the connection. */
static void nothing_more_is_read(void **state)
{
	(void)state;
	short events;
	char first;
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EAGAIN);
	assert_int_equal(events, POLLIN);
	assert_int_equal(ring_greeting_step(&host, &events, NULL), RING_EAGAIN);
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EAGAIN);
	assert_int_equal(ring_greeting_step(&host, &events, NULL), 0);
	assert_int_equal(write(pair[1], "!", 1), 1);
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), 0);
	assert_int_equal(read(pair[0], &first, 1), 1);
	assert_int_equal(first, '!');
}

/* Whenever the host has no time for it, the caller knows that it has not met anybody, and why. */
static void who_is_put_off_comes_again(void **state)
{
	short events;
	for (int steps = 0; steps < 2; steps++) {
		assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EAGAIN);
		if (steps)
			assert_int_equal(ring_greeting_step(&host, &events, NULL), RING_EAGAIN);
		ring_greeting_postpone(&host);
		shutdown(pair[1], SHUT_WR);
		assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EPEER);
		assert_int_equal(caller.stranger, RING_STRANGER_AGAIN);
		close_both(state);
		connect_both(state);
	}
}

static void wrong_secret_is_refused(void **state)
{
	(void)state;
	caller.secret[0] ^= 1;
	int caller_err, host_err;
	greet(&caller_err, &host_err);
	assert_int_equal(caller_err, RING_EPEER);
	assert_int_equal(caller.stranger, RING_STRANGER_SECRET);
	assert_int_equal(host_err, RING_EPEER);
}

/* The caller must prove itself too: an answer that is no proof is refused. */
static void wrong_proof_is_refused(void **state)
{
	(void)state;
	short events;
	unsigned char challenge[56], proof[32] = {0};
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EAGAIN);
	assert_int_equal(ring_greeting_step(&host, &events, NULL), RING_EAGAIN);
	assert_int_equal(read(pair[0], challenge, sizeof(challenge)), sizeof(challenge));
	memcpy(proof, challenge + 24, sizeof(proof)); /* the host's own proof, sent back */
	assert_int_equal(write(pair[0], proof, sizeof(proof)), sizeof(proof));
	assert_int_equal(ring_greeting_step(&host, &events, NULL), RING_EPEER);
	assert_int_equal(host.stranger, RING_STRANGER_SECRET);
}

static void unknown_job_is_refused(void **state)
{
	(void)state;
	caller.hello.job++;
	assert_refused(RING_STRANGER_JOB);
}

static void senseless_role_is_refused(void **state)
{
	(void)state;
	caller.hello.role = 17;
	assert_refused(RING_STRANGER_NOISE);
}

static void noise_is_refused_at_its_first_byte(void **state)
{
	(void)state;
	short events;
	struct ring_failure failure = {0};
	assert_int_equal(write(pair[0], "G", 1), 1);
	assert_int_equal(ring_greeting_step(&host, &events, &failure), RING_EPEER);
	assert_int_equal(host.stranger, RING_STRANGER_NOISE);
	assert_string_equal(failure.text, "it does not speak ringccl's protocol");
}

static void other_version_is_told_apart(void **state)
{
	(void)state;
	short events;
	unsigned char other[8] = "ring\x63"; /* whatever length its hello has */
	assert_int_equal(write(pair[0], other, sizeof(other)), sizeof(other));
	assert_int_equal(ring_greeting_step(&host, &events, NULL), RING_EPEER);
	assert_int_equal(host.stranger, RING_STRANGER_VERSION);
}

/* What both can do is agreed; what one alone can do is not used. */
static void common_features_are_agreed(void **state)
{
	(void)state;
	int caller_err, host_err;
	caller.features[0] = (struct ring_features){.offered = 0x7, .required = 0x2};
	host.features[1] = (struct ring_features){.offered = 0xe, .required = 0x4};
	greet(&caller_err, &host_err);
	assert_int_equal(caller_err, 0);
	assert_int_equal(host_err, 0);
	assert_int_equal(caller.agreed, 0x6);
	assert_int_equal(host.agreed, 0x6);
}

static void assert_features_refused(const char *caller_says, const char *host_says)
{
	short events;
	struct ring_failure failures[2] = {0};
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EAGAIN);
	assert_int_equal(ring_greeting_step(&host, &events, &failures[1]), RING_EPEER);
	shutdown(pair[1], SHUT_RDWR);
	assert_int_equal(ring_greeting_step(&caller, &events, &failures[0]), RING_EPEER);
	assert_int_equal(caller.stranger, RING_STRANGER_FEATURES);
	assert_int_equal(host.stranger, RING_STRANGER_FEATURES);
	assert_non_null(strstr(failures[0].text, caller_says));
	assert_non_null(strstr(failures[1].text, host_says));
}

/* A rank of a later version that insists on encryption was let in, and spoke in clear or nonsense. */
static void unknown_required_feature_is_refused(void **state)
{
	(void)state;
	caller.features[0] = (struct ring_features){.offered = 0x10, .required = 0x10};
	assert_features_refused(
		"does not offer features of the protocol that are required here (bits 0x10)",
		"requires features of the protocol that are not offered here (bits 0x10)");
}

static void host_may_require_too(void **state)
{
	(void)state;
	host.features[1] = (struct ring_features){.offered = 0x30, .required = 0x20};
	assert_features_refused(
		"requires features of the protocol that are not offered here (bits 0x20)",
		"does not offer features of the protocol that are required here (bits 0x20)");
}

/* Somebody on the way cannot talk two ranks out of what both offer. */
static void features_are_proved(void **state)
{
	(void)state;
	short events;
	unsigned char said[60];
	caller.features[0].offered = host.features[1].offered = 1;
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EAGAIN);
	assert_int_equal(read(pair[1], said, sizeof(said)), sizeof(said));
	assert_int_equal(said[36], 1);
	said[36] = 0;
	assert_int_equal(write(pair[0], said, sizeof(said)), sizeof(said));
	assert_int_equal(ring_greeting_step(&host, &events, NULL), RING_EAGAIN);
	assert_int_equal(ring_greeting_step(&caller, &events, NULL), RING_EPEER);
	assert_int_equal(caller.stranger, RING_STRANGER_SECRET);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, connect_both, close_both)
	const struct CMUnitTest tests[] = {
		TEST(friends_prove_themselves),
		TEST(nothing_more_is_read),
		TEST(who_is_put_off_comes_again),
		TEST(wrong_secret_is_refused),
		TEST(wrong_proof_is_refused),
		TEST(unknown_job_is_refused),
		TEST(senseless_role_is_refused),
		TEST(noise_is_refused_at_its_first_byte),
		TEST(other_version_is_told_apart),
		TEST(common_features_are_agreed),
		TEST(unknown_required_feature_is_refused),
		TEST(host_may_require_too),
		TEST(features_are_proved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
