/* SPDX-License-Identifier: MIT */
/* Words of a text of PTX. */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A name, a number or a name with points and colons in it (ld.global.L1::no_allocate, %tid.x); or
 * one other character.
 */
struct ptx_word {
	const char *at;
	size_t length; /* 0: the end of the text */
	unsigned line;
};

struct ptx_text {
	const char *at, *end;
	unsigned line;
	struct ptx_word word; /* the next, which was not taken yet */
};

void ptx_text_begin(struct ptx_text *text, const char *at, const char *end, unsigned line);

bool ptx_word_is(struct ptx_word word, const char *text);
bool ptx_word_same(struct ptx_word a, struct ptx_word b);

/* Takes the next word. */
struct ptx_word ptx_text_take(struct ptx_text *text);

/* Takes the next word if it is this one. */
bool ptx_text_take_if(struct ptx_text *text, const char *word);

/* Takes all up to this word, which is taken, too. returns false: there is none */
bool ptx_text_skip_behind(struct ptx_text *text, const char *word);

#endif
