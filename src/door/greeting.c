/* SPDX-License-Identifier: MIT */
/*
 * The greeting's four messages and who may say what next. Each end is a table of steps; a step is
 * a message that is written once it is this end's turn, or checked once it has arrived whole.
 */
#include "greeting.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fork_lock.h"
#include "base/wire.h"

#define MAGIC "ring"
#define MAGIC_BYTES 4
#define OPENING_BYTES (MAGIC_BYTES + 4) /* with the version: every version begins like this */
#define NONCE_BYTES 16
#define PROOF_BYTES 32
#define FEATURES_BYTES 8
#define HELLO_BYTES (MAGIC_BYTES + 4 + 8 + 5 * 4 + FEATURES_BYTES + NONCE_BYTES)
#define CHALLENGE_BYTES (FEATURES_BYTES + NONCE_BYTES + PROOF_BYTES)
#define WELCOME 'w'
#define COME_AGAIN 0 /* a challenge that is all zero also says it */

_Static_assert(HELLO_BYTES <= 64 && CHALLENGE_BYTES <= 64, "messages fit the buffer");

/* One message as one end sees it. */
struct step {
	bool send;
	size_t bytes;
	void (*write)(struct ring_greeting *greeting); /* send: fills the buffer */
	/* once it is here, or sent, whole */
	int (*check)(struct ring_greeting *greeting, struct ring_failure *failure);
};

RING_FORK_LOCK(starting)

/*
 * libsodium allows its initialization any number of times, from any thread, under a lock of its
 * own.
 */
void ring_random(void *bytes, size_t count)
{
	starting_take();
	int failed = sodium_init() < 0;
	starting_give();
	if (failed)
		abort(); /* as libsodium itself does when the kernel has no randomness */
	randombytes_buf(bytes, count);
}

static unsigned char *connecting_nonce(struct ring_greeting *greeting)
{
	return greeting->nonces;
}

static unsigned char *listening_nonce(struct ring_greeting *greeting)
{
	return greeting->nonces + NONCE_BYTES;
}

static int refuse(struct ring_greeting *greeting, struct ring_failure *failure,
		  enum ring_stranger stranger, const char *reason)
{
	greeting->stranger = stranger;
	return ring_fail(failure, RING_EPEER, "%s", reason);
}

static void wire_hello(struct ring_wire *wire, struct ring_hello *hello)
{
	ring_wire_u64(wire, &hello->job);
	ring_wire_u32(wire, &hello->role);
	ring_wire_int(wire, &hello->from);
	ring_wire_int(wire, &hello->to);
	ring_wire_int(wire, &hello->channel);
	ring_wire_u32(wire, &hello->attempt);
}

static void wire_features(struct ring_wire *wire, struct ring_features *features)
{
	ring_wire_u32(wire, &features->offered);
	ring_wire_u32(wire, &features->required);
}

/* What only this end can say: `side` keeps a proof from being sent back as the other's. */
static void prove(struct ring_greeting *greeting, char side, unsigned char *proof)
{
	unsigned char said[HELLO_BYTES + FEATURES_BYTES];
	struct ring_wire wire = ring_wire_writer(said, sizeof(said));
	wire_hello(&wire, &greeting->hello);
	wire_features(&wire, &greeting->features[0]);
	wire_features(&wire, &greeting->features[1]);

	crypto_generichash_state hash;
	crypto_generichash_init(&hash, greeting->secret, RING_SECRET_BYTES, PROOF_BYTES);
	crypto_generichash_update(&hash, (const unsigned char *)&side, 1);
	crypto_generichash_update(&hash, said, wire.at);
	crypto_generichash_update(&hash, greeting->nonces, sizeof(greeting->nonces));
	crypto_generichash_final(&hash, proof, PROOF_BYTES);
}

static bool is_proved(struct ring_greeting *greeting, char side, const unsigned char *proof)
{
	unsigned char expected[PROOF_BYTES];
	prove(greeting, side, expected);
	return sodium_memcmp(expected, proof, PROOF_BYTES) == 0;
}

static void write_hello(struct ring_greeting *greeting)
{
	uint32_t version = RING_WIRE_VERSION;
	struct ring_wire wire = ring_wire_writer(greeting->buffer, sizeof(greeting->buffer));
	ring_random(connecting_nonce(greeting), NONCE_BYTES);
	ring_wire_bytes(&wire, (void *)MAGIC, MAGIC_BYTES);
	ring_wire_u32(&wire, &version);
	wire_hello(&wire, &greeting->hello);
	wire_features(&wire, &greeting->features[0]);
	ring_wire_bytes(&wire, connecting_nonce(greeting), NONCE_BYTES);
}

