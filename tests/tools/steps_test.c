/* SPDX-License-Identifier: MIT */
/*
 * ring_steps: its text is known for the plain ring, every plan can be told and drawn, and what cannot be shown is refused
 * by a sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/tools/steps.h"
#include "tools/steps/json.h"
#include "tools/steps/picture.h"
#include "tools/steps/sentence.h"
#include "tools/steps/text.h"

/* ---- the text ------------------------------------------------------------------------------ */

struct shown {
	struct steps_walk walk;
	struct steps_cells cells;
	struct steps_state state;
};

static void make_shown(struct steps_choice choice, struct shown *shown)
{
	steps_choice_complete(&choice);
	assert_int_equal(steps_walk_make(&choice, &shown->walk), 0);
	assert_int_equal(steps_cells_make(&shown->walk, &shown->cells), 0);
	assert_int_equal(steps_state_make(&shown->walk, &shown->cells, &shown->state), 0);
}

static void free_shown(struct shown *shown)
{
	steps_state_free(&shown->state);
	steps_cells_free(&shown->cells);
	steps_walk_free(&shown->walk);
}

static char *text_of(struct steps_choice choice, bool full)
{
	struct shown shown;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	make_shown(choice, &shown);
	bool whole = full ? steps_text_full(&shown.walk, &shown.cells, &shown.state, out)
			  : steps_text_overview(&shown.walk, &shown.cells, &shown.state, out);
	assert_true(whole);
	free_shown(&shown);
	assert_int_equal(fclose(out), 0);
	return text;
}

static struct steps_choice plain_ring(int ranks)
{
	struct steps_choice choice = choice_of(RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, ranks);
	choice.root = 0;
	choice.depth = 4;
	return choice;
}

static const char overview_of_4[] =
	"all_reduce of 4 elements on 4 ranks, around the ring: 6 steps\n"
	"In each step every rank sends one block to the next rank, which adds its own block and "
	"sends the sum\n"
	"on. Complete sums then go around.\n"
	"a3 is piece a of rank 3's input. A is the sum of piece a over all ranks, a1+a2+a3+a0.\n"
	"\n"
	"        rank 0 -> 1  rank 1 -> 2  rank 2 -> 3  rank 3 -> 0\n"
	"step 0  d0           a1           b2           c3           reduce-scatter\n"
	"step 1  c3+c0        d0+d1        a1+a2        b2+b3\n"
	"step 2  b2+b3+b0     c3+c0+c1     d0+d1+d2     a1+a2+a3\n"
	"step 3  A            B            C            D            all-gather\n"
	"step 4  D            A            B            C\n"
	"step 5  C            D            A            B\n"
	"\n"
	"In the end every rank has A B C D\n"
	"Bytes sent, 4 per element: 24 by every rank.\n";

