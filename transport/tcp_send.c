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
#include "tcp_link.h"

#define FEW_BYTES 512
#define LENT_LEAST (32 << 10) /* less is copied before its pages are found */

static int queue(struct ring_link *base, const void *source, size_t bytes, bool lent)
{
	struct ring_tcp_sender *sender = (struct ring_tcp_sender *)base;

	if (sender->link.lost)
		return RING_EPEER;
	if (sender->posted - base->sent == RING_TCP_QUEUE)
		return RING_EAGAIN;
	struct ring_tcp_message *message = &sender->queue[sender->posted % RING_TCP_QUEUE];
	*message = (struct ring_tcp_message){.header = {htole64(bytes), htole64(sender->posted)},
					     .source = source,
					     .bytes = bytes,
					     .lent = lent};
	sender->posted++;
	return 0;
}

int ring_tcp_send(struct ring_link *base, const void *source, size_t bytes)
{
	return queue(base, source, bytes, false);
}

int ring_tcp_lend(struct ring_link *base, const void *source, size_t bytes)
{
	return queue(base, source, bytes, bytes >= LENT_LEAST);
}

/* Whether the kernel takes the message's payload by pages, as far as is known. */
static bool goes_by_pages(const struct ring_tcp_sender *sender,
			  const struct ring_tcp_message *message)
{
	return message->lent && !(sender->pages.refused && sender->pages.piped == 0);
}

/* If what the kernel must have next is such a payload, or the rest of it; else NULL. */
static const struct ring_tcp_message *next_lent(const struct ring_tcp_sender *sender)
{
	uint64_t next = sender->link.base.sent;
	const struct ring_tcp_message *message = &sender->queue[next % RING_TCP_QUEUE];
	bool begun = next < sender->posted && sender->gone >= sizeof(message->header);
	return begun && goes_by_pages(sender, message) ? message : NULL;
}

/* Adds what is left of `bytes` bytes once *skip of them are left out. */
static int add_part(struct iovec *part, const void *data, size_t bytes, size_t *skip)
{
	size_t skipped = *skip < bytes ? *skip : bytes;
	*skip -= skipped;
	if (skipped == bytes)
		return 0;
	*part = (struct iovec){.iov_base = (char *)data + skipped, .iov_len = bytes - skipped};
	return 1;
}

/* Everything the kernel does not have yet, up to a payload that goes by pages. Returns the number of parts. */
static int gather(const struct ring_tcp_sender *sender, struct iovec parts[2 * RING_TCP_QUEUE],
		  bool *more)
{
	int count = 0;
	size_t skip = sender->gone;
	*more = false;
	for (uint64_t k = sender->link.base.sent; k < sender->posted && !*more; k++) {
		const struct ring_tcp_message *message = &sender->queue[k % RING_TCP_QUEUE];
		int header = add_part(&parts[count], &message->header, sizeof(message->header),
				      &skip);
		count += header;
		*more = header > 0 && goes_by_pages(sender, message);
		if (!*more)
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
 * Few bytes go in one piece: to copy them costs less than the kernel takes to follow an array. (8 B on 2 ranks: 5.3 us,
 * with sendmsg() and readv() alone 5.6 us.) returns as sendmsg(2)
 */
static ssize_t offer(int fd, struct iovec *parts, int count, size_t total, bool more)
{
	const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
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

/* returns as sendmsg(2); *total is what was offered */
static ssize_t offer_copies(struct ring_tcp_sender *sender, size_t *total)
{
	struct iovec parts[2 * RING_TCP_QUEUE];
	bool more;
	int count = gather(sender, parts, &more);
	*total = 0;
	for (int i = 0; i < count; i++)
		*total += parts[i].iov_len;
	return offer(sender->link.fd, parts, count, *total, more);
}

static ssize_t offer_pages(struct ring_tcp_sender *sender, const struct ring_tcp_message *lent,
			   size_t *total)
{
	size_t skip = sender->gone - sizeof(lent->header);
	*total = lent->bytes - skip;
	if (ring_tcp_pages_fill(&sender->pages, (const char *)lent->source + skip, *total) == 0)
		return offer_copies(sender, total);
	return ring_tcp_pages_send(&sender->pages, sender->link.fd);
}

/* Asks the socket once. */
static void write_on(struct ring_tcp_sender *sender)
{
	struct ring_tcp_link *link = &sender->link;
	const struct ring_tcp_message *lent = next_lent(sender);
	size_t total;
	ssize_t taken = lent ? offer_pages(sender, lent, &total) : offer_copies(sender, &total);
	if (taken >= 0) {
		link->quiet = (size_t)taken < total;
		retire(sender, (size_t)taken);
	} else if (errno == EAGAIN) {
		link->quiet = true;
	} else if (errno != EINTR) {
		ring_tcp_lose(link, strerror(errno));
	}
}

static bool may_write(struct ring_tcp_sender *sender)
{
	struct ring_tcp_link *link = &sender->link;
	return !link->lost && link->base.sent < sender->posted && ring_tcp_is_ready(link, POLLOUT);
}

int ring_tcp_flush(struct ring_tcp_sender *sender)
{
	if (may_write(sender))
		write_on(sender);
	if (next_lent(sender) && !sender->link.quiet && may_write(sender)) /* behind its header */
		write_on(sender);
	return sender->link.lost ? RING_EPEER : 0;
}
