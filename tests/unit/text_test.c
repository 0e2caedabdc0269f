/* SPDX-License-Identifier: MIT */
/* Text from peers, variables and paths: what reaches a sentence, a log or a terminal of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/status.h"
#include "base/text/text.h"
#include "meet/describe.h"
#include "tests/listen.h"

#define RED "\x1b[31m"      /* what a terminal obeys */
#define C1_CSI "\xc2\x9b"   /* the same in one character of UTF-8 */
#define C1_BYTE "\x9b"      /* ... and in one byte */
#define PLAIN "caf\xc3\xa9" /* what it shows */

static void characters_are_those_of_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
		bool is_control;
	} cases[] = {
		{"a", 1, false},
		{"\x1b", 1, true},
		{"\x7f", 1, true},
		{"\xc2\x80", 2, true},
		{"\xc2\x9f", 2, true},
		{"\xc2\xa0", 2, false},
		{"\xdf\xbf", 2, false},
		{"\xe2\x82\xac", 3, false},
		{"\xed\x9f\xbf", 3, false},
		{"\xf0\x9f\x98\x80", 4, false},
		{"\xf4\x8f\xbf\xbf", 4, false},
		{"\x80", 0, false},             /* begins none */
		{"\xff", 0, false},             /* likewise */
		{"\xc3", 0, false},             /* cut short */
		{"\xe2\x82", 0, false},         /* likewise */
		{"\xe2\x28\xa1", 0, false},     /* broken off */
		{"\xc0\x80", 0, false},         /* overlong */
		{"\xe0\x9f\xbf", 0, false},     /* likewise */
		{"\xf0\x8f\xbf\xbf", 0, false}, /* likewise */
		{"\xed\xa0\x80", 0, false},     /* a surrogate */
		{"\xf4\x90\x80\x80", 0, false}, /* beyond Unicode */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_control = false;
		assert_int_equal(ring_text_character(cases[i].text, &is_control), cases[i].bytes);
		assert_int_equal(is_control, cases[i].is_control);
	}
}

static void check_clean(const char *text, const char *expected)
{
	char copy[256];
	snprintf(copy, sizeof(copy), "%s", text);
	ring_text_clean(copy);
	assert_string_equal(copy, expected);
	ring_text_clean(copy);
	assert_string_equal(copy, expected);
}

static void what_is_clean_can_be_shown(void **state)
{
	(void)state;
	check_clean("", "");
	check_clean(PLAIN, PLAIN);
	check_clean("a\r\nb\tc" RED "d\x7f", "a  b c [31md ");
	check_clean("x" C1_CSI "31m" C1_BYTE "y", "x  31m?y");
	check_clean("caf\xe9", "caf?");
	check_clean("caf\xc3", "caf?");
}

/* A rank whose host is named so could have cleared the screen of whoever reads the sentence, or added lines to a log. */
static void a_peer_cannot_write_to_the_terminal(void **state)
{
	(void)state;
	unsigned char letter[RING_LETTER_BYTES];
	struct ring_peer peer = {.rank = 1, .pid = 7}, read = {0};
	snprintf(peer.host, sizeof(peer.host), PLAIN "\n" RED C1_CSI "2J" C1_BYTE);
	struct ring_wire out = ring_wire_writer(letter, sizeof(letter));
	ring_wire_card(&out, &peer);
	assert_true(ring_wire_done(&out));
	struct ring_wire in = ring_wire_reader(letter, out.at);
	ring_wire_card(&in, &read);
	assert_true(ring_wire_done(&in));
	char name[RING_PEER_NAME];
	assert_string_equal(ring_peer_name(&read, name),
			    "rank 1 (host " PLAIN "  [31m  2J?, pid 7)");
}

static void news_cannot_either(void **state)
{
	(void)state;
	unsigned char letter[RING_LETTER_BYTES];
	struct ring_news news = {.err = RING_EPEER, .culprit = 1}, read = {0};
	snprintf(news.text, sizeof(news.text), "rank 1 died" C1_CSI "2J" RED);
	struct ring_wire out = ring_wire_writer(letter, sizeof(letter));
	ring_wire_news(&out, &news);
	struct ring_wire in = ring_wire_reader(letter, out.at);
	ring_wire_news(&in, &read);
	assert_true(ring_wire_done(&in));
	assert_string_equal(read.text, "rank 1 died  2J [31m");
}

/* Nor can a variable or a path that a sentence quotes. */
static void sentences_and_logs_are_clean(void **state)
{
	(void)state;
	struct ring_failure failure = {0};
	ring_fail(&failure, RING_EINVAL, "RING_HOST=%s", "a\n" C1_CSI "b" C1_BYTE);
	assert_string_equal(failure.text, "RING_HOST=a   b?");
	listen_begin();
	ring_log(RING_LOUD, "path %s", "a\nringccl[1] warn: b" C1_CSI);
	char *said = listen_end();
	assert_non_null(strstr(said, " warn: path a ringccl[1] warn: b  \n"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_are_those_of_utf8),
		cmocka_unit_test(what_is_clean_can_be_shown),
		cmocka_unit_test(a_peer_cannot_write_to_the_terminal),
		cmocka_unit_test(news_cannot_either),
		cmocka_unit_test(sentences_and_logs_are_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
