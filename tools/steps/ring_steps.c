/* SPDX-License-Identifier: MIT */
/*
 * ring_steps shows a plan step by step: which rank sends which piece to which other, and what is
 * added to what. This file reads the command line; the walk and its pictures have their own files.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/finish.h"
#include "tools/options.h"
#include "tools/quiet.h"
#include "tools/standard_files.h"
#include "ringccl.h"
#include "json.h"
#include "picture.h"
#include "text.h"
#include "trace.h"
#include "tools/whole_file.h"

struct job {
	struct steps_choice choice;
	bool values, list;
	uint64_t call; /* 0: not given */
	int trace_count;
	const char *traces[STEPS_RANKS_MOST];
	const char *svg, *html, *json; /* files, or NULL */
};

/* A walk, its cells and its state. */
struct view {
	struct steps_walk walk;
	struct steps_cells cells;
	struct steps_state state;
};

static __attribute__((format(printf, 1, 2))) bool complain(const char *format, ...)
{
	char sentence[1024]; /* cuts what a user gave, which may have any length */
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	fprintf(stderr, "ring_steps: %s\n", sentence);
	return false;
}

/* ---- the command line ---------------------------------------------------------------------- */

static bool read_kind(const struct option_given *given, void *job)
{
	int found = steps_kind_find(given->text);
	if (found < 0)
		return complain("there is no collective '%s'; ring_steps --help lists them",
				given->text);
	struct steps_choice *choice = &((struct job *)job)->choice;
	choice->kind = ring_kind_even((enum ring_kind)found);
	choice->uneven = ring_kind_is_uneven((enum ring_kind)found);
	return true;
}

static bool read_algorithm(const struct option_given *given, void *job)
{
	int found = steps_algorithm_find(given->text);
	if (found < 0)
		return complain("there is no algorithm '%s'; ring_steps --help lists them",
				given->text);
	((struct job *)job)->choice.algorithm = (enum ring_algorithm)found;
	return true;
}

static bool read_order(const struct option_given *given, void *job)
{
	((struct job *)job)->choice.in_order = true;
	return strcmp(given->text, "rank") == 0 || option_refuse(given, "rank");
}

static bool add_trace(struct job *job, const char *path)
{
	if (job->trace_count == STEPS_RANKS_MOST)
		return complain("traces of at most %d ranks can be shown", STEPS_RANKS_MOST);
	job->traces[job->trace_count++] = path;
	return true;
}

static bool read_trace_name(const struct option_given *given, void *job)
{
	return add_trace(job, given->text);
}

#define AT(field) offsetof(struct job, field)
#define AND_NAME(NAME, name, text, traits) ", " text

