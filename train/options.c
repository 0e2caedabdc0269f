/* SPDX-License-Identifier: MIT */
/*
 * The command line. Each option is a row of a table that says its name, how its value is read, where
 * it goes and what --help tells of it.
 */
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ringccl.h"

#define MAX_RANKS 1024

enum kind {
	HEADING, /* of a part of --help */
	FLAG,    /* sets a bool */
	UNFLAG,  /* clears a bool */
	INT,
	LONG,
	NUMBER, /* uint64_t */
	REAL,
	MEGABYTES, /* "0.5" becomes size_t bytes */
	TEXT,
	CHOICE, /* an int: the number of a word of choices */
	REFERENCE,
	HELP,
	VERSION,
};

struct row {
	enum kind kind;
	char letter; /* 0: none */
	const char *name, *value;
	size_t offset; /* in struct train_options */
	double low, high;
	const char *choices; /* "weak|strong" */
	const char *help;
};

#define AT(field) offsetof(struct train_options, field)

/* Indexed by the value that getopt_long gives, less FIRST. */
static const struct row rows[] = {
	{HEADING, .help = "What is trained"},
	{TEXT, 0, "preset", "NAME", AT(preset),
	 .help = "seed000, lab, gpt4m, nanogpt-char or mlp40; seed000"},
	{INT, 0, "layers", "N", AT(shape.layers), 1, 1000,
	 .help = "instead of the preset's: layers of an MLP, blocks of a GPT"},
	{INT, 0, "width", "N", AT(shape.width), 1, 65536, .help = "features between layers"},
	{INT, 0, "inputs", "N", AT(shape.inputs), 1, 65536, .help = "features of an MLP's example"},
	{INT, 0, "outputs", "N", AT(shape.outputs), 2, 65536, .help = "classes of an MLP"},
	{INT, 0, "heads", "N", AT(shape.heads), 1, 1024, .help = "of a GPT's attention"},
	{INT, 0, "context", "N", AT(shape.context), 2, 65536, .help = "characters a GPT looks at"},
	{INT, 0, "vocabulary", "N", AT(shape.vocabulary), 2, 256, .help = "tokens of a GPT"},
	{FLAG, 0, "print-model", NULL, AT(print_model), .help = "list the tensors and end"},

	{HEADING, .help = "On what, and for how long"},
	{TEXT, 0, "text", "FILE", AT(text),
	 .help = "a text, or markov:SEED:COUNT; the first public-domain text installed"},
	{INT, 0, "batch", "N", AT(batch), 1, 1 << 20,
	 .help = "examples of a rank and micro-batch; as the preset is usually trained"},
	{INT, 0, "global-batch", "N", AT(global_batch), 1, 1 << 20,
	 .help = "examples of a step, all ranks together"},
	{CHOICE, 0, "scaling", "HOW", AT(scaling), .choices = "weak|strong",
	 .help = "whether --batch or --global-batch stays when ranks are added; weak"},
	{INT, 0, "accumulate", "N", AT(accumulate), 1, 4096, .help = "micro-batches of a step; 1"},
	{LONG, 0, "steps", "N", AT(steps), 1, 1e9, .help = "200, unless --epochs is given"},
	{INT, 0, "epochs", "N", AT(epochs), 1, 1e6, .help = "times through all examples"},
	{UNFLAG, 0, "keep-last", NULL, AT(drop_last),
	 .help = "end epochs with a smaller step, padded as DistributedSampler does"},
	{INT, 0, "uneven", "K", AT(uneven), 0, 1e6,
	 .help = "rank r runs out r * K steps before rank 0, in each epoch"},
	{NUMBER, 0, "seed", "N", AT(seed), .help = "of parameters, order and dropout; 1"},
	{INT, 0, "evaluate", "N", AT(evaluate), 0, 1e9, .help = "held-out examples at the end; 256"},

	{HEADING, .help = "By which steps"},
	{CHOICE, 0, "optimizer", "NAME", AT(optimizer.kind), .choices = "sgd|adamw",
	 .help = "the preset's"},
	{REAL, 0, "lr", "RATE", AT(optimizer.rate), 0, 1e3,
	 .help = "highest learning rate; the preset's"},
	{LONG, 0, "warmup", "N", AT(optimizer.warmup), 0, 1e9,
	 .help = "steps until it is reached; the preset's"},
	{REAL, 0, "decay", "RATE", AT(optimizer.decay), 0, 1e3, .help = "of weights; the preset's"},
	{REAL, 0, "least", "SHARE", AT(optimizer.least), 0, 1,
	 .help = "of the rate that is left at the end, along a cosine; 1: constant; the preset's"},
	{LONG, 0, "cosine", "N", AT(optimizer.steps), 1, 1e9,
	 .help = "the step where it ends; the preset's, or the last"},
	{REAL, 0, "momentum", "SHARE", AT(optimizer.momentum), 0, 1, .help = "of sgd"},
	{REAL, 0, "clip", "LENGTH", AT(optimizer.clip), 0, 1e9,
	 .help = "longest gradient over all parameters; the preset's"},

	{HEADING, .help = "By which ranks"},
	{INT, 'n', "ranks", "N", AT(ranks), 1, MAX_RANKS,
	 .help = "start so many here, unless a launcher started this rank; 1"},
	{CHOICE, 0, "mode", "HOW", AT(ddp.mode), .choices = "off|naive|flat|overlap",
	 .help = "off: no averaging, a control run; naive: one call per tensor behind backward; "
		 "flat: one call; overlap: buckets during backward; overlap"},
	{MEGABYTES, 0, "bucket-mb", "MiB", AT(ddp.bucket_bytes), 0, 1 << 20,
	 .help = "a bucket is closed when it has reached this; 25"},
	{MEGABYTES, 0, "first-bucket-mb", "MiB", AT(ddp.first_bucket_bytes), 0, 1 << 20,
	 .help = "the first one already at this; 1"},
	{FLAG, 0, "plan-only", NULL, AT(plan_only), .help = "list the buckets and end"},
	{FLAG, 0, "compress", NULL, AT(ddp.compressed),
	 .help = "gradients travel as bfloat16, with error feedback"},
	{FLAG, 0, "sync-every-micro", NULL, AT(sync_every_micro),
	 .help = "average after every micro-batch, as without no_sync"},
	{INT, 0, "hash-every", "K", AT(hash_every), 0, 1e9,
	 .help = "compare all ranks' parameters every K steps, 0 never; 50"},
	{TEXT, 0, "transport", "LIST", AT(transport), .help = "transports allowed, \"shm,tcp\""},
	{TEXT, 0, "link", "PACE", AT(link),
	 .help = "as slow as such links: \"1GB/s,20us\" (RING_LINK)"},
	{REAL, 0, "timeout", "SECONDS", AT(timeout_s), 0, 1e6, .help = "of joining and of each call"},

	{HEADING, .help = "What is kept"},
	{TEXT, 0, "checkpoint", "FOLDER", AT(checkpoint),
	 .help = "keep the last two checkpoints here"},
	{INT, 0, "every", "K", AT(every), 1, 1e9, .help = "a checkpoint every K steps; 100"},
	{FLAG, 0, "resume", NULL, AT(resume),
	 .help = "go on from the latest, with any number of ranks"},
	{TEXT, 0, "export", "FILE", AT(export),
	 .help = "what the training begins with, for another program to do the same"},
	{TEXT, 0, "json", "FILE", AT(json), .help = "one JSON line per step and rank, and a summary"},
	{TEXT, 0, "trace", "FILE", AT(trace), .help = "a Chrome trace of all ranks"},
	{TEXT, 0, "profile", "FILE", AT(profile),
	 .help = "a step without communication, for ring_model ddp; an overlapped run then holds "
		 "every other step's buckets back until backward is over"},
	{TEXT, 0, "plot", "PREFIX", AT(plot), .help = "plots of this run and its references"},
	{TEXT, 0, "model", "FILE", AT(model),
	 .help = "ring_model's JSON: predictions beside the summary"},
	{REFERENCE, 0, "reference", "FILE", 0,
	 .help = "--json of another run: one rank, for efficiency; --mode off, for exposed time"},
	{FLAG, 0, "with-reference", NULL, AT(with_reference),
	 .help = "run the same on one rank first"},
	{TEXT, 0, "as-reference", "FILE", AT(as_reference),
	 .help = "write only this record; what --with-reference starts"},
	{HELP, 'h', "help", NULL, .help = "show this and exit"},
	{VERSION, 0, "version", NULL, .help = "show the version and exit"},
};