static int check_hello(struct ring_greeting *greeting, struct ring_failure *failure)
{
	struct ring_hello *hello = &greeting->hello;
	struct ring_wire wire = ring_wire_reader(greeting->buffer + OPENING_BYTES,
						 HELLO_BYTES - OPENING_BYTES);
	wire_hello(&wire, hello);
	wire_features(&wire, &greeting->features[0]);
	ring_wire_bytes(&wire, connecting_nonce(greeting), NONCE_BYTES);
	if (hello->role < RING_ROLE_JOIN || hello->role > RING_ROLE_DATA || hello->from < 0 ||
	    (hello->role == RING_ROLE_JOIN) != (hello->to == RING_RANK_ROOT))
		return refuse(greeting, failure, RING_STRANGER_NOISE, "its hello makes no sense");
	if (!greeting->find_secret(greeting->context, hello, greeting->secret))
		return refuse(greeting, failure, RING_STRANGER_JOB,
			      "it asks for a communicator that is not here");
	return 0;
}

/*
 * The listening end checks after its challenge is sent, so that the other knows why it is refused.
 */
static int check_features(struct ring_greeting *greeting, struct ring_failure *failure)
{
	const struct ring_features *own = &greeting->features[greeting->listening];
	const struct ring_features *theirs = &greeting->features[!greeting->listening];
	uint32_t unknown = theirs->required & ~own->offered;
	uint32_t missing = own->required & ~theirs->offered;
	greeting->agreed = own->offered & theirs->offered;
	if (!unknown && !missing)
		return 0;
	greeting->stranger = RING_STRANGER_FEATURES;
	return ring_fail(
		failure, RING_EPEER,
		unknown ? "it requires features of the protocol that are not offered here "
			  "(bits %#x); have all ranks the same version and options?"
			: "it does not offer features of the protocol that are required here "
			  "(bits %#x); have all ranks the same version and options?",
		unknown ? unknown : missing);
}

static void write_challenge(struct ring_greeting *greeting)
{
	struct ring_wire wire = ring_wire_writer(greeting->buffer, sizeof(greeting->buffer));
	ring_random(listening_nonce(greeting), NONCE_BYTES);
	wire_features(&wire, &greeting->features[1]);
	ring_wire_bytes(&wire, listening_nonce(greeting), NONCE_BYTES);
	prove(greeting, 'l', greeting->buffer + wire.at);
}

static int come_again(struct ring_greeting *greeting, struct ring_failure *failure)
{
	return refuse(greeting, failure, RING_STRANGER_AGAIN, "too many came at once");
}

/* A challenge has a nonce, which is never all zero. */
static int check_challenge(struct ring_greeting *greeting, struct ring_failure *failure)
{
	struct ring_wire wire = ring_wire_reader(greeting->buffer, CHALLENGE_BYTES);
	if (sodium_is_zero(greeting->buffer, CHALLENGE_BYTES))
		return come_again(greeting, failure);
	wire_features(&wire, &greeting->features[1]);
	ring_wire_bytes(&wire, listening_nonce(greeting), NONCE_BYTES);
	if (!is_proved(greeting, 'l', greeting->buffer + wire.at))
		return refuse(greeting, failure, RING_STRANGER_SECRET,
			      "it does not know this communicator's secret");
	return check_features(greeting, failure);
}

static void write_proof(struct ring_greeting *greeting)
{
	prove(greeting, 'c', greeting->buffer);
}

static int check_proof(struct ring_greeting *greeting, struct ring_failure *failure)
{
	if (!is_proved(greeting, 'c', greeting->buffer))
		return refuse(greeting, failure, RING_STRANGER_SECRET,
			      "it does not know this communicator's secret");
	return 0;
}

static void write_welcome(struct ring_greeting *greeting)
{
	greeting->buffer[0] = WELCOME;
}

static int check_welcome(struct ring_greeting *greeting, struct ring_failure *failure)
{
	if (greeting->buffer[0] == COME_AGAIN)
		return come_again(greeting, failure);
	if (greeting->buffer[0] != WELCOME)
		return refuse(greeting, failure, RING_STRANGER_NOISE, "its welcome makes no sense");
	return 0;
}

#define STEPS 4

