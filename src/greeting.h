/* SPDX-License-Identifier: MIT */
/*
 * The first words on every connection: both ends prove that they know the communicator's secret,
 * over role, ranks, channel and fresh nonces, before anything else they say is believed. The proof
 * is a keyed BLAKE2b from libsodium. Non-blocking; used by both ends.
 *
 *	connecting                      listening
 *	hello {version, job, role, from, to, channel, attempt, nonce}  ->
 *	                           <-  challenge {nonce, proof over both}
 *	proof over both  ->
 */
#ifndef RING_GREETING_H
#define RING_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define RING_SECRET_BYTES 16
#define RING_RANK_ROOT (-1)

enum ring_role { RING_ROLE_JOIN = 1, RING_ROLE_CONTROL, RING_ROLE_DATA };

/* What a connection is for. */
struct ring_hello {
	uint64_t job;     /* public name of the communicator */
	uint32_t role;    /* enum ring_role */
	int32_t from, to; /* ranks; to is RING_RANK_ROOT for JOIN */
	int32_t channel;
	uint32_t attempt; /* grows when all ranks try again with fewer transports */
};

struct ring_greeting {
	int fd;
	bool listening;
	struct ring_hello hello; /* listening: valid once the step returned 0 */
	unsigned char secret[RING_SECRET_BYTES];
	/* listening: finds the secret of hello's job and addressee; false refuses */
	bool (*find_secret)(void *context, const struct ring_hello *hello, unsigned char *secret);
	void *context;
	int step;
	unsigned char buffer[160], nonces[32];
	size_t have, sent;
};

void ring_greeting_connecting(struct ring_greeting *greeting, int fd, const struct ring_hello *hello,
			      const unsigned char *secret);
void ring_greeting_listening(struct ring_greeting *greeting, int fd,
			     bool (*find_secret)(void *, const struct ring_hello *, unsigned char *),
			     void *context);

/*
 * Goes on as far as the socket allows; reads not one byte too many. returns 0 when both ends are proved; RING_EAGAIN (see *events:
 * POLLIN or POLLOUT); RING_EPEER if the other end is a stranger, speaks another version, or left: the sentence says which
 */
int ring_greeting_step(struct ring_greeting *greeting, short *events, struct ring_failure *failure);

#endif
