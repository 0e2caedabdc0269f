/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdint.h>
#include <string.h>

/* How many bytes follow the first, and its bits of the character. returns -1 if it begins none */
static int begin(unsigned char first, uint32_t *code)
{
	if (first < 0x80) {
		*code = first;
		return 0;
	}
	if (first >= 0xc2 && first < 0xe0) {
		*code = first & 0x1fu;
		return 1;
	}
	if (first >= 0xe0 && first < 0xf0) {
		*code = first & 0x0fu;
		return 2;
	}
	*code = first & 0x07u;
	return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

size_t ring_text_character(const char *text, bool *is_control)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	uint32_t code;
	int more = begin((unsigned char)text[0], &code);
	for (int i = 1; i <= more; i++) {
		unsigned char next = (unsigned char)text[i];
		if ((next & 0xc0) != 0x80) /* also the end of the text */
			return 0;
		code = code << 6 | (next & 0x3fu);
	}
	if (more < 0 || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	if (is_control)
		*is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	return (size_t)more + 1;
}

void ring_text_clean(char *text)
{
	while (*text) {
		bool is_control = false;
		size_t bytes = ring_text_character(text, &is_control);
		if (bytes == 0)
			*text = '?';
		else if (is_control)
			memset(text, ' ', bytes);
		text += bytes > 0 ? bytes : 1;
	}
}
