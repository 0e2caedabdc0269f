/* SPDX-License-Identifier: MIT */
/*
 * Trains once for each value of an option, and prints a table. All values are checked before the
 * first run begins.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/temporary.h"
#include "again.h"
#include "files.h"
#include "train/step/option_rows.h"
#include "train/report/record.h"

#define MOST_VALUES 64

struct value {
	char *text;
	char *record; /* the file that its run writes */
	struct train_options options;
	struct train_summary summary;
};

struct sweep {
	char *spec; /* "bucket-mb=1,4,25"; cut up */
	char option[64];
	struct value values[MOST_VALUES];
	int count;
	bool keeps; /* keep the records */
};

static bool refuse(const char *why)
{
	fprintf(stderr, "ring_train: --sweep %s\n", why);
	return false;
}

/* ---- what is to be run -------------------------------------------------------------------- */

/* Whether an option takes a value and is not about the sweep itself. */
static bool can_sweep(const char *name)
{
	for (int i = 0; i < train_option_table.count; i++) {
		const struct option_row *row = &train_option_table.rows[i];
		if (row->name && strcmp(row->name, name) == 0)
			return row->value && strcmp(name, "sweep") != 0 && strcmp(name, "json") != 0;
	}
	return false;
}

/* Splits the values at commas, or at semicolons if there are any. */
static bool cut_up(struct sweep *sweep)
{
	char *equals = strchr(sweep->spec, '='), *rest = NULL;
	if (!equals || equals == sweep->spec || !equals[1])
		return refuse("needs OPTION=VALUE,VALUE..., such as bucket-mb=1,4,25");
	*equals = '\0';
	if (!can_sweep(sweep->spec))
		return refuse("needs an option that takes a value; ring_train --help lists them");
	snprintf(sweep->option, sizeof(sweep->option), "--%s", sweep->spec);
	const char *comma = strchr(equals + 1, ';') ? ";" : ",";
	for (char *text = strtok_r(equals + 1, comma, &rest); text;
	     text = strtok_r(NULL, comma, &rest)) {
		if (sweep->count == MOST_VALUES)
			return refuse("takes at most 64 values");
		sweep->values[sweep->count++].text = text;
	}
	return sweep->count > 0 || refuse("names no value");
}

/* "a/b.jsonl" becomes "a/b.bucket-mb=4.jsonl", without slashes in the value. */
static bool name_record(const struct sweep *sweep, struct value *value, const char *json)
{
	const char *name = strrchr(json, '/') ? strrchr(json, '/') + 1 : json;
	const char *suffix = strrchr(name, '.') ? strrchr(name, '.') : name + strlen(name);
	if (asprintf(&value->record, "%.*s.%s=%s%s", (int)(suffix - json), json, sweep->spec,
		     value->text, suffix) < 0)
		return refuse("ran out of memory");
	for (char *at = value->record + (suffix - json); *at; at++)
		*at = *at == '/' ? '_' : *at;
	return true;
}

static bool make_record(struct value *value)
{
	char path[TEMPORARY_MAX];
	value->record = temporary_name(path, "ring_train") ? strdup(path) : NULL;
	int fd = value->record ? mkstemp(value->record) : -1;
	if (fd < 0)
		return refuse("could not make a temporary file");
	close(fd);
	return true;
}

/* Makes the arguments of a run, and checks them as that run will. */
static bool prepare(struct sweep *sweep, struct value *value, struct train_arguments *arguments,
		    int argc, char **argv)
{
	int status;
	if (!train_arguments_copy(arguments, argc, argv))
		return false;
	train_arguments_add(arguments, sweep->option);
	train_arguments_add(arguments, value->text);
	train_arguments_add(arguments, "--json");
	train_arguments_add(arguments, value->record);
	train_arguments_add(arguments, "--quiet");
	train_arguments_add(arguments, "--sweep");
	train_arguments_add(arguments, "");
	return train_options_parse(&value->options, arguments->argc, arguments->argv, &status);
}

