/* SPDX-License-Identifier: MIT */
/* What became of a request that failed, as a sentence for people. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "verbs_link.h"

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

int ring_verbs_fail(struct ring_verbs_link *link, const struct ibv_wc *completion)
{
	return ring_verbs_lose(link, "%s: %s",
			       link->port->library->wc_status_str(completion->status),
			       explain(completion->status));
}
