/* SPDX-License-Identifier: MIT */
/* Plans step by step, drawn by the same functions as ring_steps draws them. */
#include <math.h>
#include <stdlib.h>

#include "answer.h"
#include "tools/steps/draw.h"
#include "tools/steps/picture.h"
#include "tools/steps/sentence.h"
#include "tools/steps/words.h"

#define LETTER 12.0       /* of a picture that is not scaled, in pixels */
#define LETTER_LEAST 10.5 /* smaller ones are not read with ease */
#define STEPS_MOST 300    /* of a page */

char *EXPORT(page_names)(void);
char *EXPORT(page_able)(int kind, int ranks);
char *EXPORT(page_style)(void);
char *EXPORT(page_steps)(int kind, int algorithm, int ranks, int root, int count, int chunk,
			 int depth, int width, int height);
char *EXPORT(page_room)(int bytes);
void EXPORT(page_free)(char *text);

/* Collectives in the first line, algorithms in the second. */
char *page_names(void)
{
	struct answer answer;
	if (!answer_begin(&answer))
		return NULL;
	for (int kind = 0; kind <= RING_KIND_SEND; kind++)
		fprintf(answer.out, "%s%s", kind > 0 ? " " : "",
			steps_kind_name((enum ring_kind)kind));
	for (int i = 0; i < RING_ALGORITHMS; i++)
		fprintf(answer.out, "%s%s", i > 0 ? " " : "\n",
			ring_algorithm_name((enum ring_algorithm)i));
	return answer_finish(&answer);
}

/* The algorithms that can carry a collective; the default is the first. */
char *page_able(int kind, int ranks)
{
	struct answer answer;
	enum ring_algorithm first = ring_algorithm_of((enum ring_kind)kind);
	if (!answer_begin(&answer))
		return NULL;
	fputs(ring_algorithm_name(first), answer.out);
	for (int i = 0; i < RING_ALGORITHMS; i++)
		if (i != (int)first && ring_algorithm_can((enum ring_algorithm)i,
							  (enum ring_kind)kind, ranks, 4, false))
			fprintf(answer.out, " %s", ring_algorithm_name((enum ring_algorithm)i));
	return answer_finish(&answer);
}

char *page_style(void)
{
	struct answer answer;
	if (!answer_begin(&answer))
		return NULL;
	steps_draw_style(answer.out);
	return answer_finish(&answer);
}

/* ---- steps --------------------------------------------------------------------------------- */

struct view {
	struct steps_walk walk;
	struct steps_cells cells;
	struct steps_state state;
	struct steps_layout layout;
};

static double scale_of(const struct steps_layout *layout, int width, int height)
{
	return fmin(width / layout->width, height / layout->height);
}

/* Numbers without names, if names would be too small to be read. */
static void choose_layout(struct view *view, int width, int height)
{
	view->layout = steps_layout_of(&view->walk, &view->cells, &view->state, false);
	double scale = scale_of(&view->layout, width, height);
	if (scale * LETTER >= LETTER_LEAST)
		return;
	struct steps_layout small = steps_layout_of(&view->walk, &view->cells, &view->state, true);
	if (scale_of(&small, width, height) > scale)
		view->layout = small;
}

/* Elements that ranks have sent and got. */
struct moved {
	size_t sent[STEPS_RANKS_MOST], got[STEPS_RANKS_MOST];
};

static void add_moved(const struct steps_walk *walk, int step, struct moved *moved)
{
	for (size_t e = walk->steps[step].begin; e < walk->steps[step].end; e++) {
		const struct steps_event *event = &walk->events[e];
		if (!steps_event_crosses(event))
			continue;
		moved->sent[event->rank] += event->count;
		moved->got[event->entry.peer] += event->count;
	}
}

/* Of the busiest rank, as a part of the vector or of all parts. */
static double share_of(const struct steps_walk *walk, const struct moved *moved)
{
	const struct steps_choice *choice = &walk->choice;
	bool whole = ring_direct_parts_in(choice->kind, 2) == 1 &&
		     ring_direct_parts_out(choice->kind, 2) == 1;
	size_t most = 0;
	for (int rank = 0; rank < choice->ranks; rank++) {
		most = moved->sent[rank] > most ? moved->sent[rank] : most;
		most = moved->got[rank] > most ? moved->got[rank] : most;
	}
	return most > 0 ? (double)most / (double)(choice->count * (whole ? 1 : choice->ranks)) : 0;
}