static int prepare_all(struct sweep *sweep, const struct train_options *options, int argc,
		       char **argv)
{
	sweep->keeps = options->json != NULL;
	for (int i = 0; i < sweep->count; i++) {
		struct value *value = &sweep->values[i];
		struct train_arguments arguments = {0};
		if (sweep->keeps ? !name_record(sweep, value, options->json) : !make_record(value))
			return STATUS_SYSTEM;
		bool reads = prepare(sweep, value, &arguments, argc, argv);
		train_arguments_free(&arguments);
		int ranks = value->options.ranks > 0 ? value->options.ranks : 1;
		struct train_options settled = value->options;
		if (!reads || !train_options_settle(&settled, ranks))
			return STATUS_USAGE;
		if (!train_files_check(&value->options))
			return STATUS_SYSTEM;
	}
	return STATUS_OK;
}

/* ---- running and telling ------------------------------------------------------------------ */

static const enum train_metric columns[] = {
	TRAIN_STEP,    TRAIN_MEDIAN, TRAIN_SAMPLES, TRAIN_TOKENS,    TRAIN_EXPOSED,
	TRAIN_WAITING, TRAIN_HIDDEN, TRAIN_CALLS,   TRAIN_IMBALANCE,
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_line(const struct sweep *sweep, const struct value *value)
{
	if (value == &sweep->values[0]) {
		printf("%-16s", sweep->spec);
		for (size_t c = 0; c < COLUMNS; c++)
			printf(" %14s", train_metric_names[columns[c]]);
		putchar('\n');
	}
	printf("%-16s", value->text);
	for (size_t c = 0; c < COLUMNS; c++) {
		double number = value->summary.values[columns[c]];
		if (isfinite(number))
			printf(" %14.*f", fabs(number) < 1000 ? 2 : 0, number);
		else
			printf(" %14s", "-");
	}
	puts(value->summary.busy ? "  machine busy" : "");
	fflush(stdout);
}

static int run_all(struct sweep *sweep, int argc, char **argv)
{
	int status = STATUS_OK;
	for (int i = 0; i < sweep->count && status == STATUS_OK; i++) {
		struct value *value = &sweep->values[i];
		struct train_arguments arguments = {0};
		bool reads = prepare(sweep, value, &arguments, argc, argv);
		status = reads ? train_again(&value->options, arguments.argc, arguments.argv)
			       : STATUS_SYSTEM;
		train_arguments_free(&arguments);
		if (status == STATUS_OK && train_record_read(value->record, &value->summary) != 0)
			status = STATUS_SYSTEM;
		if (status == STATUS_OK)
			print_line(sweep, value);
	}
	return status;
}

/* Each run would find checkpoints of the one before, or replace its file. */
static bool shares_no_file(const struct train_options *options)
{
	const char *name = options->checkpoint ? "--checkpoint"
			   : options->export   ? "--export"
			   : options->trace    ? "--trace"
			   : options->profile  ? "--profile"
			   : options->plot     ? "--plot"
					       : NULL;
	if (name)
		fprintf(stderr,
			"ring_train: --sweep trains several times: leave out %s, whose files all "
			"runs would share\n",
			name);
	return !name;
}

int train_sweep(const struct train_options *options, int argc, char **argv)
{
	if (!shares_no_file(options))
		return STATUS_USAGE;
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int status = STATUS_SYSTEM;
	if (sweep)
		sweep->spec = strdup(options->sweep);
	if (sweep && sweep->spec)
		status = cut_up(sweep) ? prepare_all(sweep, options, argc, argv) : STATUS_USAGE;
	else
		refuse("found no memory");
	if (status == STATUS_OK)
		status = run_all(sweep, argc, argv);
	for (int i = 0; sweep && i < sweep->count; i++) {
		if (sweep->values[i].record && !sweep->keeps)
			unlink(sweep->values[i].record);
		free(sweep->values[i].record);
	}
	if (sweep)
		free(sweep->spec);
	free(sweep);
	return status;
}
