/* SPDX-License-Identifier: MIT */
/* What a thread calls the calls that it makes. */
#ifndef RING_CALL_TAG_H
#define RING_CALL_TAG_H

#include <string.h>

#include "team/call.h"

/* Every call looks at it: this model costs no function call. */
extern _Thread_local char ring_tag_of_thread[RING_TAG_BYTES]
	__attribute__((tls_model("initial-exec")));

/* Gives it to a call, which may be one that was made before. */
static inline void ring_tag_put(struct ring_call *call)
{
	if (ring_tag_of_thread[0] || call->tag[0])
		memcpy(call->tag, ring_tag_of_thread, sizeof(call->tag));
}

#endif
