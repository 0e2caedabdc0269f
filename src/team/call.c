/* SPDX-License-Identifier: MIT */
/* Copies of calls, for whoever runs them later; see call.h. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t *copy_list(uint64_t **room, const uint64_t *list, int size)
{
	uint64_t *copy = *room;
	memcpy(copy, list, (size_t)size * sizeof(*list));
	*room += size;
	return copy;
}

struct ring_call *ring_call_copy(const struct ring_call *call, int size)
{
	size_t list_bytes = call->parts.to ? (size_t)size * sizeof(*call->parts.to) : 0;
	struct ring_call *copy = malloc(sizeof(*copy) + RING_PARTS_LISTS * list_bytes);
	if (!copy)
		return NULL;
	*copy = *call;
	uint64_t *room = (uint64_t *)(copy + 1);
	if (call->parts.to)
		copy->parts =
			(struct ring_parts){.to = copy_list(&room, call->parts.to, size),
					    .to_at = copy_list(&room, call->parts.to_at, size),
					    .from = copy_list(&room, call->parts.from, size),
					    .from_at = copy_list(&room, call->parts.from_at, size)};
	return copy;
}
