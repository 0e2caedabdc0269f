/* SPDX-License-Identifier: MIT */
/* What became of a request that failed, as a sentence for people. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "link.h"

/* What each status means, and what is to be looked at. */
static const char *explain(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
		return "the other end's device does not answer; is its host up, its port active, "
		       "the network between them whole, UDP port 4791 let through, the MTU alike "
		       "(RING_VERBS_MTU), and RING_VERBS_DEVICE or RING_VERBS_GID needed?";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the other end had no receive for it, which it should have";
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_ABORT_ERR:
		return "the other end refused it; has it closed?";
	case IBV_WC_LOC_QP_OP_ERR:
		return "the device could not send it; is its port active, its interface up, and "
		       "its address still there?";
	case IBV_WC_WR_FLUSH_ERR:
		return "the queue pair was stopped; does the kernel's log (dmesg) say why?";
	case IBV_WC_FATAL_ERR:
	case IBV_WC_GENERAL_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return "the device has failed; see the kernel's log (dmesg)";
	default:
		return "the device refused it";
	}
}

int ring_verbs_refuse(struct ring_verbs_link *link, const char *why)
{
	snprintf(link->text, sizeof(link->text), "%s", why);
	link->base.why = link->text;
	return RING_EPEER;
}

int ring_verbs_lose(struct ring_verbs_link *link, const char *format, ...)
{
	const struct ring_link *base = &link->base;
	int from = base->outgoing ? base->self : base->peer;
	int to = base->outgoing ? base->peer : base->self;
	if (link->lost)
		return RING_EPEER;
	int length = snprintf(link->text, sizeof(link->text),
			      "rank %d -> %d verbs, port %d of %.63s (%s): ", from, to,
			      link->port->choice.port, link->port->choice.device,
			      ring_verbs_port_state(link->port));
	va_list args;
	va_start(args, format);
	vsnprintf(link->text + length, sizeof(link->text) - (size_t)length, format, args);
	va_end(args);
	ring_log(RING_WARN, "%s", link->text);
	link->base.why = link->text;
	link->lost = true;
	return RING_EPEER;
}

static const char *write_gid(const unsigned char gid[16], char text[INET6_ADDRSTRLEN])
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool is_v4 = memcmp(gid, mapped, sizeof(mapped)) == 0;
	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? gid + sizeof(mapped) : gid, text,
		  INET6_ADDRSTRLEN);
	return text;
}

/* In the trial, after its small packet came through. */
static int fail_packet(struct ring_verbs_link *link)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
	return ring_verbs_lose(link,
			       "a packet of %" PRIu32 " bytes does not come through from %s to %s, "
			       "a small one does; is the MTU of a switch or tunnel between them "
			       "smaller than that of the interfaces? RING_VERBS_MTU sets the "
			       "packets' size",
			       ring_verbs_packet_bytes(link), write_gid(link->own.end.gid, from),
			       write_gid(link->other.end.gid, to));
}

int ring_verbs_fail(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	if (link->stage == RING_VERBS_TRIED && link->trial.greeted &&
	    completion->status == IBV_WC_RETRY_EXC_ERR)
		return fail_packet(link);
	return ring_verbs_lose(link, "%s: %s",
			       link->port->library->wc_status_str(completion->status),
			       explain(completion->status));
}
