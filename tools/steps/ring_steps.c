/* SPDX-License-Identifier: MIT */
/*
 * ring_steps shows a plan step by step: which rank sends which piece to which other, and what is
 * added to what. This file reads the command line; the walk and its pictures have their own files.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/finish.h"
#include "ringccl.h"
#include "tools/standard_files.h"
#include "json.h"
#include "picture.h"
#include "text.h"
#include "trace.h"
#include "tools/whole_file.h"

enum { EXIT_OK = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

static const char usage[] =
	"usage: ring_steps [options]\n"
	"Shows a plan step by step: which rank sends which piece to which other, and what is "
	"added.\n"
	"\n"
	"  -n, --ranks N             number of ranks, 4; 1 to 64\n"
	"      --collective NAME     all_reduce, reduce_scatter, all_gather, broadcast, reduce, "
	"gather,\n"
	"                            scatter, all_to_all, sendrecv, barrier\n"
	"      --algorithm NAME      ring, oneshot, stride, twoshot, bruck, staged, direct, tree, "
	"pair\n"
	"      --count N             elements of 4 bytes, of the vector or of each part\n"
	"      --chunk SIZE          bytes of the largest message; default: whole blocks\n"
	"      --chunks-per-round N  RING_CHUNKS_PER_ROUND, 2\n"
	"      --depth N             RING_DEPTH, 4: messages of a link in a step\n"
	"  -r, --root RANK           of broadcast, reduce, gather and scatter, 0\n"
	"      --values              each step in full: entries, sums as numbers, what each rank "
	"has\n"
	"      --trace FILE          show a recorded call; one trace of all ranks, or one each\n"
	"      --call N              number of the recorded call; default: the program's last "
	"collective\n"
	"      --list                list the recorded calls\n"
	"      --svg FILE            all steps as one picture, instead of text\n"
	"      --html FILE           a page with a slider, instead of text\n"
	"      --json FILE           everything as JSON, instead of text\n"
	"  -h, --help                show this and exit\n"
	"      --version             show the version and exit\n";

enum long_option {
	COLLECTIVE = 256,
	ALGORITHM,
	COUNT,
	CHUNK,
	CHUNKS_PER_ROUND,
	DEPTH,
	VALUES,
	TRACE,
	CALL,
	LIST,
	SVG,
	HTML,
	JSON,
	VERSION,
};

static const struct option long_options[] = {
	{"ranks", required_argument, NULL, 'n'},
	{"collective", required_argument, NULL, COLLECTIVE},
	{"algorithm", required_argument, NULL, ALGORITHM},
	{"count", required_argument, NULL, COUNT},
	{"chunk", required_argument, NULL, CHUNK},
	{"chunks-per-round", required_argument, NULL, CHUNKS_PER_ROUND},
	{"depth", required_argument, NULL, DEPTH},
	{"root", required_argument, NULL, 'r'},
	{"values", no_argument, NULL, VALUES},
	{"trace", required_argument, NULL, TRACE},
	{"call", required_argument, NULL, CALL},
	{"list", no_argument, NULL, LIST},
	{"svg", required_argument, NULL, SVG},
	{"html", required_argument, NULL, HTML},
	{"json", required_argument, NULL, JSON},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, VERSION},
	{0},
};

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

/* A whole number in [low, high]; K and M are binary. */
static bool parse_number(const char *option, const char *text, uint64_t low, uint64_t high,
			 uint64_t *value)
{
	char *end;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
	bool good = end > text && *text != '-' && end[shift > 0] == 0 && errno == 0 &&
		    number <= high >> shift && number << shift >= low;
	if (!good)
		return complain("%s wants a whole number from %llu to %llu, not '%s'", option,
				(unsigned long long)low, (unsigned long long)high, text);
	*value = number << shift;
	return true;
}

static bool parse_int(const char *option, const char *text, int low, int high, int *value)
{
	uint64_t number;
	if (!parse_number(option, text, (uint64_t)low, (uint64_t)high, &number))
		return false;
	*value = (int)number;
	return true;
}

static bool parse_kind(const char *text, enum ring_kind *kind)
{
	int found = steps_kind_find(text);
	if (found < 0)
		return complain("there is no collective '%s'; ring_steps --help lists them", text);
	*kind = (enum ring_kind)found;
	return true;
}

static bool parse_algorithm(const char *text, enum ring_algorithm *algorithm)
{
	int found = steps_algorithm_find(text);
	if (found < 0)
		return complain("there is no algorithm '%s'; ring_steps --help lists them", text);
	*algorithm = (enum ring_algorithm)found;
	return true;
}

static bool add_trace(struct job *job, const char *path)
{
	if (job->trace_count == STEPS_RANKS_MOST)
		return complain("traces of at most %d ranks can be shown", STEPS_RANKS_MOST);
	job->traces[job->trace_count++] = path;
	return true;
}

