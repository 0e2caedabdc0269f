/* SPDX-License-Identifier: MIT */
/* Ids from and to hexadecimal digits. */
#include "hex.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

static int hex_digit(char c)
{
	const char *found = c ? strchr(digits, c) : NULL;
	return found ? (int)(found - digits) : -1;
}

bool ring_id_from_hex(const char *text, struct ring_unique_id *id)
{
	if (strlen(text) != RING_ID_TEXT - 1)
		return false;
	for (size_t i = 0; i < sizeof(id->bytes); i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		id->bytes[i] = (unsigned char)(16 * high + low);
	}
	return true;
}

void ring_id_to_hex(const struct ring_unique_id *id, char text[RING_ID_TEXT])
{
	for (size_t i = 0; i < sizeof(id->bytes); i++) {
		text[2 * i] = digits[id->bytes[i] / 16];
		text[2 * i + 1] = digits[id->bytes[i] % 16];
	}
	text[RING_ID_TEXT - 1] = '\0';
}
