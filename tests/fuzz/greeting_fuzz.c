/* SPDX-License-Identifier: MIT */
/* Either end of a greeting against any bytes: nobody gets in without the secret. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door/greeting.h"

static bool know_secret(void *context, const struct ring_hello *hello, unsigned char *secret)
{
	(void)context, (void)hello;
	memset(secret, 's', RING_SECRET_BYTES);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2], err = RING_EAGAIN;
	short events;
	struct ring_greeting greeting;
	struct ring_hello hello = {.job = 1, .role = RING_ROLE_DATA};
	unsigned char secret[RING_SECRET_BYTES];
	if (!size)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	know_secret(NULL, NULL, secret);
	if (data[0] % 2)
		ring_greeting_connecting(&greeting, pair[1], &hello, secret);
	else
		ring_greeting_listening(&greeting, pair[1], know_secret, NULL);
	for (size_t sent = 1; sent < size && err == RING_EAGAIN; sent += 48) {
		size_t bytes = size - sent < 48 ? size - sent : 48;
		(void)!send(pair[0], data + sent, bytes, MSG_NOSIGNAL);
		err = ring_greeting_step(&greeting, &events, NULL);
	}
	if (!err)
		abort();
	close(pair[0]);
	close(pair[1]);
	return 0;
}
