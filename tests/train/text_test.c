/* SPDX-License-Identifier: MIT */
/* Texts from files, and a source whose entropy is known. */
#include "train/data/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "train/data/markov.h"

static char path[] = "/tmp/ring_text.XXXXXX";

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

/* `count` characters: a most often, then b, and so on; z once. */
static void write_text(char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text[i] = (char)(i % 7 < 4 ? 'a' : i % 7 < 6 ? 'b' : 'c');
	text[count / 2] = 'z';
}

static void write_file(const char *text, size_t count, bool compressed)
{
	gzFile file = gzopen(path, compressed ? "wb9" : "wbT");
	assert_non_null(file);
	assert_int_equal(gzwrite(file, text, (unsigned)count), count);
	assert_int_equal(gzclose(file), Z_OK);
}

/* Compressed or not, the tokens stand for the characters. */
static void test_files(void **state)
{
	enum { COUNT = 5000 };
	char characters[COUNT];
	struct train_text text;
	(void)state;
	write_text(characters, COUNT);
	for (int compressed = 0; compressed < 2; compressed++) {
		write_file(characters, COUNT, compressed);
		assert_int_equal(train_text_load(&text, path, 256), 0);
		assert_int_equal(text.count, COUNT);
		assert_int_equal(text.held_out, COUNT / 10);
		assert_int_equal(text.vocabulary, 4);
		assert_int_equal(text.folded, 0);
		for (size_t i = 0; i < COUNT; i++)
			assert_int_equal(text.characters[text.tokens[i]], characters[i]);
		train_text_free(&text);
	}
}

/* A small vocabulary keeps the frequent ones apart. */
static void test_folding(void **state)
{
	enum { COUNT = 5000 };
	char characters[COUNT];
	struct train_text text;
	(void)state;
	write_text(characters, COUNT);
	write_file(characters, COUNT, false);
	assert_int_equal(train_text_load(&text, path, 3), 0);
	assert_int_equal(text.vocabulary, 3);
	assert_int_equal(text.folded, 2);
	for (size_t i = 0; i < COUNT; i++) {
		int32_t expected = characters[i] == 'a' ? 0 : characters[i] == 'b' ? 1 : 2;
		assert_int_equal(text.tokens[i], expected);
	}
	train_text_free(&text);
}

static void test_refusals(void **state)
{
	enum { COUNT = 5000 };
	char characters[COUNT];
	struct train_text text;
	(void)state;
	assert_int_equal(train_text_load(&text, "/nonexistent/text", 65), -1);
	assert_int_equal(train_text_load(&text, "markov:1", 65), -1);
	assert_int_equal(train_text_load(&text, "markov:1:2000x", 65), -1);
	assert_int_equal(train_text_load(&text, "markov:1:2000", 7), -1);
	assert_int_equal(train_text_load(&text, "markov:1:999", 65), -1);
	write_text(characters, COUNT);
	for (int i = 0; i < COUNT; i++) /* so that there is something to truncate */
		characters[i] = (char)(characters[i] + rand() % 20);
	write_file(characters, COUNT, true);
	assert_int_equal(truncate(path, 1000), 0);
	assert_int_equal(train_text_load(&text, path, 65), -1);
}

static void test_probabilities(void **state)
{
	struct train_markov source;
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		train_markov_make(&source, seed);
		for (int a = 0; a < TRAIN_MARKOV_CHARACTERS; a++) {
			for (int b = 0; b < TRAIN_MARKOV_CHARACTERS; b++) {
				double sum = 0;
				for (int c = 0; c < TRAIN_MARKOV_CHARACTERS; c++)
					sum += source.next[a][b][c];
				assert_float_equal(sum, 1, 1e-12);
			}
		}
		assert_true(source.entropy > 0.5 && source.entropy < log(TRAIN_MARKOV_CHARACTERS));
	}
}

/* On a long text the source loses its entropy, and frequencies are its probabilities. */
static void test_entropy(void **state)
{
	struct train_text text;
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		char name[64];
		snprintf(name, sizeof(name), "markov:%d:1000000", (int)seed);
		assert_int_equal(train_text_load(&text, name, 65), 0);
		struct train_markov_loss loss = train_markov_own_loss(text.source, text.tokens, 2,
								      text.count - 2);
		/* Losses of neighbours depend on one another, so the error is a little larger. */
		assert_true(fabs(loss.mean - text.source->entropy) < 6 * loss.error);
		assert_true(loss.error < 0.002);
		train_text_free(&text);
	}
}

/* What knows less loses more: the best that looks at one character only. */
static void test_second_order(void **state)
{
	enum { K = TRAIN_MARKOV_CHARACTERS };
	struct train_text text;
	double pairs[K][K] = {{0}}, singles[K] = {0}, loss = 0;
	(void)state;
	assert_int_equal(train_text_load(&text, "markov:1:300000", 65), 0);
	for (size_t i = 1; i < text.count; i++) {
		pairs[text.tokens[i - 1]][text.tokens[i]]++;
		singles[text.tokens[i - 1]]++;
	}
	for (int a = 0; a < K; a++) {
		for (int b = 0; b < K; b++)
			loss -= pairs[a][b] * log(pairs[a][b] / singles[a]);
	}
	loss /= (double)(text.count - 1);
	assert_true(loss > text.source->entropy + 0.1);
	train_text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),    cmocka_unit_test(test_folding),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_probabilities),
		cmocka_unit_test(test_entropy),  cmocka_unit_test(test_second_order),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
