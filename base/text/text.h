/* SPDX-License-Identifier: MIT */
/* Text from elsewhere: what of it may be shown. */
#ifndef RING_TEXT_H
#define RING_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How many bytes the character at text[0] has; 0 if it is not UTF-8 (RFC 3629): overlong, a
 * surrogate, cut short. *is_control, which may be NULL: a terminal may obey it (C0, DEL, C1).
 */
size_t ring_text_character(const char *text, bool *is_control);

/* Controls become spaces, and bytes that are no UTF-8 question marks. The length stays. */
void ring_text_clean(char *text);

#endif