#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))
#define FIRST 256

/* ---- telling ------------------------------------------------------------------------------ */

/* The help of an option, broken into lines that begin under one another. */
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
	     "Trains a small model on several ranks, whose gradients ringccl averages while "
	     "backward\n"
	     "runs, and tells where the time went. Starts ranks here, or is one of a launcher's, "
	     "such\n"
	     "as ring_run or torchrun.");
	for (int i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];
		if (row->kind == HEADING) {
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

static bool refuse(const struct row *row, const char *wanted, const char *text)
{
	fprintf(stderr, "ring_train: --%s wants %s, not '%s'\n", row->name, wanted, text);
	return false;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A number of the row's range, whole unless it is a REAL or MEGABYTES. */
static bool read_number(const struct row *row, const char *text, double *number)
{
	bool whole = row->kind == INT || row->kind == LONG;
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
static bool read_choice(const struct row *row, const char *text, int *value)
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

static bool read_option(struct train_options *options, const struct row *row, const char *text)
{
	void *field = (char *)options + row->offset;
	double number = 0;
	char *end;
	switch (row->kind) {
	case FLAG:
	case UNFLAG:
		*(bool *)field = row->kind == FLAG;
		return true;
	case TEXT:
		*(const char **)field = text;
		return true;
	case CHOICE:
		return read_choice(row, text, field);
	case REFERENCE:
		return read_reference(options, text);
	case NUMBER:
		*(uint64_t *)field = strtoull(text, &end, 0);
		return (end != text && !*end) || refuse(row, "a number", text);
	default:
		break;
	}
	if (!read_number(row, text, &number))
		return false;
	if (row->kind == INT)
		*(int *)field = (int)number;
	else if (row->kind == LONG)
		*(long *)field = (long)number;
	else if (row->kind == REAL)
		*(double *)field = number;
	else
		*(size_t *)field = (size_t)(number * (1 << 20));
	return true;
}

/* The tables that getopt_long reads. */
static void list_for_getopt(struct option *longs, char *letters)
{
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].kind == HEADING)
			continue;
		int has_value = rows[i].value ? required_argument : no_argument;
		*longs++ = (struct option){rows[i].name, has_value, NULL, FIRST + i};
		if (!rows[i].letter)
			continue;
		*letters++ = rows[i].letter;
		if (rows[i].value)
			*letters++ = ':';
	}
	*longs = (struct option){0};
	*letters = '\0';
}