static const char full_of_3[] =
	"all_reduce of 3 elements on 3 ranks, around the ring: 4 steps\n"
	"In each step every rank sends one block to the next rank, which adds its own block and "
	"sends the sum\n"
	"on. Complete sums then go around.\n"
	"a2 is piece a of rank 2's input. A is the sum of piece a over all ranks, a1+a2+a0. Rank 0 "
	"begins\n"
	"with 1, 2, 3 .., rank 1 with 10, 20, 30 .., rank 2 with 100 .., so the digits of a sum "
	"show "
	"whose\n"
	"inputs are in it.\n"
	"\n"
	"before  out  needs  sends           in  gets and does                       a     b     "
	"c\n"
	"rank 0                                                                      1     2     "
	"3\n"
	"rank 1                                                                     10    20    "
	"30\n"
	"rank 2                                                                    100   200   "
	"300\n"
	"\n"
	"step 0  out  needs  sends           in  gets and does                       a     b     "
	"c\n"
	"rank 0  0           signal to 1     0   signal from 2                       1  *202     "
	"3\n"
	"        1           c0=3 to 1       1   b2=200 from 2, + b0 -> 202\n"
	"rank 1  0           signal to 2     0   signal from 0                      10    20   "
	"*33\n"
	"        1           a1=10 to 2      1   c0=3 from 0, + c1 -> 33\n"
	"rank 2  0           signal to 0     0   signal from 1                    *110   200   "
	"300\n"
	"        1           b2=200 to 0     1   a1=10 from 1, + a2 -> 110\n"
	"\n"
	"step 1  out  needs  sends           in  gets and does                       a     b     "
	"c\n"
	"rank 0  2    2      b2+b0=202 to 1  2   a1+a2=110 from 2, + a0 -> A=111  *111   202     "
	"3\n"
	"rank 1  2    2      c0+c1=33 to 2   2   b2+b0=202 from 0, + b1 -> B=222    10  *222    "
	"33\n"
	"rank 2  2    2      a1+a2=110 to 0  2   c0+c1=33 from 1, + c2 -> C=333    110   200  "
	"*333\n"
	"\n"
	"step 2  out  needs  sends           in  gets and does                       a     b     "
	"c\n"
	"rank 0  3    3      A=111 to 1      3   C=333 from 2                      111   202  "
	"*333\n"
	"rank 1  3    3      B=222 to 2      3   A=111 from 0                     *111   222    "
	"33\n"
	"rank 2  3    3      C=333 to 0      3   B=222 from 1                      110  *222   "
	"333\n"
	"\n"
	"step 3  out  needs  sends           in  gets and does                       a     b     "
	"c\n"
	"rank 0  4    4      C=333 to 1      4   B=222 from 2                      111  *222   "
	"333\n"
	"rank 1  4    4      A=111 to 2      4   C=333 from 0                      111   222  "
	"*333\n"
	"rank 2  4    4      B=222 to 0      4   A=111 from 1                     *111   222   "
	"333\n"
	"\n"
	"Bytes sent, 4 per element: 16 by every rank.\n"
	"A rank's plan has two sequences of entries: out sends; in receives, adds and copies. An "
	"entry runs\n"
	"once as many entries of the other sequence are done as it needs. A star marks new "
	"values.\n";

/* Who reads the plain ring would see another picture than the one that was found good. */
static void the_plain_ring_is_known(void **state)
{
	(void)state;
	char *overview = text_of(plain_ring(4), false), *full = text_of(plain_ring(3), true);
	assert_string_equal(overview, overview_of_4);
	assert_string_equal(full, full_of_3);
	free(overview);
	free(full);
}

/* The phases of all steps that have one, joined. */
static void phases_of(enum ring_algorithm algorithm, char *text)
{
	struct steps_choice choice = plain_ring(4);
	struct shown shown;
	choice.algorithm = algorithm;
	make_shown(choice, &shown);
	text[0] = 0;
	for (int step = 0; step < shown.walk.step_count; step++)
		if (*shown.walk.steps[step].phase)
			strcat(strcat(text, shown.walk.steps[step].phase), " ");
	free_shown(&shown);
}

/* A student would not see where the reduce-scatter ends, or would see one where there is none. */
static void halves_of_an_all_reduce_have_their_names(void **state)
{
	(void)state;
	static const struct {
		enum ring_algorithm algorithm;
		const char *phases;
	} known[] = {
		{RING_ALGORITHM_RING, "reduce-scatter reduce-scatter reduce-scatter all-gather "
				      "all-gather all-gather "},
		{RING_ALGORITHM_TWO_SHOT, "reduce-scatter all-gather "},
		{RING_ALGORITHM_STAGED, "reduce-scatter all-gather "},
		{RING_ALGORITHM_DIRECT, "reduce-scatter and all-gather "},
		{RING_ALGORITHM_TREE, "reduce reduce broadcast broadcast "},
		{RING_ALGORITHM_ONE_SHOT, ""},
		{RING_ALGORITHM_BRUCK, ""},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char phases[512];
		phases_of(known[i].algorithm, phases);
		assert_string_equal(phases, known[i].phases);
	}
}

static void demand_sentence(struct steps_choice choice, int step, const char *expected)
{
	struct shown shown;
	char sentence[1024];
	make_shown(choice, &shown);
	steps_say_all(&shown.walk, &shown.cells, step, sentence, sizeof(sentence));
	assert_string_equal(sentence, expected);
	free_shown(&shown);
}