static const struct option_row rows[] = {
	{OPTION_HEADING, .help = "Which plan"},
	{OPTION_INT, 'n', "ranks", "N", AT(choice.ranks), 1, STEPS_RANKS_MOST,
	 .help = "number of ranks, 4; 1 to 64"},
	{OPTION_OWN, 0, "collective", "NAME", .read = read_kind,
	 .help = "all_reduce, reduce_scatter, all_gather, broadcast, reduce, gather, scatter, "
		 "all_to_all, sendrecv, reduce_scatterv, all_gatherv, gatherv, scatterv, "
		 "all_to_allv, barrier"},
	{OPTION_OWN, 0, "algorithm", "NAME", .read = read_algorithm,
	 .help = &RING_ALGORITHM_LIST(AND_NAME)[2]},
	{OPTION_COUNT, 0, "count", "N", AT(choice.count), 1, UINT32_MAX,
	 .help = "elements of 4 bytes, of the vector or of each part; part r of a call that ends "
		 "in v has r times as many"},
	{OPTION_COUNT, 0, "chunk", "SIZE", AT(choice.chunk_bytes), STEPS_ELEMENT_BYTES, UINT32_MAX,
	 .help = "bytes of the largest message; default: whole blocks"},
	{OPTION_INT, 0, "chunks-per-round", "N", AT(choice.chunks_per_round), 1, 64,
	 .help = "RING_CHUNKS_PER_ROUND, 2"},
	{OPTION_INT, 0, "depth", "N", AT(choice.depth), 1, 1024,
	 .help = "RING_DEPTH, 4: messages of a link in a step"},
	{OPTION_INT, 'r', "root", "RANK", AT(choice.root), 0, STEPS_RANKS_MOST - 1,
	 .help = "of broadcast, reduce, gather and scatter, 0"},
	{OPTION_OWN, 0, "order", "rank", .read = read_order,
	 .help = "RING_ORDER: sums are in the order of ranks"},
	{OPTION_HEADING, .help = "Recorded calls"},
	{OPTION_OWN, 0, "trace", "FILE", .read = read_trace_name,
	 .help = "show a recorded call; one trace of all ranks, or one each"},
	{OPTION_COUNT, 0, "call", "N", AT(call), 1, (double)(UINT64_MAX >> 20),
	 .help = "number of the recorded call; default: the program's last collective"},
	{OPTION_FLAG, 0, "list", NULL, AT(list), .help = "list the recorded calls"},
	{OPTION_HEADING, .help = "How to show it"},
	{OPTION_FLAG, 0, "values", NULL, AT(values),
	 .help = "each step in full: entries, sums as numbers, what each rank has"},
	{OPTION_FILE, 0, "svg", "FILE", AT(svg), .help = "all steps as one picture, instead of text"},
	{OPTION_FILE, 0, "html", "FILE", AT(html), .help = "a page with a slider, instead of text"},
	{OPTION_FILE, 0, "json", "FILE", AT(json), .help = "everything as JSON, instead of text"},
	{OPTION_QUIET, 0, "quiet", .help = "print nothing; write only files"},
	{OPTION_HELP, 'h', "help", .help = "show this and exit"},
	{OPTION_VERSION, 0, "version", .help = "show the version and exit"},
};

static const struct option_table table = {
	.program = "ring_steps",
	.usage = "usage: ring_steps [options]\n"
		 "Shows a plan step by step: which rank sends which piece to which other, and what "
		 "is added.\n",
	.examples = "  ring_steps --algorithm bruck --values\n"
		    "  ring_steps --trace trace.json --list\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.takes_words = true, /* traces, behind --trace */
};

/* returns false to end with *status, everything is printed */
static bool parse_command(int argc, char **argv, struct job *job, int *status)
{
	struct option_found found = {0};
	int index = options_read(&table, job, &found, argc, argv, status);
	if (index < 0)
		return false;
	if (found.quiet)
		quiet_begin();
	*status = STATUS_USAGE;
	while (job->trace_count > 0 && index < argc)
		if (!add_trace(job, argv[index++]))
			return false;
	if (index < argc)
		return option_refuse_word(&table, argv[index]);
	if (job->list && job->trace_count == 0)
		return complain("--list is of calls that were recorded: also give --trace FILE");
	return true;
}

/* ---- recorded calls ------------------------------------------------------------------------ */

static bool read_trace(const char *path, struct steps_trace *trace)
{
	char sentence[512];
	FILE *in = fopen(path, "re");
	if (!in)
		return complain("cannot read %s: %s", path, strerror(errno));
	bool good = steps_trace_read(in, path, trace, sentence, sizeof(sentence));
	fclose(in);
	return good || complain("%s", sentence);
}

/* Chooses the plan of the call that is to be shown. */
static bool find_recorded(struct job *job, struct steps_trace *trace)
{
	char sentence[512];
	bool is_given = job->call > 0;
	if (!steps_trace_find(trace, &job->call, &job->choice, sentence, sizeof(sentence)))
		return complain("%s", sentence);
	if (!is_given && steps_trace_failed(trace, sentence, sizeof(sentence)))
		complain("%s; this is call %llu, the last one that all ranks completed", sentence,
			 (unsigned long long)job->call);
	return true;
}

