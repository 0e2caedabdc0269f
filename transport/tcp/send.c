/* SPDX-License-Identifier: MIT */
/*
 * The sending end of a TCP link: a short queue, so that what is sent in one go, such as an entry
 * record and the data behind it, leaves in one system call.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/status.h"
#include "link.h"

#define FEW_BYTES 512

int ring_tcp_send(struct ring_link *base, const void *source, size_t bytes)
{
	struct ring_tcp_sender *sender = (struct ring_tcp_sender *)base;

	if (sender->link.lost)
		return RING_EPEER;
	if (sender->posted - base->sent == RING_TCP_QUEUE)
		return RING_EAGAIN;
	struct ring_tcp_message *message = &sender->queue[sender->posted % RING_TCP_QUEUE];
	*message = (struct ring_tcp_message){.header = {htole64(bytes), htole64(sender->posted)},
					     .source = source,
					     .bytes = bytes};
	sender->posted++;
	return 0;
}

/* Adds what is left of `bytes` bytes after *skip of them. */
static int add_part(struct iovec *part, const void *data, size_t bytes, size_t *skip)
{
	size_t skipped = *skip < bytes ? *skip : bytes;
	*skip -= skipped;
	if (skipped == bytes)
		return 0;
	*part = (struct iovec){.iov_base = (char *)data + skipped, .iov_len = bytes - skipped};
	return 1;
}

/* Everything the kernel does not have yet. Returns the number of parts. */
static int gather(const struct ring_tcp_sender *sender, struct iovec parts[2 * RING_TCP_QUEUE])
{
	int count = 0;
	size_t skip = sender->gone;
	for (uint64_t k = sender->link.base.sent; k < sender->posted; k++) {
		const struct ring_tcp_message *message = &sender->queue[k % RING_TCP_QUEUE];
		count += add_part(&parts[count], &message->header, sizeof(message->header), &skip);
		count += add_part(&parts[count], message->source, message->bytes, &skip);
	}
	return count;
}

/* The kernel took `bytes` more: moves `sent` over the messages that it has whole. */
static void retire(struct ring_tcp_sender *sender, size_t bytes)
{
	struct ring_link *base = &sender->link.base;
	sender->gone += bytes;
	while (base->sent < sender->posted) {
		size_t whole = sizeof(struct ring_tcp_header) +
			       sender->queue[base->sent % RING_TCP_QUEUE].bytes;
		if (sender->gone < whole)
			return;
		sender->gone -= whole;
		base->sent++;
	}
}

/*
 * Few bytes go in one piece: copying them costs less than having the kernel follow an array. (8 B
 * on 2 ranks: 5.6 -> 5.3 us.) returns as sendmsg(2)
 */
static ssize_t offer(int fd, struct iovec *parts, int count, size_t total)
{
	const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
	unsigned char piece[FEW_BYTES];
	if (total > sizeof(piece)) {
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
		return sendmsg(fd, &message, flags);
	}
	size_t bytes = 0;
	for (int i = 0; i < count; i++) {
		memcpy(piece + bytes, parts[i].iov_base, parts[i].iov_len);
		bytes += parts[i].iov_len;
	}
	return send(fd, piece, total, flags);
}

/* Asks the socket once. */
static void write_on(struct ring_tcp_sender *sender)
{
	struct ring_tcp_link *link = &sender->link;
	struct iovec parts[2 * RING_TCP_QUEUE];
	int count = gather(sender, parts);
	size_t total = 0;
	for (int i = 0; i < count; i++)
		total += parts[i].iov_len;
	ssize_t taken = offer(link->fd, parts, count, total);
	if (taken >= 0) {
		link->quiet = (size_t)taken < total;
		retire(sender, (size_t)taken);
	} else if (errno == EAGAIN) {
		link->quiet = true;
	} else if (errno != EINTR) {
		ring_tcp_lose(link, errno, strerror(errno));
	}
}

int ring_tcp_flush(struct ring_tcp_sender *sender)
{
	struct ring_tcp_link *link = &sender->link;
	if (!link->lost && link->base.sent < sender->posted && ring_tcp_is_ready(link, POLLOUT))
		write_on(sender);
	return link->lost ? RING_EPEER : 0;
}
