/* SPDX-License-Identifier: MIT */
/* Letters out of any bytes, in two pieces: none is longer than allowed, and an end is found. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door/mail.h"
#include "ringccl.h"

#define LIMIT 64

/* Reads all letters that have come. Returns why there are no more. */
static int read_all(struct ring_mail *mail, unsigned *sum)
{
	for (;;) {
		uint32_t kind;
		const unsigned char *body;
		size_t bytes;
		int err = ring_mail_next(mail, &kind, &body, &bytes);
		if (err)
			return err;
		if (bytes > LIMIT)
			abort();
		for (size_t i = 0; i < bytes; i++)
			*sum += body[i];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];
	unsigned sum = 0;
	struct ring_mail mail;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	ring_mail_init(&mail, pair[1], LIMIT);
	size_t first = size ? data[0] % size : 0;
	(void)!send(pair[0], data, first, MSG_NOSIGNAL);
	int err = read_all(&mail, &sum);
	(void)!send(pair[0], data + first, size - first, MSG_NOSIGNAL);
	close(pair[0]);
	if (err == RING_EAGAIN)
		err = read_all(&mail, &sum);
	if (err != RING_EPEER)
		abort();
	ring_mail_free(&mail);
	close(pair[1]);
	return sum == 1u << 31;
}
