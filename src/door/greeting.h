/* SPDX-License-Identifier: MIT */
/*
 * The first words on every connection: both ends prove that they know the communicator's secret,
 * over role, ranks, channel and fresh nonces, before anything else they say is believed. The proof
 * is a keyed BLAKE2b from libsodium. Non-blocking; used by both ends.
 *
 *	connecting                      listening
 *	hello {version, job, role, from, to, channel, attempt, features, nonce}  ->
 *	                           <-  challenge {features, nonce, proof over both}
 *	proof over both  ->
 *	                           <-  welcome
 *
 * The connecting end may be told to come again instead: there was no place for it, or no time.
 * Until that is said it is welcome, so both ends agree on whether they have met.
 *
 * What follows on the connection is neither encrypted nor protected against change.
 */
#ifndef RING_GREETING_H
#define RING_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Of everything ranks say to one another. Entry records and elements travel as they lie in memory,
 * so the byte order is part of it.
 */
#define RING_WIRE_VERSION (8u + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1u << 31 : 0u))
#define RING_SECRET_BYTES 16
#define RING_RANK_ROOT (-1)

enum ring_role { RING_ROLE_JOIN = 1, RING_ROLE_CONTROL, RING_ROLE_DATA };

/* What a connection is for. */
struct ring_hello {
	uint64_t job;     /* public name of the communicator */
	uint32_t role;    /* enum ring_role */
	int32_t from, to; /* ranks; to is RING_RANK_ROOT for JOIN */
	int32_t channel;  /* of JOIN: 1 if the id is one of a series */
	uint32_t attempt; /* grows when all ranks try again with fewer transports */
};

/*
 * Bits that name ways of speaking after the greeting. An end offers what it can do, and may require
 * some of it. Agreed is what both offer; an end that requires more is refused. There are none yet:
 * there is room for one that authenticates and encrypts all that follows. They are part of the
 * proof, so nobody on the way can take a bit out.
 */
struct ring_features {
	uint32_t offered;
	uint32_t required;
};
#define RING_FEATURES ((struct ring_features){0, 0}) /* of this version */

/* Why a greeting ended without proof. */
enum ring_stranger {
	RING_STRANGER_LEFT,    /* closed, or refused us without a word */
	RING_STRANGER_NOISE,   /* does not speak this protocol */
	RING_STRANGER_VERSION, /* another version of it */
	RING_STRANGER_JOB,     /* of no communicator known here */
	RING_STRANGER_SECRET,  /* does not know its communicator's secret */
	/* requires a feature that is not offered here, or does not offer one that is required */
	RING_STRANGER_FEATURES,
	RING_STRANGER_SLOW,  /* said too little for too long; found by the watcher */
	RING_STRANGER_AGAIN, /* none: it told us to come again */
};

/* Finds the secret of hello's job and addressee; false refuses. */
typedef bool ring_secret_finder(void *context, const struct ring_hello *hello,
				unsigned char *secret);

struct ring_greeting {
	int fd;
	bool listening;
	struct ring_hello hello; /* listening: valid once the step returned 0 */
	unsigned char secret[RING_SECRET_BYTES];
	ring_secret_finder *find_secret; /* listening */
	void *context;
	enum ring_stranger stranger;      /* valid after RING_EPEER */
	int step;                         /* messages done */
	bool begun;                       /* the next one was written, if it is ours */
	unsigned char nonces[32];         /* the connecting end's, the listening end's */
	struct ring_features features[2]; /* likewise; own ones may be set before the first step */
	uint32_t agreed;                  /* valid once the step returned 0 */
	unsigned char buffer[64];         /* the message on its way, either way */
	size_t done;                      /* bytes of it moved */
};

void ring_greeting_connecting(struct ring_greeting *greeting, int fd,
			      const struct ring_hello *hello, const unsigned char *secret);
void ring_greeting_listening(struct ring_greeting *greeting, int fd,
			     ring_secret_finder *find_secret, void *context);

/*
 * Goes on as far as the socket allows; reads not one byte too many. returns 0 when both ends are
 * proved; RING_EAGAIN (see *events: POLLIN or POLLOUT); RING_EPEER if the other end is a stranger,
 * speaks another version, or left: the sentence says which
 */
int ring_greeting_step(struct ring_greeting *greeting, short *events, struct ring_failure *failure);

/*
 * Listening: tells the other end to come again, as far as it still listens; the connection can be
 * closed.
 */
void ring_greeting_postpone(const struct ring_greeting *greeting);

/* Bytes that nobody can foresee: secrets, nonces, names. */
void ring_random(void *bytes, size_t count);

#endif
