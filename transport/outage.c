/* SPDX-License-Identifier: MIT */
/* What the kernel is asked for, and when that is too long without an answer; see outage.h. */
#include "outage.h"

#include <errno.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/waits.h"

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15; an older one sends again after twice the time, each time */
#endif

#define SHUT_TRIES 2 /* one probe of a shut window may get lost */

#define PROBES_MAX 60 /* the kernel counts to 127 */
#define PAUSE_MAX 32767
#define TRIES_MIN 8 /* the kernel gives up after 15 by default: not before us */

/* Options that this kernel does not have, or a Unix socket does not need, may fail. */
static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

static int clamp(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

/*
 * The first lost probe may be sent as the outage begins, and the last must be sent as it ends: one
 * more than fit in. The kernel gives up when another is due.
 */
void ring_outage_bear(int fd, int lost_ms)
{
	int seconds = lost_ms / 1000 + (lost_ms % 1000 > 0);
	int pause = clamp((seconds + PROBES_MAX - 1) / PROBES_MAX, 1, PAUSE_MAX);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, pause);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, pause);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, (seconds + pause - 1) / pause + 1);
	set(fd, IPPROTO_TCP, TCP_RTO_MAX_MS,
	    clamp(lost_ms / TRIES_MIN, RING_RESEND_MIN_MS, RING_RESEND_MAX_MS));
}

/* With this set the kernel counts time, not probes, from the last answer on. */
void ring_outage_limit(int fd, int lost_ms)
{
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
	    lost_ms > INT_MAX - RING_OUTAGE_TRY_MS ? INT_MAX : lost_ms + RING_OUTAGE_TRY_MS);
}

bool ring_outage_look(int fd, struct ring_sight *sight)
{
	struct tcp_info info = {.tcpi_snd_wnd = 1}; /* a kernel before 5.4 leaves it so */
	socklen_t bytes = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) ||
	    bytes < offsetof(struct tcp_info, tcpi_notsent_bytes) + sizeof(info.tcpi_notsent_bytes))
		return false;
	uint32_t ack_ms = info.tcpi_last_ack_recv, data_ms = info.tcpi_last_data_recv;
	*sight = (struct ring_sight){
		.acked = info.tcpi_bytes_acked,
		.tries = info.tcpi_total_retrans + info.tcpi_probes,
		.heard_ms = ack_ms < data_ms ? ack_ms : data_ms,
		.under_way = info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0,
		.shut = info.tcpi_unacked == 0 || info.tcpi_snd_wnd == 0,
	};
	return true;
}

/* Through a shut window nothing can be acknowledged: an answer to a probe is as good. */
static bool is_answered(const struct ring_outage *outage, const struct ring_sight *sight,
			uint64_t now_ms)
{
	return !sight->under_way || sight->acked != outage->acked || sight->shut != outage->shut ||
	       (sight->shut && sight->heard_ms <= now_ms - outage->looked_ms);
}

/*
 * Past lost_ms: was something sent again in vain? The network may be back, and nothing sent since.
 */
static bool was_tried_in_vain(struct ring_outage *outage, const struct ring_sight *sight,
			      uint64_t now_ms)
{
	uint32_t needed = sight->shut ? SHUT_TRIES : 1;
	if (!outage->over_ms)
		outage->over_ms = now_ms;
	if (!outage->tried_ms && sight->tries - outage->tries >= needed)
		outage->tried_ms = now_ms;
	if (!sight->shut && now_ms - outage->over_ms >= RING_OUTAGE_TRY_MS)
		return true;
	return outage->tried_ms && now_ms - outage->tried_ms >= RING_OUTAGE_ANSWER_MS;
}

bool ring_outage_judge(struct ring_outage *outage, const struct ring_sight *sight, int lost_ms,
		       uint64_t now_ms)
{
	if (is_answered(outage, sight, now_ms)) {
		*outage = (struct ring_outage){.acked = sight->acked,
					       .shut = sight->shut,
					       .looked_ms = now_ms};
		return false;
	}
	outage->looked_ms = now_ms;
	if (!outage->since_ms)
		outage->since_ms = now_ms;
	if (now_ms - outage->since_ms >= (uint64_t)lost_ms)
		return was_tried_in_vain(outage, sight, now_ms);
	outage->tries = sight->tries;
	return false;
}

bool ring_outage_is_cause(int cause)
{
	return cause == ETIMEDOUT || cause == EHOSTUNREACH || cause == ENETUNREACH ||
	       cause == EHOSTDOWN || cause == ENETDOWN;
}