/* returns an exit status */
static int read_traces(struct job *job, struct steps_trace *trace)
{
	for (int i = 0; i < job->trace_count; i++)
		if (!read_trace(job->traces[i], trace))
			return STATUS_SYSTEM;
	if (job->trace_count > 0 && !job->list && !find_recorded(job, trace))
		return STATUS_USAGE;
	return STATUS_OK;
}

/* ---- the views ----------------------------------------------------------------------------- */

static void free_view(struct view *view)
{
	steps_state_free(&view->state);
	steps_cells_free(&view->cells);
	steps_walk_free(&view->walk);
}

static bool make_view(const struct steps_choice *choice, struct view *view)
{
	int err = steps_walk_make(choice, &view->walk);
	if (!err)
		err = steps_cells_make(&view->walk, &view->cells);
	if (!err)
		err = steps_state_make(&view->walk, &view->cells, &view->state);
	if (err)
		return complain(err == RING_EINVAL ? "this plan never ends: please report that"
						   : "out of memory");
	return true;
}

static void write_svg(void *context, FILE *out)
{
	struct view *view = context;
	steps_picture_svg(&view->walk, &view->cells, &view->state, out);
}

static void write_html(void *context, FILE *out)
{
	struct view *view = context;
	steps_picture_html(&view->walk, &view->cells, &view->state, out);
}

static void write_json(void *context, FILE *out)
{
	struct view *view = context;
	steps_json(&view->walk, &view->cells, &view->state, out);
}

static bool write_files(const struct job *job, struct view *view)
{
	bool written = !job->svg || whole_file_write("ring_steps", job->svg, write_svg, view);
	written = (!job->html || whole_file_write("ring_steps", job->html, write_html, view)) &&
		  written;
	return (!job->json || whole_file_write("ring_steps", job->json, write_json, view)) &&
	       written;
}

static bool show(const struct job *job, struct view *view)
{
	if (job->svg || job->html || job->json)
		return write_files(job, view);
	bool shown = job->values
			     ? steps_text_full(&view->walk, &view->cells, &view->state, stdout)
			     : steps_text_overview(&view->walk, &view->cells, &view->state, stdout);
	if (!shown)
		return complain("out of memory");
	return true;
}

static bool make_and_show(const struct job *job, struct steps_trace *trace)
{
	struct view view = {0};
	bool done = make_view(&job->choice, &view);
	if (done && job->trace_count > 0)
		steps_trace_time(trace, job->call, &view.walk);
	done = done && show(job, &view);
	free_view(&view);
	return done;
}

static int run(int argc, char **argv)
{
	struct job job = {
		.choice = {.algorithm = STEPS_ANY_ALGORITHM,
			   .ranks = 4,
			   .chunks_per_round = 2,
			   .depth = 4},
	};
	struct steps_trace trace = {0};
	char sentence[512];
	int status;
	steps_choice_order(&job.choice);
	if (!parse_command(argc, argv, &job, &status))
		return status;
	status = read_traces(&job, &trace);
	if (status != STATUS_OK) {
		steps_trace_free(&trace);
		return status;
	}
	if (job.list) {
		bool listed = steps_trace_list(&trace, stdout) || complain("out of memory");
		steps_trace_free(&trace);
		return listed ? STATUS_OK : STATUS_SYSTEM;
	}
	steps_choice_complete(&job.choice);
	if (steps_choice_refuse(&job.choice, sentence, sizeof(sentence))) {
		complain("%s", sentence);
		return STATUS_USAGE;
	}
	if (!whole_file_check("ring_steps", job.svg) || !whole_file_check("ring_steps", job.html) ||
	    !whole_file_check("ring_steps", job.json))
		return STATUS_SYSTEM;
	bool done = make_and_show(&job, &trace);
	steps_trace_free(&trace);
	return done ? STATUS_OK : STATUS_SYSTEM;
}

int main(int argc, char **argv)
{
	standard_files_open();
	return finish_output("ring_steps", run(argc, argv));
}