/* Sentences have > but no other character that HTML knows. */
static void put_attribute(const char *name, const char *text, FILE *out)
{
	fprintf(out, " data-%s=\"%s\"", name, text);
}

/* so_far: in the steps before, and then also in this one */
static void put_section(const struct view *view, int step, struct moved *so_far, FILE *out)
{
	struct moved here = {{0}};
	char text[1024];
	fprintf(out, "<section%s", step > 0 ? " hidden" : "");
	if (view->walk.steps[step].number >= 0)
		fprintf(out, " data-number=\"%d\"", view->walk.steps[step].number);
	steps_say_step(&view->walk, step, text, sizeof(text));
	put_attribute("name", text, out);
	put_attribute("phase", view->walk.steps[step].phase, out);
	steps_say_all(&view->walk, &view->cells, step, text, sizeof(text));
	put_attribute("says", text, out);
	add_moved(&view->walk, step, &here);
	add_moved(&view->walk, step, so_far);
	fprintf(out, " data-share=\"%.17g\" data-sent=\"%.17g\">\n", share_of(&view->walk, &here),
		share_of(&view->walk, so_far));
	steps_picture_step(&view->walk, &view->cells, &view->state, &view->layout, step, out);
	steps_picture_rows(&view->walk, &view->cells, step, out);
	fputs("</section>\n", out);
}

static void show(struct view *view, FILE *out)
{
	struct moved so_far = {{0}};
	char text[1024];
	steps_picture_head(out);
	steps_say_title(&view->walk, text, sizeof(text));
	fprintf(out, "<p class=\"title\">%s\n", text);
	fprintf(out, "<p class=\"how\">%s\n", steps_say_how(&view->walk.choice));
	steps_say_names(&view->walk, &view->cells, true, text, sizeof(text));
	fprintf(out, "<p class=\"names\">%s\n", text);
	for (int step = 0; step < view->walk.step_count; step++) {
		steps_state_apply(&view->walk, step, &view->state);
		if (steps_picture_has(&view->walk, step))
			put_section(view, step, &so_far, out);
	}
}

static void show_choice(const struct steps_choice *choice, int width, int height, FILE *out)
{
	struct view view = {{.choice = *choice}};
	if (steps_walk_make(choice, &view.walk) != 0 ||
	    steps_cells_make(&view.walk, &view.cells) != 0 ||
	    steps_state_make(&view.walk, &view.cells, &view.state) != 0) {
		fputs("<p class=\"refused\">out of memory\n", out);
	} else if (view.walk.step_count > STEPS_MOST) {
		fprintf(out,
			"<p class=\"refused\">%d steps are too much to be shown; fewer elements or "
			"larger chunks are not\n",
			view.walk.step_count);
	} else {
		choose_layout(&view, width, height);
		show(&view, out);
	}
	steps_state_free(&view.state);
	steps_cells_free(&view.cells);
	steps_walk_free(&view.walk);
}

/* algorithm -1, count 0 and chunk 0: the defaults of ring_steps; width, height: of the window */
char *page_steps(int kind, int algorithm, int ranks, int root, int count, int chunk, int depth,
		 int width, int height)
{
	struct answer answer;
	char sentence[512];
	struct steps_choice choice = {.kind = (enum ring_kind)kind,
				      .algorithm = STEPS_ANY_ALGORITHM,
				      .ranks = ranks,
				      .root = root,
				      .count = (uint64_t)count,
				      .chunk_bytes = (uint64_t)chunk,
				      .chunks_per_round = 2,
				      .depth = depth};
	if (!answer_begin(&answer))
		return NULL;
	if (algorithm >= 0)
		choice.algorithm = (enum ring_algorithm)algorithm;
	steps_choice_order(&choice);
	steps_choice_complete(&choice);
	if (steps_choice_refuse(&choice, sentence, sizeof(sentence)))
		fprintf(answer.out, "<p class=\"refused\">%s\n", sentence);
	else
		show_choice(&choice, width, height, answer.out);
	return answer_finish(&answer);
}

/* ---- texts --------------------------------------------------------------------------------- */

/* Memory for a text that the page gives; page_free() frees it. */
char *page_room(int bytes)
{
	return malloc((size_t)bytes);
}

void page_free(char *text)
{
	free(text);
}
