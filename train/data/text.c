/* SPDX-License-Identifier: MIT */
/*
 * Reads a file, through zlib, and numbers its characters.
 */
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "markov.h"

#define MOST_BYTES ((size_t)1 << 30)
#define FEWEST_TOKENS 1000
#define HELD_OUT 10 /* one in ten */

/* Prose in the public domain as distributions install it, the longest first. */
static const char *const installed[] = {
	"/usr/share/info/jargon.info.gz", /* Debian, Ubuntu: jargon */
	"/usr/share/dictd/devil.dict.dz", /* dict-devil */
};
static const char fallback[] = "markov:1:1000000";

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "ring_train: text %s: %s\n", path, why);
	return -1;
}

static int out_of_memory(const char *path)
{
	return complain(path, "out of memory");
}

/* returns NULL after a complaint */
static unsigned char *read_all(gzFile file, const char *path, size_t *bytes)
{
	unsigned char *all = NULL;
	size_t used = 0, room = 0;
	int got;
	do {
		if (used == room) {
			room = room ? 2 * room : 1 << 20;
			unsigned char *more = room <= MOST_BYTES ? realloc(all, room) : NULL;
			if (!more) {
				complain(path, "too large");
				goto fail;
			}
			all = more;
		}
		got = gzread(file, all + used, (unsigned)(room - used));
		if (got < 0) {
			int code;
			const char *why = gzerror(file, &code);
			complain(path, code == Z_ERRNO ? strerror(errno) : why);
			goto fail;
		}
		used += (size_t)got;
	} while (got > 0);
	*bytes = used;
	return all;

fail:
	free(all);
	return NULL;
}

/*
 * Reads a file through zlib, which passes on what is not compressed. returns NULL after a complaint
 */
static unsigned char *read_file(const char *path, size_t *bytes)
{
	gzFile file = gzopen(path, "rb");
	if (!file) {
		complain(path, strerror(errno));
		return NULL;
	}
	unsigned char *all = read_all(file, path, bytes);
	int closed = gzclose(file);
	if (all && closed != Z_OK) { /* the file ended within its compressed data */
		complain(path, "is incomplete");
		free(all);
		all = NULL;
	}
	return all;
}

struct frequency {
	int character;
	size_t count;
};

/* The most frequent first; among equals the smaller character. */
static int compare_frequencies(const void *left, const void *right)
{
	const struct frequency *a = left, *b = right;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return a->character - b->character;
}

/* Gives each character a token; the frequent ones have their own, in the order of characters. */
static void number_characters(struct train_text *text, const unsigned char *bytes, int most,
			      int32_t token_of[256])
{
	struct frequency frequencies[256];
	for (int c = 0; c < 256; c++)
		frequencies[c] = (struct frequency){c, 0};
	for (size_t i = 0; i < text->count; i++)
		frequencies[bytes[i]].count++;
	qsort(frequencies, 256, sizeof(frequencies[0]), compare_frequencies);

	int distinct = 0;
	while (distinct < 256 && frequencies[distinct].count > 0)
		distinct++;
	int own = distinct <= most ? distinct : most - 1;
	bool has_own[256] = {false};
	for (int i = 0; i < own; i++)
		has_own[frequencies[i].character] = true;
	text->folded = distinct - own;
	text->vocabulary = own + (text->folded > 0);

	int token = 0;
	for (int c = 0; c < 256; c++) {
		token_of[c] = own;
		if (has_own[c]) {
			text->characters[token] = (unsigned char)c;
			token_of[c] = token++;
		}
	}
	if (text->folded > 0)
		text->characters[own] = '?';
}

static int load_file(struct train_text *text, const char *path, int most)
{
	unsigned char *bytes = read_file(path, &text->count);
	if (!bytes)
		return -1;
	text->tokens = malloc(text->count * sizeof(*text->tokens) + 1);
	if (text->tokens) {
		int32_t token_of[256];
		number_characters(text, bytes, most, token_of);
		for (size_t i = 0; i < text->count; i++)
			text->tokens[i] = token_of[bytes[i]];
		snprintf(text->name, sizeof(text->name), "%s, %zu characters of %d kinds", path,
			 text->count, text->vocabulary - (text->folded > 0) + text->folded);
	}
	free(bytes);
	return text->tokens ? 0 : out_of_memory(path);
}

/* "markov:SEED:COUNT" */
static int make_markov(struct train_text *text, const char *path, int most)
{
	uint64_t seed;
	int end = 0;
	if (sscanf(path, "markov:%" SCNu64 ":%zu%n", &seed, &text->count, &end) != 2 || path[end] ||
	    text->count > MOST_BYTES)
		return complain(path, "a source has the form markov:SEED:COUNT");
	if (most < TRAIN_MARKOV_CHARACTERS)
		return complain(path, "the model's vocabulary is smaller than the source's");
	text->source = malloc(sizeof(*text->source));
	text->tokens = malloc(text->count * sizeof(*text->tokens) + 1);
	if (!text->source || !text->tokens)
		return out_of_memory(path);
	train_markov_make(text->source, seed);
	train_markov_write(text->source, text->tokens, text->count);
	text->vocabulary = TRAIN_MARKOV_CHARACTERS;
	for (int i = 0; i < text->vocabulary; i++)
		text->characters[i] = (unsigned char)('a' + i);
	snprintf(text->name, sizeof(text->name),
		 "Markov source %" PRIu64 ", %zu characters, entropy %.4f nats", seed, text->count,
		 text->source->entropy);
	return 0;
}

static const char *choose_text(void)
{
	for (size_t i = 0; i < sizeof(installed) / sizeof(installed[0]); i++) {
		if (access(installed[i], R_OK) == 0)
			return installed[i];
	}
	return fallback;
}

int train_text_load(struct train_text *text, const char *path, int most)
{
	struct train_text loaded = {0};
	if (!path)
		path = choose_text();
	int err = strncmp(path, "markov:", 7) == 0 ? make_markov(&loaded, path, most)
						   : load_file(&loaded, path, most);
	if (!err && loaded.count < FEWEST_TOKENS)
		err = complain(path, "has fewer than 1000 characters");
	if (err) {
		train_text_free(&loaded);
		return err;
	}
	loaded.held_out = loaded.count / HELD_OUT;
	*text = loaded;
	return 0;
}

void train_text_free(struct train_text *text)
{
	free(text->tokens);
	free(text->source);
	*text = (struct train_text){0};
}
