/* SPDX-License-Identifier: MIT */
/*
 * Entry records out of any bytes: whatever is taken for a record can be told in a sentence, complete and
 * printable, beside one's own.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ring_record record = ring_record_make(RING_KIND_BARRIER, 1, 0, -1, -1, -1);
	size_t magic = sizeof(record.magic), most = sizeof(record) - magic;
	memcpy((unsigned char *)&record + magic, data, size < most ? size : most);
	if (!ring_record_is_valid(&record))
		return 0;
	char *text = malloc(RING_RECORD_TEXT); /* its end is watched */
	ring_record_format(&record, text);
	if (!memchr(text, '\0', RING_RECORD_TEXT) || !strchr(text, ' '))
		abort();
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			abort();
	free(text);
	return 0;
}
