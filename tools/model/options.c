/* SPDX-License-Identifier: MIT */
/* The values of options, and the machine that they describe. */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "tools/quiet.h"
#include "tools/whole_file.h"
#include "world.h"

int model_complain(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fflush(stdout); /* what was said before comes before */
	fprintf(stderr, "ring_model %s: ", command);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	return STATUS_USAGE;
}

/* ---- values ------------------------------------------------------------------------------- */

static bool parse_collective(const char *text, const struct model_collective **value)
{
	const struct model_collective *found = model_collective_find(text);
	if (found)
		*value = found;
	return found != NULL;
}

/* Of what was found by its name. */
static bool store_number(int found, int *value)
{
	if (found >= 0)
		*value = found;
	return found >= 0;
}

static bool parse_algorithm(const char *text, int *value)
{
	if (strcmp(text, "chosen") != 0)
		return store_number(ring_algorithm_find(text), value);
	*value = MODEL_CHOOSES;
	return true;
}

static bool append_text(const char *text, struct model_texts *texts)
{
	if (texts->count == MODEL_TEXTS_MAX)
		return false;
	texts->at[texts->count++] = text;
	return true;
}

static bool refuse(const struct option_given *given)
{
	char wanted[192];
	snprintf(wanted, sizeof(wanted), "%s (%s)", given->row->value, given->row->help);
	return option_refuse(given, wanted);
}

/* A reader that parses `text` into `field`. */
#define READER(what, parse)                                                                        \
	bool model_read_##what(const struct option_given *given, void *options)                    \
	{                                                                                          \
		const char *text = given->text;                                                    \
		void *field = (char *)options + given->row->offset;                                \
		return (parse) || refuse(given);                                                   \
	}

READER(real, model_parse_real(text, field))
READER(count, model_parse_count(text, field))
READER(size, model_parse_size(text, field))
READER(time, model_parse_time(text, field))
READER(rate, model_parse_rate(text, field))
READER(link, model_parse_link(text, field))
READER(ranks, model_parse_list(text, model_parse_ranks, field))
READER(sizes, model_parse_list(text, model_parse_size, field))
READER(texts, append_text(text, field))
READER(errors, model_parse_errors(text, field))
READER(collective, parse_collective(text, field))
READER(path, store_number(model_path_find(text), field))
READER(memory, store_number(model_memory_find(text), field))
READER(algorithm, parse_algorithm(text, field))
READER(wire, model_parse_wire(text, field))
READER(slow, model_parse_slow(text, field))
READER(late, model_parse_late(text, field))

/* Whether all output files can be written; checked before anything is computed. */
static bool can_write(const struct option_table *table, const void *options)
{
	for (int i = 0; i < table->count; i++) {
		const void *field = (const char *)options + table->rows[i].offset;
		if (table->rows[i].kind == OPTION_FILE &&
		    !whole_file_check("ring_model", *(const char *const *)field))
			return false;
	}
	return true;
}

int model_options_parse(const struct option_table *table, void *options, int argc, char **argv,
			int *status)
{
	struct option_found found = {0};
	int first = options_read(table, options, &found, argc, argv, status);
	if (first >= 0 && !can_write(table, options)) {
		*status = STATUS_SYSTEM;
		return -1;
	}
	if (first >= 0 && found.quiet)
		quiet_begin();
	return first;
}

/* ---- the machine -------------------------------------------------------------------------- */

const struct model_choice model_choice_none = {.overhead = -1,
					       .path = MODEL_ANY,
					       .algorithm = MODEL_ANY};

/* The only path that a file has numbers of; MODEL_ANY if there are several. */
static int only_path(const struct ring_tuning_table *table)
{
	int found = MODEL_ANY;
	for (int path = 0; path < RING_PATHS; path++)
		if (table->has_model[path]) {
			if (found != MODEL_ANY)
				return MODEL_ANY;
			found = path;
		}
	return found;
}

/* A record, or a model of ringccl 0.1. */
static bool looks_like_json(const char *path)
{
	FILE *in = fopen(path, "re");
	bool brace = in && getc(in) == '{';
	if (in)
		fclose(in);
	return brace;
}

static bool read_numbers(const char *command, const struct model_choice *choice, int path,
			 struct model_machine *machine)
{
	static struct ring_tuning_table table; /* too large for a small stack */
	struct ring_failure failure = {0};
	if (looks_like_json(choice->file)) {
		model_complain(command, "%s is not a file of numbers; ring_model fit writes them",
			       choice->file);
		return false;
	}
	if (ring_tuning_file_read(choice->file, &table, &failure)) {
		model_complain(command, "%s", failure.text);
		return false;
	}
	if (path == MODEL_ANY)
		path = only_path(&table);
	if (path == MODEL_ANY) {
		model_complain(command, "%s has not the numbers of one path: which? Give --path",
			       choice->file);
		return false;
	}
	if (!table.has_model[path]) {
		model_complain(command, "%s has no numbers of %s", choice->file,
			       ring_path_name((enum ring_path)path));
		return false;
	}
	machine->path = (enum ring_path)path;
	machine->model = table.models[path];
	machine->table = &table;
	return true;
}

static void override(const struct model_choice *choice, struct model_machine *machine)
{
	struct ring_model *model = &machine->model;
	if (choice->link.bandwidth > 0) {
		model->hop = model_number_of_seconds(choice->link.latency);
		model->wire = model_number_of_rate(choice->link.bandwidth);
	}
	if (choice->reduce_rate > 0)
		model->touch = model_number_of_rate(MODEL_TOUCHED_TO_REDUCE * choice->reduce_rate);
	if (choice->overhead >= 0)
		model->call = model_number_of_seconds(choice->overhead);
	machine->between = *model;
	if (choice->between.bandwidth > 0) {
		machine->between.hop = model_number_of_seconds(choice->between.latency);
		machine->between.wire = model_number_of_rate(choice->between.bandwidth);
	}
}

int model_machine_make(const char *command, const struct model_choice *choice, int path,
		       struct model_machine *machine)
{
	*machine = (struct model_machine){
		.ranks_per_host = (int)choice->ranks_per_host,
		.path = RING_PATH_NETWORK,
		.memory = RING_MEMORY_REACHABLE,
		.algorithm = choice->algorithm == MODEL_ANY
				     ? (int)ring_algorithm_of(RING_KIND_ALL_REDUCE)
				     : choice->algorithm,
		.chunk = (uint64_t)choice->chunk,
		.cpus = choice->cpus,
	};
	if (choice->path != MODEL_ANY)
		path = choice->path;
	if (choice->file) {
		if (!read_numbers(command, choice, path, machine))
			return STATUS_SYSTEM;
	} else if (choice->link.bandwidth == 0) {
		return model_complain(command, "how fast are the links? Give --model or --link");
	}
	override(choice, machine);
	return STATUS_OK;
}