/* The sentence beside a picture would say something else than the picture shows. */
static void a_sentence_tells_the_step(void **state)
{
	(void)state;
	struct steps_choice ring = plain_ring(4), shot = ring, tree = ring, chunks = ring;
	shot.algorithm = RING_ALGORITHM_ONE_SHOT;
	tree.algorithm = RING_ALGORITHM_TREE;
	chunks.count = 16;
	chunks.chunk_bytes = STEPS_ELEMENT_BYTES;
	demand_sentence(ring, 0, "Every rank has its input; nothing has moved yet.");
	demand_sentence(ring, 1,
			"Every rank sends one piece to the next rank, which adds its own: "
			"rank 0 sends d0 to rank 1.");
	demand_sentence(ring, 6,
			"Every rank sends one complete sum to the next rank, which keeps "
			"what it gets: rank 0 sends C to rank 1.");
	demand_sentence(shot, 1,
			"Every rank sends, 12 messages in all; whoever has all of them adds "
			"them. Rank 0 sends a0 b0 c0 d0 to rank 1.");
	demand_sentence(
		tree, 1,
		"Ranks 1 and 3 send one message to one other rank, which keeps what it gets: "
		"rank 1 sends a1 b1 c1 d1 to rank 0.");
	demand_sentence(chunks, 1,
			"Every rank sends 2 pieces to the next rank, which adds its own: "
			"rank 0 sends m0 to rank 1.");
}

