/* SPDX-License-Identifier: MIT */
/*
 * Letters over a non-blocking stream socket; see mail.h. Both queues are plain growing arrays:
 * letters are rare and, except placements in a big communicator, short.
 */
#include "mail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ringccl.h"
#include "base/wire.h"

#define FIRST_ROOM 512

void ring_mail_init(struct ring_mail *mail, int fd, size_t limit)
{
	*mail = (struct ring_mail){.fd = fd, .limit = limit};
}

void ring_mail_free(struct ring_mail *mail)
{
	free(mail->in);
	free(mail->out);
	*mail = (struct ring_mail){.fd = -1};
}

static int make_room(unsigned char **bytes, size_t *room, size_t need)
{
	if (need <= *room)
		return 0;
	size_t larger_room = *room ? *room : FIRST_ROOM;
	while (larger_room < need)
		larger_room *= 2;
	unsigned char *larger = realloc(*bytes, larger_room);
	if (!larger)
		return RING_ENOMEM;
	*bytes = larger;
	*room = larger_room;
	return 0;
}

int ring_mail_reserve(struct ring_mail *mail)
{
	size_t letter = RING_MAIL_HEADER + mail->limit;
	int err = make_room(&mail->in, &mail->in_room, letter);
	return err ? err : make_room(&mail->out, &mail->out_room, letter);
}

/* The kernel tells the cause once, to the first write or read. */
static int lost(struct ring_mail *mail, int cause)
{
	if (!mail->cause)
		mail->cause = cause;
	return RING_EPEER;
}

bool ring_mail_pending(const struct ring_mail *mail)
{
	return mail->out_sent < mail->out_have;
}

int ring_mail_flush(struct ring_mail *mail)
{
	while (ring_mail_pending(mail)) {
		ssize_t sent = send(mail->fd, mail->out + mail->out_sent,
				    mail->out_have - mail->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0)
			mail->out_sent += (size_t)sent;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return RING_EAGAIN;
		else if (errno != EINTR)
			return lost(mail, errno);
	}
	mail->out_have = mail->out_sent = 0;
	return 0;
}

static void write_header(unsigned char *at, uint32_t kind, uint32_t length)
{
	struct ring_wire wire = ring_wire_writer(at, RING_MAIL_HEADER);
	ring_wire_u32(&wire, &kind);
	ring_wire_u32(&wire, &length);
}

void ring_mail_head(unsigned char letter[RING_MAIL_HEADER], uint32_t kind)
{
	write_header(letter, kind, 0);
}

int ring_mail_post(struct ring_mail *mail, uint32_t kind, const void *body, size_t bytes)
{
	int err = make_room(&mail->out, &mail->out_room, mail->out_have + RING_MAIL_HEADER + bytes);
	if (err)
		return err;
	write_header(mail->out + mail->out_have, kind, (uint32_t)bytes);
	if (bytes)
		memcpy(mail->out + mail->out_have + RING_MAIL_HEADER, body, bytes);
	mail->out_have += RING_MAIL_HEADER + bytes;
	err = ring_mail_flush(mail);
	return err == RING_EAGAIN ? 0 : err;
}

/*
 * Looks at what has arrived. returns 0 and the letter; RING_EAGAIN if it is not whole; RING_EPEER
 */
static int open_letter(struct ring_mail *mail, uint32_t *kind, uint32_t *length)
{
	if (mail->in_have < RING_MAIL_HEADER)
		return RING_EAGAIN;
	struct ring_wire wire = ring_wire_reader(mail->in, RING_MAIL_HEADER);
	ring_wire_u32(&wire, kind);
	ring_wire_u32(&wire, length);
	if (*length > mail->limit)
		return lost(mail, EPROTO);
	return mail->in_have < RING_MAIL_HEADER + *length ? RING_EAGAIN : 0;
}

static int receive(struct ring_mail *mail, size_t letter_bytes)
{
	int err = make_room(&mail->in, &mail->in_room, letter_bytes);
	if (err)
		return err;
	ssize_t got;
	do
		got = recv(mail->fd, mail->in + mail->in_have, mail->in_room - mail->in_have,
			   MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return RING_EAGAIN;
	if (got <= 0)
		return lost(mail, got < 0 ? errno : 0);
	mail->in_have += (size_t)got;
	return 0;
}

int ring_mail_next(struct ring_mail *mail, uint32_t *kind, const unsigned char **body, size_t *bytes)
{
	if (mail->in_taken) {
		mail->in_have -= mail->in_taken;
		memmove(mail->in, mail->in + mail->in_taken, mail->in_have);
		mail->in_taken = 0;
	}
	for (;;) {
		uint32_t what = 0, length = 0;
		int err = open_letter(mail, &what, &length);
		if (!err) {
			mail->in_taken = RING_MAIL_HEADER + length;
			*kind = what;
			*body = mail->in + RING_MAIL_HEADER;
			*bytes = length;
			return 0;
		}
		if (err == RING_EAGAIN)
			err = receive(mail, RING_MAIL_HEADER + length);
		if (err)
			return err;
	}
}
