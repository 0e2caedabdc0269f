/* SPDX-License-Identifier: MIT */
/* Command lines as tables, and the machine that options describe. */
#include "model_options.h"

#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_compare.h"
#include "whole_file.h"

#define OPTIONS_MAX 40

int model_complain(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fprintf(stderr, "ring_model %s: ", command);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	return MODEL_EXIT_USAGE;
}

/* ---- tables of options -------------------------------------------------------------------- */

static void show_help(const struct model_command *command)
{
	printf("usage: ring_model %s [options]%s\n%s\n\n", command->name, command->arguments,
	       command->purpose);
	for (const struct model_option *option = command->options; option->name; option++)
		printf("  --%s %s\n", option->name, option->help);
}

static bool parse_collective(const char *text, const struct model_collective **value)
{
	const struct model_collective *found = model_collective_find(text);
	if (found)
		*value = found;
	return found != NULL;
}

static bool append_text(const char *text, struct model_texts *texts)
{
	if (texts->count == MODEL_TEXTS_MAX)
		return false;
	texts->at[texts->count++] = text;
	return true;
}

static bool parse_value(const struct model_option *option, const char *text)
{
	switch (option->kind) {
	case MODEL_FLAG:
		*(bool *)option->value = true;
		return true;
	case MODEL_TEXT:
	case MODEL_OUTPUT:
		*(const char **)option->value = text;
		return true;
	case MODEL_REAL:
		return model_parse_real(text, option->value);
	case MODEL_COUNT:
		return model_parse_count(text, option->value);
	case MODEL_SIZE:
		return model_parse_size(text, option->value);
	case MODEL_TIME:
		return model_parse_time(text, option->value);
	case MODEL_RATE:
		return model_parse_rate(text, option->value);
	case MODEL_LINK:
		return model_parse_link(text, option->value);
	case MODEL_RANKS_LIST:
		return model_parse_list(text, model_parse_ranks, option->value);
	case MODEL_SIZES_LIST:
		return model_parse_list(text, model_parse_size, option->value);
	case MODEL_PAIRS:
		return append_text(text, option->value);
	case MODEL_ERRORS:
		return model_parse_errors(text, option->value);
	case MODEL_COLLECTIVE:
		return parse_collective(text, option->value);
	}
	return false;
}

static void fill_getopt(const struct model_option *options, struct option names[OPTIONS_MAX])
{
	int count = 0;
	for (; options[count].name && count < OPTIONS_MAX - 2; count++)
		names[count] = (struct option){options[count].name,
					       options[count].kind == MODEL_FLAG ? no_argument
										 : required_argument,
					       NULL, 0};
	names[count++] = (struct option){"help", no_argument, NULL, 'h'};
	names[count] = (struct option){0};
}

/* Whether all output files can be written; checked before anything is computed. */
static bool can_write(const struct model_option *options)
{
	for (const struct model_option *option = options; option->name; option++)
		if (option->kind == MODEL_OUTPUT &&
		    !whole_file_check("ring_model", *(const char **)option->value))
			return false;
	return true;
}

int model_options_parse(const struct model_command *command, int argc, char **argv, int *status)
{
	struct option names[OPTIONS_MAX];
	int letter, index = 0;
	fill_getopt(command->options, names);
	optind = 1;
	while ((letter = getopt_long(argc, argv, "h", names, &index)) != -1) {
		if (letter == 'h') {
			show_help(command);
			*status = MODEL_EXIT_OK;
			return -1;
		}
		*status = MODEL_EXIT_USAGE;
		if (letter == '?') /* getopt has printed a complaint */
			return -1;
		const struct model_option *option = &command->options[index];
		if (!parse_value(option, optarg)) {
			model_complain(command->name, "--%s wants %s, not '%s'", option->name,
				       option->help, optarg);
			return -1;
		}
	}
	*status = MODEL_EXIT_BAD;
	if (!can_write(command->options))
		return -1;
	*status = MODEL_EXIT_OK;
	return optind;
}

/* ---- the machine -------------------------------------------------------------------------- */

const struct model_choice model_choice_none = {.overhead = -1};

bool model_choose(const char *command, const struct model_choice *choice,
		  struct model_chosen *chosen)
{
	*chosen = (struct model_chosen){.choice = *choice};
	if (choice->file)
		return model_file_read(choice->file, &chosen->file);
	if (choice->link.bandwidth > 0)
		return true;
	model_complain(command, "how fast are the links? Give --model or --link");
	return false;
}

/* The fit for so many ranks, or else for the nearest number; of two equally near, the larger. */
static const struct model_fit *find_fit(const struct model_chosen *chosen, int ranks,
					const char *transport)
{
	const struct model_fit *nearest = NULL;
	for (size_t i = 0; i < chosen->file.count; i++) {
		const struct model_fit *fit = &chosen->file.fits[i];
		if (transport && strcmp(fit->transport, transport) != 0)
			continue;
		int closer = nearest ? abs(nearest->ranks - ranks) - abs(fit->ranks - ranks) : 1;
		if (closer > 0 || (closer == 0 && fit->ranks > nearest->ranks))
			nearest = fit;
	}
	return nearest;
}

void model_machine_remark(const struct model_chosen *chosen, const struct model_list *ranks,
			  const char *transport)
{
	if (chosen->file.link[0] && chosen->choice.link.bandwidth == 0)
		printf("# links paced to %s, as the model's\n", chosen->file.link);
	for (int i = 0; i < ranks->count; i++) {
		int count = (int)ranks->values[i];
		const struct model_fit *fit =
			find_fit(chosen, count, transport ? transport : chosen->choice.transport);
		if (fit && fit->ranks != count && count > 1)
			printf("# %d ranks have no fit; by that of %d ranks over %s\n", count,
			       fit->ranks, fit->transport);
	}
}

static void override(const struct model_choice *choice, struct model_machine *machine)
{
	if (choice->link.bandwidth > 0)
		machine->link = choice->link;
	if (choice->reduce_rate > 0)
		machine->reduce_rate = choice->reduce_rate;
	if (choice->overhead >= 0)
		machine->overhead = choice->overhead;
	if (choice->chunk > 0)
		machine->chunk = choice->chunk;
	machine->ranks_per_host = (int)choice->ranks_per_host;
	machine->between = choice->between.bandwidth > 0 ? choice->between : machine->link;
}

bool model_machine_for(const struct model_chosen *chosen, int ranks, const char *transport,
		       struct model_machine *machine)
{
	*machine = (struct model_machine){.reduce_rate = INFINITY, .chunk = MODEL_CHUNK};
	if (!transport)
		transport = chosen->choice.transport;
	if (chosen->choice.file) {
		const struct model_fit *fit = find_fit(chosen, ranks, transport);
		if (!fit) {
			fprintf(stderr, "ring_model: %s has no model of %s\n", chosen->choice.file,
				transport ? transport : "any transport");
			return false;
		}
		*machine = fit->machine;
	}
	override(&chosen->choice, machine);
	return true;
}