/* Some plan would end the program, or a line of it would have a column that says nothing. */
static void every_plan_can_be_told(void **state)
{
	(void)state;
	char sentence[512];
	for (int kind = 0; kind < KINDS; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
			for (int ranks = 1; ranks <= RANKS + 1; ranks++) {
				struct steps_choice choice = choice_of(kind, algorithm, ranks);
				struct steps_choice complete = choice;
				steps_choice_complete(&complete);
				if (steps_choice_refuse(&complete, sentence, sizeof(sentence)))
					continue;
				char *overview = text_of(choice, false);
				char *full = text_of(choice, true);
				demand(strlen(overview) > 100 && strlen(full) > 100,
				       "there is something to read", &complete);
				demand(!strstr(full, "(null)") && !strstr(overview, "(null)"),
				       "all has a name", &complete);
				free(overview);
				free(full);
			}
}

/* ---- pictures ------------------------------------------------------------------------------ */

typedef void show_function(const struct steps_walk *walk, const struct steps_cells *cells,
			   struct steps_state *state, FILE *out);

static char *shown_by(show_function *show, struct steps_choice choice)
{
	struct shown shown;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	make_shown(choice, &shown);
	show(&shown.walk, &shown.cells, &shown.state, out);
	free_shown(&shown);
	assert_int_equal(fclose(out), 0);
	return text;
}

static int count(const char *text, const char *what)
{
	int found = 0;
	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		found++;
	return found;
}

/* A page would lack steps, show other numbers than the text, or look for something on a network. */
static void pictures_show_all_steps(void **state)
{
	(void)state;
	char *html = shown_by(steps_picture_html, plain_ring(4));
	char *svg = shown_by(steps_picture_svg, plain_ring(4));
	assert_int_equal(count(html, "<section "), 7);
	assert_int_equal(count(html, ">3333</text>"), 1 + 2 + 3 + 4);
	assert_int_equal(count(html, "http"), 0);
	assert_int_equal(count(html, "src="), 0);
	assert_int_equal(count(svg, ">3333</text>"), 1 + 2 + 3 + 4);
	assert_int_equal(count(svg, "http"), 1); /* the name of SVG */
	assert_int_equal(count(svg, "class=\"send\""), 24);
	assert_int_equal(count(svg, "<g "), count(svg, "</g>"));
	free(html);
	free(svg);
}

/* A program would read other results than a person. */
static void json_has_what_the_text_has(void **state)
{
	(void)state;
	char *json = shown_by(steps_json, plain_ring(3));
	int squeezed = 0;
	for (const char *at = json; *at; at++)
		if (*at != ' ' && *at != '\n')
			json[squeezed++] = *at;
	json[squeezed] = 0;
	assert_int_equal(count(json, "[[111,222,333],[111,222,333],[111,222,333]]"), 1);
	assert_non_null(strstr(json, "\"steps_counted\":4,\"sent_bytes\":[16,16,16]"));
	assert_non_null(strstr(json, "\"does\":\"a1+a2from2,+a0\""));
	free(json);
}

/* Some plan's picture would have no end. */
static void every_plan_can_be_drawn(void **state)
{
	(void)state;
	char sentence[512];
	for (int kind = 0; kind < KINDS; kind++)
		for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
			for (int ranks = 1; ranks <= RANKS + 1; ranks++) {
				struct steps_choice choice = choice_of(kind, algorithm, ranks);
				struct steps_choice complete = choice;
				steps_choice_complete(&complete);
				if (steps_choice_refuse(&complete, sentence, sizeof(sentence)))
					continue;
				char *svg = shown_by(steps_picture_svg, choice);
				char *json = shown_by(steps_json, choice);
				demand(count(svg, "nan") == 0 && count(svg, "inf") == 0,
				       "all has a place", &complete);
				demand(strcmp(svg + strlen(svg) - 7, "</svg>\n") == 0 &&
					       count(json, "{") == count(json, "}"),
				       "what begins ends", &complete);
				free(svg);
				free(json);
			}
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Runs the program; returns what it says on stderr, and *status. */
static char *run(const char *arguments, int *status)
{
	char command[512], *said = calloc(1, 4096);
	assert_non_null(said);
	snprintf(command, sizeof(command), "tools/ring_steps %s 2>&1 >/dev/null", arguments);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	size_t length = fread(said, 1, 4095, pipe);
	said[length] = 0;
	*status = WEXITSTATUS(pclose(pipe));
	return said;
}

/* Who mistypes would see a plan that was not asked for, or none and no reason. */
static void what_cannot_be_shown_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *said;
	} refused[] = {
		{"-n 65", "-n wants a whole number from 1 to 64, not '65'"},
		{"--ranks 4x", "--ranks wants a whole number from 1 to 64, not '4x'"},
		{"-n 4 --root 4", "rank 4 cannot be root: the ranks are 0 to 3"},
		{"--collective allreduce", "there is no collective 'allreduce'"},
		{"--algorithm nccl", "there is no algorithm 'nccl'"},
		{"--collective gather --algorithm ring",
		 "ring cannot carry gather on 4 ranks; oneshot or direct can"},
		{"--algorithm pair", "pair cannot carry all_reduce on 4 ranks"},
		{"--algorithm bruck --count 100",
		 "bruck carries all_reduce of at most 28 elements on 4 ranks, not of 100"},
		{"-n 17 --algorithm staged", "staged cannot carry all_reduce on 17 ranks"},
		{"--count 1M", "too much to be shown"},
		{"--count 64K --chunk 4", "too much to be shown"},
		{"--count 0", "--count wants a whole number from 1"},
		{"--chunk 2", "--chunk wants a whole number from 4"},
		{"all_reduce", "what is 'all_reduce'?"},
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		int status;
		char *said = run(refused[i].arguments, &status);
		if (status != 2 || !strstr(said, refused[i].said))
			fail_msg("ring_steps %s: status %d, \"%s\"", refused[i].arguments, status,
				 said);
		free(said);
	}
	int status;
	char *said = run("--svg /nowhere/ring.svg", &status);
	assert_int_equal(status, 1); /* of a file, not of the command line */
	assert_non_null(strstr(said, "/nowhere/ring.svg"));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_plain_ring_is_known),
		cmocka_unit_test(halves_of_an_all_reduce_have_their_names),
		cmocka_unit_test(a_sentence_tells_the_step),
		cmocka_unit_test(every_plan_can_be_told),
		cmocka_unit_test(pictures_show_all_steps),
		cmocka_unit_test(json_has_what_the_text_has),
		cmocka_unit_test(every_plan_can_be_drawn),
		cmocka_unit_test(what_cannot_be_shown_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