static bool parse_option(int option, struct job *job)
{
	struct steps_choice *choice = &job->choice;
	switch (option) {
	case 'n':
		return parse_int("--ranks", optarg, 1, STEPS_RANKS_MOST, &choice->ranks);
	case 'r':
		return parse_int("--root", optarg, 0, STEPS_RANKS_MOST - 1, &choice->root);
	case COLLECTIVE:
		return parse_kind(optarg, &choice->kind);
	case ALGORITHM:
		return parse_algorithm(optarg, &choice->algorithm);
	case COUNT:
		return parse_number("--count", optarg, 1, UINT32_MAX, &choice->count);
	case CHUNK:
		return parse_number("--chunk", optarg, STEPS_ELEMENT_BYTES, UINT32_MAX,
				    &choice->chunk_bytes);
	case CHUNKS_PER_ROUND:
		return parse_int("--chunks-per-round", optarg, 1, 64, &choice->chunks_per_round);
	case DEPTH:
		return parse_int("--depth", optarg, 1, 1024, &choice->depth);
	case VALUES:
		job->values = true;
		return true;
	case CALL:
		return parse_number("--call", optarg, 1, UINT64_MAX >> 20, &job->call);
	case LIST:
		job->list = true;
		return true;
	case TRACE:
		return add_trace(job, optarg);
	case SVG:
		job->svg = optarg;
		return true;
	case HTML:
		job->html = optarg;
		return true;
	case JSON:
		job->json = optarg;
		return true;
	default: /* getopt has printed what is wrong */
		return complain("see ring_steps --help");
	}
}

/* returns false to end with *status, everything is printed */
static bool parse_command(int argc, char **argv, struct job *job, int *status)
{
	int option;
	while ((option = getopt_long(argc, argv, "n:r:h", long_options, NULL)) != -1) {
		*status = EXIT_OK;
		if (option == 'h') {
			fputs(usage, stdout);
			return false;
		}
		if (option == VERSION) {
			printf("ring_steps %d.%d.%d\n", RING_VERSION_MAJOR, RING_VERSION_MINOR,
			       RING_VERSION_PATCH);
			return false;
		}
		*status = EXIT_USAGE;
		if (!parse_option(option, job))
			return false;
	}
	*status = EXIT_USAGE;
	while (job->trace_count > 0 && optind < argc)
		if (!add_trace(job, argv[optind++]))
			return false;
	if (optind < argc)
		return complain("what is '%s'? See ring_steps --help", argv[optind]);
	if (job->list && job->trace_count == 0)
		return complain("--list is of calls that were recorded: give --trace FILE, too");
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

static bool read_traces(struct job *job, struct steps_trace *trace)
{
	for (int i = 0; i < job->trace_count; i++)
		if (!read_trace(job->traces[i], trace))
			return false;
	return job->trace_count == 0 || job->list || find_recorded(job, trace);
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
	bool shown = job->values ? steps_text_full(&view->walk, &view->cells, &view->state, stdout)
				 : steps_text_overview(&view->walk, &view->cells, stdout);
	if (!shown)
		return complain("out of memory");
	return true;
}

static int run(int argc, char **argv)
{
	struct job job = {
		.choice = {.algorithm = STEPS_ANY_ALGORITHM,
			   .ranks = 4,
			   .chunks_per_round = 2,
			   .depth = 4},
	};
	struct view view = {0};
	struct steps_trace trace = {0};
	char sentence[512];
	int status;
	steps_choice_order(&job.choice);
	if (!parse_command(argc, argv, &job, &status))
		return status;
	if (!read_traces(&job, &trace)) {
		steps_trace_free(&trace);
		return EXIT_USAGE;
	}
	if (job.list) {
		bool listed = steps_trace_list(&trace, stdout) || complain("out of memory");
		steps_trace_free(&trace);
		return listed ? EXIT_OK : EXIT_BAD;
	}
	steps_choice_complete(&job.choice);
	if (steps_choice_refuse(&job.choice, sentence, sizeof(sentence))) {
		complain("%s", sentence);
		return EXIT_USAGE;
	}
	if (!whole_file_check("ring_steps", job.svg) || !whole_file_check("ring_steps", job.html) ||
	    !whole_file_check("ring_steps", job.json))
		return EXIT_USAGE;
	bool done = make_view(&job.choice, &view);
	if (done && job.trace_count > 0)
		steps_trace_time(&trace, job.call, &view.walk);
	done = done && show(&job, &view);
	free_view(&view);
	steps_trace_free(&trace);
	return done ? EXIT_OK : EXIT_BAD;
}

int main(int argc, char **argv)
{
	standard_files_open();
	return finish_output("ring_steps", run(argc, argv), EXIT_BAD);
}