static const struct step steps_connecting[STEPS] = {
	{.send = true, .bytes = HELLO_BYTES, .write = write_hello},
	{.bytes = CHALLENGE_BYTES, .check = check_challenge},
	{.send = true, .bytes = PROOF_BYTES, .write = write_proof},
	{.bytes = 1, .check = check_welcome},
};

static const struct step steps_listening[STEPS] = {
	{.bytes = HELLO_BYTES, .check = check_hello},
	{.send = true, .bytes = CHALLENGE_BYTES, .write = write_challenge, .check = check_features},
	{.bytes = PROOF_BYTES, .check = check_proof},
	{.send = true, .bytes = 1, .write = write_welcome},
};

void ring_greeting_connecting(struct ring_greeting *greeting, int fd,
			      const struct ring_hello *hello, const unsigned char *secret)
{
	*greeting = (struct ring_greeting){.fd = fd,
					   .hello = *hello,
					   .features = {RING_FEATURES, {0, 0}}};
	memcpy(greeting->secret, secret, RING_SECRET_BYTES);
}

void ring_greeting_listening(struct ring_greeting *greeting, int fd,
			     ring_secret_finder *find_secret, void *context)
{
	*greeting = (struct ring_greeting){.fd = fd,
					   .listening = true,
					   .find_secret = find_secret,
					   .context = context,
					   .features = {{0, 0}, RING_FEATURES}};
}

/* Moves the rest of the message on its way. returns 0; RING_EAGAIN; RING_EPEER */
static int move_message(struct ring_greeting *greeting, const struct step *step,
			struct ring_failure *failure)
{
	while (greeting->done < step->bytes) {
		unsigned char *rest = greeting->buffer + greeting->done;
		size_t bytes = step->bytes - greeting->done;
		ssize_t moved = step->send ? send(greeting->fd, rest, bytes,
						  MSG_NOSIGNAL | MSG_DONTWAIT)
					   : recv(greeting->fd, rest, bytes, MSG_DONTWAIT);
		if (moved > 0)
			greeting->done += (size_t)moved;
		else if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return RING_EAGAIN;
		else if (moved == 0 || errno != EINTR)
			return refuse(greeting, failure, RING_STRANGER_LEFT,
				      "it closed the connection instead of greeting");
	}
	return 0;
}

/* A hello that does not begin as one is refused before all of it came. */
static bool is_noise(const struct ring_greeting *greeting)
{
	size_t known = greeting->done < MAGIC_BYTES ? greeting->done : MAGIC_BYTES;
	return greeting->listening && greeting->step == 0 &&
	       memcmp(greeting->buffer, MAGIC, known) != 0;
}

/* Its hello may have another length: that much of it is enough. */
static bool is_other_version(const struct ring_greeting *greeting)
{
	uint32_t version = 0;
	struct ring_wire wire = ring_wire_reader(greeting->buffer + MAGIC_BYTES,
						 OPENING_BYTES - MAGIC_BYTES);
	ring_wire_u32(&wire, &version);
	return greeting->listening && greeting->step == 0 && greeting->done >= OPENING_BYTES &&
	       version != RING_WIRE_VERSION;
}

int ring_greeting_step(struct ring_greeting *greeting, short *events, struct ring_failure *failure)
{
	while (greeting->step < STEPS) {
		const struct step *step = greeting->listening ? &steps_listening[greeting->step]
							      : &steps_connecting[greeting->step];
		if (step->send && !greeting->begun)
			step->write(greeting);
		greeting->begun = true;
		int err = move_message(greeting, step, failure);
		if (is_noise(greeting))
			return refuse(greeting, failure, RING_STRANGER_NOISE,
				      "it does not speak ringccl's protocol");
		if (is_other_version(greeting))
			return refuse(greeting, failure, RING_STRANGER_VERSION,
				      "it speaks another version of the protocol");
		if (!err && step->check)
			err = step->check(greeting, failure);
		if (err == RING_EAGAIN)
			*events = step->send ? POLLOUT : POLLIN;
		if (err)
			return err;
		greeting->step++;
		greeting->done = 0;
		greeting->begun = false;
	}
	return 0;
}

/* It waits for the challenge, or has it and waits for its welcome. */
void ring_greeting_postpone(const struct ring_greeting *greeting)
{
	static const unsigned char again[CHALLENGE_BYTES] = {COME_AGAIN};
	bool said_half = greeting->step == 1 && greeting->done > 0;
	size_t bytes = greeting->step < 2 ? sizeof(again) : 1;
	if (said_half || greeting->step > 2)
		return;
	if (send(greeting->fd, again, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* It sees the connection end, which says nearly the same. */
	}
}
