/* SPDX-License-Identifier: MIT */
/*
 * A text as a sequence of tokens, one per character. The last tenth is held out: no model trains on
 * it.
 */
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct train_markov;

struct train_text {
	int32_t *tokens; /* [count] */
	size_t count;
	size_t held_out;               /* tokens at the end, for validation only */
	int vocabulary;                /* tokens are 0..vocabulary - 1 */
	unsigned char characters[256]; /* [vocabulary] what they stand for */
	int folded;                    /* rare characters that share the last token; mostly 0 */
	struct train_markov *source;   /* the source that made the text; NULL: none did */
	char name[160];                /* for people: where it comes from */
};

/*
 * Loads a text, which may be compressed by gzip.
 *
 * path      a file; NULL: the first public-domain text that is installed, else a Markov source;
 *           "markov:SEED:COUNT": COUNT characters from a source of known entropy
 * most      the largest vocabulary. If the text has more kinds of characters, the most frequent
 *           have their own tokens and the others share the last, so a model's size does not depend
 *           on the text
 * returns   0; -1 with a sentence on stderr
 */
int train_text_load(struct train_text *text, const char *path, int most);
void train_text_free(struct train_text *text);

#endif
