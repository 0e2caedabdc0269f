/* SPDX-License-Identifier: MIT */
/* Tags of calls; see tag.h. */
#include "tag.h"

_Thread_local char ring_tag_of_thread[RING_TAG_BYTES];

/* Bytes of a tag that are kept: no character of UTF-8 is cut. */
static size_t kept_bytes(const char *tag)
{
	size_t bytes = strnlen(tag, RING_TAG_BYTES);
	if (bytes < RING_TAG_BYTES)
		return bytes;
	bytes = RING_TAG_BYTES - 1;
	while (bytes > 0 && ((unsigned char)tag[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

void ring_call_tag(const char *tag)
{
	const size_t bytes = tag ? kept_bytes(tag) : 0;
	memset(ring_tag_of_thread, 0, sizeof(ring_tag_of_thread));
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)tag[i];
		ring_tag_of_thread[i] = c < ' ' || c == 0x7f ? '?' : tag[i];
	}
}
