/* SPDX-License-Identifier: MIT */
/*
 * Letters over a non-blocking stream socket: {kind, length, body}. A letter longer than the reader
 * allows is refused before a byte of it is stored.
 */
#ifndef RING_MAIL_H
#define RING_MAIL_H

#define RING_LETTER_BYTES 1024 /* only a placement of the meeting may be longer */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_mail {
	int fd;
	size_t limit; /* longest body accepted */
	int cause;    /* after RING_EPEER: errno; 0 if the other end closed in order */
	unsigned char *in;
	size_t in_have, in_taken, in_room; /* in_taken: the letter last returned */
	unsigned char *out;
	size_t out_have, out_sent, out_room;
};

void ring_mail_init(struct ring_mail *mail, int fd, size_t limit);

/*
 * Takes the memory that any letter needs, one each way: reading needs none then. returns 0;
 * RING_ENOMEM
 */
int ring_mail_reserve(struct ring_mail *mail);

void ring_mail_free(struct ring_mail *mail); /* does not close fd */

/*
 * A whole letter without a body, for callers that must not allocate; to be sent while nothing is
 * pending.
 */
#define RING_MAIL_HEADER 8
void ring_mail_head(unsigned char letter[RING_MAIL_HEADER], uint32_t kind);

/* Queues a letter and sends what the socket takes. returns 0; RING_ENOMEM; RING_EPEER */
int ring_mail_post(struct ring_mail *mail, uint32_t kind, const void *body, size_t bytes);

/* Sends more of what is queued. returns 0 when all is gone; RING_EAGAIN; RING_EPEER */
int ring_mail_flush(struct ring_mail *mail);

/* True while something queued has not been sent: wait for the socket to be writable. */
bool ring_mail_pending(const struct ring_mail *mail);

/*
 * The next whole letter; body stays valid until the next call. returns 0; RING_EAGAIN; RING_ENOMEM;
 * RING_EPEER when the other end closed or sent what no letter looks like
 */
int ring_mail_next(struct ring_mail *mail, uint32_t *kind, const unsigned char **body,
		   size_t *bytes);

#endif
