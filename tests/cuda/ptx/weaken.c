/* SPDX-License-Identifier: MIT */
#include "weaken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function's text, from its name to the next one's. */
struct part {
	char *at;
	size_t bytes;
};

static struct part function_of(char *text, size_t bytes, const char *function)
{
	char entry[128];
	const int length = snprintf(entry, sizeof(entry), ".entry %s(", function);
	char *at = memmem(text, bytes, entry, (size_t)length);
	if (!at)
		return (struct part){text, 0};
	const size_t rest = bytes - (size_t)(at + length - text);
	char *next = memmem(at + length, rest, ".entry ", 7);
	return (struct part){at + length, next ? (size_t)(next - at - length) : rest};
}

static char *next_in(struct part part, const char *from, const char *word)
{
	return memmem(from, part.bytes - (size_t)(from - part.at), word, strlen(word));
}

size_t ptx_weaken_count(const char *text, size_t bytes, const char *function, const char *word)
{
	const struct part part = function_of((char *)text, bytes, function);
	size_t count = 0;
	for (const char *at = part.at; (at = next_in(part, at, word)); at += strlen(word))
		count++;
	return count;
}

/* Lines keep their numbers; a comment's begin stays, and so its end. */
static void blank(char *at, const char *end)
{
	char *comment = memmem(at, (size_t)(end - at), "*/", 2);
	for (at = comment ? comment + 2 : at; at < end; at++)
		*at = *at == '\n' ? '\n' : ' ';
}

/* The words for one that orders nothing are as long. */
static void weaken(struct part part, char *at)
{
	static const char *const orders[] = {".acquire", ".release", ".acq_rel"};
	char *end = memchr(at, ';', part.bytes - (size_t)(at - part.at));
	if (!memchr(at, '[', (size_t)(end - at))) {
		blank(at, end);
		return;
	}
	for (int k = 0; k < 3; k++) {
		char *order = memmem(at, (size_t)(end - at), orders[k], 8);
		if (order)
			memcpy(order, ".relaxed", 8);
	}
}

char *ptx_weaken(const char *text, size_t bytes, const char *function, const char *word,
		 size_t first, size_t count)
{
	if (ptx_weaken_count(text, bytes, function, word) < first + count)
		return NULL;
	char *copy = malloc(bytes + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	const struct part part = function_of(copy, bytes, function);
	char *at = part.at;
	for (size_t k = 0; k < first + count; k++) {
		at = next_in(part, at, word);
		char *behind = at + strlen(word);
		if (k >= first)
			weaken(part, at);
		at = behind;
	}
	return copy;
}
