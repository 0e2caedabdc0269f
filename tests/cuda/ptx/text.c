/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <string.h>

static bool is_of_word(const struct ptx_text *text, const char *at)
{
	if (*at == ':') /* of a cache's hint, not behind a label */
		return (at + 1 < text->end && at[1] == ':') || at[-1] == ':';
	return isalnum((unsigned char)*at) || (*at && strchr("_$%.", *at));
}

static void skip_line(struct ptx_text *text)
{
	while (text->at < text->end && *text->at != '\n')
		text->at++;
}

/* To the slash at its end. */
static void skip_comment(struct ptx_text *text)
{
	for (text->at += 2; text->at < text->end; text->at++) {
		text->line += *text->at == '\n';
		if (text->at[0] == '/' && text->at[-1] == '*')
			return;
	}
}

static void skip_space(struct ptx_text *text)
{
	for (; text->at < text->end; text->at++) {
		const bool two = text->end - text->at > 1 && *text->at == '/';
		const bool is_comment = two && text->at[1] == '*';
		if (two && text->at[1] == '/')
			skip_line(text);
		if (is_comment)
			skip_comment(text);
		if (text->at == text->end || (!is_comment && !isspace((unsigned char)*text->at)))
			return;
		text->line += *text->at == '\n';
	}
}

static void read_word(struct ptx_text *text)
{
	skip_space(text);
	const char *at = text->at;
	while (text->at < text->end && is_of_word(text, text->at))
		text->at++;
	if (text->at == at && at < text->end)
		text->at++;
	text->word = (struct ptx_word){at, (size_t)(text->at - at), text->line};
}

void ptx_text_begin(struct ptx_text *text, const char *at, const char *end, unsigned line)
{
	text->at = at;
	text->end = end;
	text->line = line;
	read_word(text);
}

bool ptx_word_is(struct ptx_word word, const char *text)
{
	return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

bool ptx_word_same(struct ptx_word a, struct ptx_word b)
{
	return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

struct ptx_word ptx_text_take(struct ptx_text *text)
{
	struct ptx_word word = text->word;
	read_word(text);
	return word;
}

bool ptx_text_take_if(struct ptx_text *text, const char *word)
{
	bool is = ptx_word_is(text->word, word);
	if (is)
		read_word(text);
	return is;
}

bool ptx_text_skip_behind(struct ptx_text *text, const char *word)
{
	while (text->word.length) {
		if (ptx_text_take_if(text, word))
			return true;
		read_word(text);
	}
	return false;
}
