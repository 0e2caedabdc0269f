/* SPDX-License-Identifier: MIT */
/*
 * The command line of option_rows.c: prints help, reads options, and decides those that were not
 * given.
 */
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_rows.h"
#include "ringccl.h"

/* getopt_long returns FIRST + a row's index. */
#define FIRST 256
#define MOST_ROWS 80

/* ---- help --------------------------------------------------------------------------------- */

/* Prints the help of an option, wrapped and indented. */
static void print_wrapped(const char *text, int indent, int width)
{
	int column = indent;
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (column > indent && column + length + 1 > width) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_usage(void)
{
	puts("usage: ring_train [options]\n"
	     "Trains a small model on several ranks, and reports where the time went. ringccl\n"
	     "averages the gradients while backward runs. Starts the ranks itself, or is a rank\n"
	     "that a launcher such as ring_run or torchrun started.");
	for (int i = 0; i < train_option_row_count; i++) {
		const struct train_option_row *row = &train_option_rows[i];
		if (row->kind == TRAIN_OPTION_HEADING) {
			printf("\n%s:\n", row->help);
			continue;
		}
		char name[64];
		snprintf(name, sizeof(name), "--%s %s", row->name, row->value ? row->value : "");
		if (row->letter)
			printf("  -%c, %-23s ", row->letter, name);
		else
			printf("      %-23s ", name);
		print_wrapped(row->help, 30, 100);
	}
}

static bool refuse(const struct train_option_row *row, const char *wanted, const char *text)
{
	fprintf(stderr, "ring_train: --%s wants %s, not '%s'\n", row->name, wanted, text);
	return false;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A number of the row's range, whole unless it is a TRAIN_OPTION_REAL or TRAIN_OPTION_MEGABYTES. */
static bool read_number(const struct train_option_row *row, const char *text, double *number)
{
	bool whole = row->kind == TRAIN_OPTION_INT || row->kind == TRAIN_OPTION_LONG;
	char wanted[96], *end;
	*number = strtod(text, &end);
	bool fits = end != text && !*end && *number <= row->high && *number >= row->low;
	if (fits && (!whole || *number == (double)(long)*number))
		return true;
	if (whole)
		snprintf(wanted, sizeof(wanted), "a number from %.0f to %.0f", row->low, row->high);
	else
		snprintf(wanted, sizeof(wanted), "a number from %g to %g", row->low, row->high);
	return refuse(row, wanted, text);
}

/* The number of a word in "weak|strong". */
static bool read_choice(const struct train_option_row *row, const char *text, int *value)
{
	size_t length = strlen(text);
	int number = 0;
	for (const char *word = row->choices; word; number++) {
		if (strncmp(word, text, length) == 0 && (word[length] == '|' || !word[length])) {
			*value = number;
			return true;
		}
		word = strchr(word, '|');
		word += word ? 1 : 0;
	}
	return refuse(row, row->choices, text);
}

static bool read_reference(struct train_options *options, const char *text)
{
	if (options->reference_count == TRAIN_RECORDS) {
		fprintf(stderr, "ring_train: more than %d references\n", TRAIN_RECORDS);
		return false;
	}
	options->references[options->reference_count++] = text;
	return true;
}

/* JSON's whole numbers are read as signed ones of 64 bits. */
static bool read_seed(const struct train_option_row *row, const char *text, uint64_t *seed)
{
	char *end;
	*seed = strtoull(text, &end, 0);
	if (end != text && !*end && !strchr(text, '-') && *seed <= INT64_MAX)
		return true;
	return refuse(row, "a number from 0 to 9223372036854775807", text);
}

static bool read_option(struct train_options *options, const struct train_option_row *row,
			const char *text)
{
	void *field = (char *)options + row->offset;
	double number = 0;
	bool is_json;
	switch (row->kind) {
	case TRAIN_OPTION_FLAG:
	case TRAIN_OPTION_UNFLAG:
		*(bool *)field = row->kind == TRAIN_OPTION_FLAG;
		return true;
	case TRAIN_OPTION_TEXT:
		is_json = strcmp(row->name, "json") == 0;
		*(const char **)field = is_json && strcmp(text, "-") == 0 ? "/dev/stdout" : text;
		return true;
	case TRAIN_OPTION_CHOICE:
		return read_choice(row, text, field);
	case TRAIN_OPTION_REFERENCE:
		return read_reference(options, text);
	case TRAIN_OPTION_NUMBER:
		return read_seed(row, text, field);
	default:
		break;
	}
	if (!read_number(row, text, &number))
		return false;
	if (row->kind == TRAIN_OPTION_INT)
		*(int *)field = (int)number;
	else if (row->kind == TRAIN_OPTION_LONG)
		*(long *)field = (long)number;
	else if (row->kind == TRAIN_OPTION_REAL)
		*(double *)field = number;
	else
		*(size_t *)field = (size_t)(number * (1 << 20));
	return true;
}

/* The tables that getopt_long reads. */
static void list_for_getopt(struct option *longs, char *letters)
{
	for (int i = 0; i < train_option_row_count; i++) {
		if (train_option_rows[i].kind == TRAIN_OPTION_HEADING)
			continue;
		int has_value = train_option_rows[i].value ? required_argument : no_argument;
		*longs++ = (struct option){train_option_rows[i].name, has_value, NULL, FIRST + i};
		if (!train_option_rows[i].letter)
			continue;
		*letters++ = train_option_rows[i].letter;
		if (train_option_rows[i].value)
			*letters++ = ':';
	}
	*longs = (struct option){0};
	*letters = '\0';
}

/* The row that getopt_long found; NULL: no known option. */
static const struct train_option_row *find_row(int found)
{
	if (found >= FIRST)
		return &train_option_rows[found - FIRST];
	for (int i = 0; i < train_option_row_count; i++) {
		if (train_option_rows[i].letter && train_option_rows[i].letter == found)
			return &train_option_rows[i];
	}
	return NULL;
}

/* Reads all arguments into options. returns true to go on */
static bool read_all(struct train_options *options, int argc, char **argv, int *status)
{
	struct option longs[MOST_ROWS + 1];
	char letters[2 * MOST_ROWS + 1];
	list_for_getopt(longs, letters);
	int found;
	*status = TRAIN_EXIT_OK;
	optind = 0; /* begin again: the preset is read first, then the rest */
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct train_option_row *row = find_row(found);
		if (row && row->kind == TRAIN_OPTION_HELP) {
			print_usage();
			return false;
		}
		if (row && row->kind == TRAIN_OPTION_VERSION) {
			printf("ring_train %d.%d.%d\n", RING_VERSION_MAJOR, RING_VERSION_MINOR,
			       RING_VERSION_PATCH);
			return false;
		}
		if (!row)
			fputs("ring_train: see ring_train --help\n", stderr);
		if (!row || !read_option(options, row, optarg)) {
			*status = TRAIN_EXIT_USAGE;
			return false;
		}
	}
	if (optind == argc)
		return true;
	fprintf(stderr, "ring_train: what is '%s'? See ring_train --help\n", argv[optind]);
	*status = TRAIN_EXIT_USAGE;
	return false;
}

/* ---- deciding ----------------------------------------------------------------------------- */

static bool complain(const char *sentence)
{
	fprintf(stderr, "ring_train: %s\n", sentence);
	return false;
}

static bool agree_with_one_another(const struct train_options *options)
{
	if (options->batch && options->global_batch)
		return complain(
			"--batch is per rank and --global-batch of all ranks: give only one");
	if (options->scaling == TRAIN_STRONG_SCALING && options->batch)
		return complain("strong scaling keeps the global batch: give --global-batch");
	if ((options->resume || options->resume_if_any) && !options->checkpoint)
		return complain("--resume goes on from a checkpoint: give --checkpoint FOLDER");
	if (options->shape.kind == TRAIN_MLP && options->text)
		return complain("--text is for a GPT; an MLP trains on points");
	if (options->shape.kind == TRAIN_GPT && options->shape.width % options->shape.heads != 0)
		return complain("--width must be a multiple of --heads");
	if (options->uneven && !options->drop_last)
		return complain("--uneven already decides how epochs end: leave out --keep-last");
	if (options->export &&
	    (options->resume || options->resume_if_any || options->uneven || !options->drop_last))
		return complain("--export has whole steps, from the first on: leave out --resume, "
				"--uneven and --keep-last");
	bool budgets = options->batching == TRAIN_BY_TOKENS || options->batching == TRAIN_PACKED;
	if (options->lengths && options->shape.kind == TRAIN_MLP)
		return complain("--lengths is for a GPT; an MLP trains on points");
	if (options->batching != TRAIN_BY_SAMPLES && !options->lengths)
		return complain("--batching is for examples of different lengths: give --lengths");
	if (options->batching != TRAIN_BY_SAMPLES &&
	    (options->uneven || !options->drop_last || options->checkpoint))
		return complain("--batching plans whole epochs: leave out --uneven, --keep-last "
				"and --checkpoint");
	if (options->token_budget && !budgets)
		return complain("--token-budget is for --batching tokens or packed");
	if (options->token_budget && options->token_budget < options->shape.context)
		return complain(
			"--token-budget must hold the longest example, of --context tokens");
	if (options->export && options->lengths)
		return complain(
			"--export needs examples that fill the context: leave out --lengths");
	if (options->export && options->sampler != TRAIN_SHARED_OUT)
		return complain(
			"--export is of examples that ranks share: leave out --sampler none");
	if (options->profile && (options->uneven || options->sync_every_micro))
		return complain("--profile needs equal steps that average once: leave out --uneven "
				"and --sync-every-micro");
	return true;
}

/* A reference run writes only its record. */
static void leave_only(struct train_options *options, const char *record)
{
	options->json = record;
	options->trace = options->plot = options->model = options->checkpoint = NULL;
	options->export = options->profile = options->sweep = NULL;
	options->resume = options->resume_if_any = false;
	options->reference_count = 0;
	options->with_reference = options->with_control = false;
}

static void become_reference(struct train_options *options)
{
	leave_only(options, options->as_reference);
	options->ranks = 1;
	options->uneven = 0;
	options->faults = (struct train_fault_options){.slow_rank = -1, .slow_share = 1};
}

static void become_control(struct train_options *options)
{
	leave_only(options, options->as_control);
	options->ddp.mode = TRAIN_DDP_OFF;
}

/*
 * With another optimizer than the preset's, options of the rate that were not given have plain
 * defaults.
 */
static void adopt_kind(struct train_options *options, const struct train_optimizer_options *preset)
{
	struct train_optimizer_options usual;
	train_optimizer_defaults(&usual);
	options->optimizer.beta1 = usual.beta1;
	options->optimizer.beta2 = usual.beta2;
	options->optimizer.epsilon = usual.epsilon;
	if (options->optimizer.kind == TRAIN_ADAMW && options->optimizer.rate == preset->rate)
		options->optimizer.rate = usual.rate;
}

bool train_options_parse(struct train_options *options, int argc, char **argv, int *status)
{
	struct train_options parsed = {
		.preset = "seed000",
		.accumulate = 1,
		.drop_last = true,
		.seed = 1,
		.ddp = {.mode = TRAIN_DDP_OVERLAP,
			.bucket_bytes = TRAIN_BUCKET_BYTES,
			.first_bucket_bytes = TRAIN_FIRST_BUCKET_BYTES},
		.hash_every = 50,
		.every = 100,
		.evaluate = 256,
		.scaling = -1,
	};
	struct train_options given = parsed;
	if (!read_all(&given, argc, argv, status))
		return false;
	*status = TRAIN_EXIT_USAGE;
	struct train_recipe recipe;
	if (!train_preset(given.preset, &parsed.shape) ||
	    !train_preset_recipe(given.preset, &recipe)) {
		fprintf(stderr, "ring_train: there is no preset '%s'; see ring_train --help\n",
			given.preset);
		return false;
	}
	/* Reads again, over the preset: other options override it, wherever they stand. */
	parsed.optimizer = recipe.optimizer;
	parsed.usual_batch = recipe.rows;
	if (!read_all(&parsed, argc, argv, status))
		return false;
	*status = TRAIN_EXIT_USAGE;
	if (parsed.optimizer.kind != recipe.optimizer.kind)
		adopt_kind(&parsed, &recipe.optimizer);
	if (parsed.scaling < 0)
		parsed.scaling = parsed.global_batch ? TRAIN_STRONG_SCALING : TRAIN_WEAK_SCALING;
	if (!train_lengths_parse(&parsed.drawn, parsed.lengths) ||
	    !train_faults_parse(&parsed.faults) || !agree_with_one_another(&parsed))
		return false;
	if (parsed.steps == 0 && parsed.epochs == 0)
		parsed.steps = 200;
	if (parsed.sweep && !*parsed.sweep) /* this is a run of a sweep */
		parsed.sweep = NULL;
	if (parsed.as_reference)
		become_reference(&parsed);
	if (parsed.as_control)
		become_control(&parsed);
	*status = TRAIN_EXIT_OK;
	*options = parsed;
	return true;
}

bool train_options_settle(struct train_options *options, int ranks)
{
	const int shares = ranks * options->accumulate, slow = options->faults.slow_rank;
	if (slow >= ranks && !options->as_reference) {
		fprintf(stderr, "ring_train: --slow-rank %d: ranks are 0 to %d\n", slow, ranks - 1);
		return false;
	}
	if (!options->batch && !options->global_batch) {
		if (options->scaling == TRAIN_STRONG_SCALING)
			options->global_batch = options->usual_batch;
		else
			options->batch = options->usual_batch;
	}
	if (!options->batch) {
		if (options->global_batch % shares != 0) {
			fprintf(stderr,
				"ring_train: --global-batch %d does not divide by %d ranks of %d "
				"micro-batches\n",
				options->global_batch, ranks, options->accumulate);
			return false;
		}
		options->batch = options->global_batch / shares;
	}
	options->global_batch = options->batch * shares;
	bool waits = options->ddp.mode == TRAIN_DDP_NAIVE || options->ddp.mode == TRAIN_DDP_FLAT;
	if (options->profile && ranks > 1 && waits)
		return complain("--profile needs one rank, --mode off or --mode overlap");
	if (options->profile && ranks > 1 && options->steps == 1)
		return complain("--profile of several ranks needs two steps or more");
	return true;
}