/* What getopt_long found, as a row; NULL: nothing it knows. */
static const struct row *find_row(int found)
{
	if (found >= FIRST)
		return &rows[found - FIRST];
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].letter && rows[i].letter == found)
			return &rows[i];
	}
	return NULL;
}

/* Reads all arguments into options. returns true to go on */
static bool read_all(struct train_options *options, int argc, char **argv, int *status)
{
	struct option longs[ROWS + 1];
	char letters[2 * ROWS + 1];
	list_for_getopt(longs, letters);
	int found;
	*status = TRAIN_EXIT_OK;
	optind = 0; /* begin anew: the preset is read before the rest */
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct row *row = find_row(found);
		if (row && row->kind == HELP) {
			print_usage();
			return false;
		}
		if (row && row->kind == VERSION) {
			printf("ring_train %d.%d.%d\n", RING_VERSION_MAJOR, RING_VERSION_MINOR,
			       RING_VERSION_PATCH);
			return false;
		}
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
		return complain("--batch is a rank's and --global-batch all ranks': give one");
	if (options->scaling == TRAIN_STRONG_SCALING && options->batch)
		return complain("strong scaling keeps the global batch: give --global-batch");
	if (options->resume && !options->checkpoint)
		return complain("--resume wants --checkpoint FOLDER, where it goes on from");
	if (options->shape.kind == TRAIN_MLP && options->text)
		return complain("--text is for a GPT; an MLP trains on points");
	if (options->shape.kind == TRAIN_GPT && options->shape.width % options->shape.heads != 0)
		return complain("--width must be a multiple of --heads");
	if (options->uneven && !options->drop_last)
		return complain("--uneven already decides how epochs end: leave out --keep-last");
	if (options->export && (options->resume || options->uneven || !options->drop_last))
		return complain("--export is for whole steps from the first one on");
	if (options->profile && (options->uneven || options->sync_every_micro))
		return complain("--profile is of steps that are all alike, and average once");
	return true;
}

/* The run that another one is compared with leaves no other traces. */
static void become_reference(struct train_options *options)
{
	options->json = options->as_reference;
	options->trace = options->plot = options->model = options->checkpoint = NULL;
	options->export = options->profile = NULL;
	options->resume = false;
	options->reference_count = 0;
	options->with_reference = false;
	options->ranks = 1;
	options->uneven = 0;
}

/* Another optimizer than the preset's takes over nothing of its rate that was not said. */
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
	/* Once more, over the preset: what is said besides wins, wherever it stands. */
	parsed.optimizer = recipe.optimizer;
	parsed.usual_batch = recipe.rows;
	if (!read_all(&parsed, argc, argv, status))
		return false;
	*status = TRAIN_EXIT_USAGE;
	if (parsed.optimizer.kind != recipe.optimizer.kind)
		adopt_kind(&parsed, &recipe.optimizer);
	if (parsed.scaling < 0)
		parsed.scaling = parsed.global_batch ? TRAIN_STRONG_SCALING : TRAIN_WEAK_SCALING;
	if (!agree_with_one_another(&parsed))
		return false;
	if (parsed.steps == 0 && parsed.epochs == 0)
		parsed.steps = 200;
	if (parsed.as_reference)
		become_reference(&parsed);
	*status = TRAIN_EXIT_OK;
	*options = parsed;
	return true;
}

bool train_options_settle(struct train_options *options, int ranks)
{
	const int shares = ranks * options->accumulate;
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
		return complain("--profile is of one rank, of --mode off, or of --mode overlap");
	if (options->profile && ranks > 1 && options->steps == 1)
		return complain("--profile of several ranks wants two steps or more");
	return true;
}
