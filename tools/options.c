/* SPDX-License-Identifier: MIT */
/* Reads command lines. The values of single options are read in option_values.c. */
#include "options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/spelling.h"
#include "option_values.h"
#include "ringccl.h"

#define FIRST 256 /* getopt_long returns FIRST + a row's index */
#define HELP_COLUMNS 100

/* ---- help --------------------------------------------------------------------------------- */

/* "-n, --ranks N"; without a letter, spaces stand in its place. returns how wide it is */
static int write_name(const struct option_row *row, char *text, size_t room)
{
	if (row->kind == OPTION_NOTE)
		return snprintf(text, room, "  %s", row->value);
	char letter[] = "    ";
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c%s", row->letter, row->name ? ", " : "");
	return snprintf(text, room, "  %s%s%s%s%s", letter, row->name ? "--" : "",
			row->name ? row->name : "", row->value ? " " : "",
			row->value ? row->value : "");
}

/* Wraps between words; text begins in column `indent`. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (column > indent && column + length + 1 > HELP_COLUMNS) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_help(const struct option_table *table)
{
	char name[64];
	int widest = 0;
	for (int i = 0; i < table->count; i++) {
		const struct option_row *row = &table->rows[i];
		if (row->kind == OPTION_HEADING || !row->help)
			continue;
		int width = write_name(row, name, sizeof(name));
		widest = width > widest ? width : widest;
	}
	puts(table->usage);
	for (int i = 0; i < table->count; i++) {
		const struct option_row *row = &table->rows[i];
		if (row->kind == OPTION_HEADING) {
			printf("\n%s:\n", row->help);
		} else if (row->help) {
			write_name(row, name, sizeof(name));
			printf("%-*s  ", widest, name);
			print_wrapped(row->help, widest + 2);
		}
	}
	if (table->ending)
		printf("\n%s\n", table->ending);
	if (table->examples)
		printf("\nExamples:\n%s", table->examples);
}

/* ---- complaints --------------------------------------------------------------------------- */

bool option_complain(const struct option_table *table, const char *format, ...)
{
	char sentence[512]; /* cuts what a user gave, which may have any length */
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	bool asks = sentence[0] && sentence[strlen(sentence) - 1] == '?';
	fprintf(stderr, "%s: %s%s %s --help\n", table->program, sentence, asks ? " See" : "; see",
		table->program);
	return false;
}

bool option_refuse(const struct option_given *given, const char *wanted)
{
	return option_complain(given->table, "%s wants %s, not '%.300s'", given->name, wanted,
			       given->text);
}

bool option_refuse_word(const struct option_table *table, const char *word)
{
	return option_complain(table, "what is '%.300s'?", word);
}

/* "--r can be --ranks, --rest": false if no two rows begin this way. */
static bool complain_of_ambiguous(const struct option_table *table, const char *name, size_t length)
{
	char list[256] = "";
	int count = 0;
	for (int i = 0; i < table->count; i++) {
		const char *other = table->rows[i].name;
		if (!other || !table->rows[i].help || strncmp(other, name, length) != 0)
			continue;
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s--%s", count++ ? ", " : "", other);
	}
	if (count < 2)
		return false;
	option_complain(table, "--%.*s can be %s: which?", (int)length, name, list);
	return true;
}

/* An option of several letters, "--bogus" or "--bogus=x". */
static bool refuse_name(const struct option_table *table, const char *word)
{
	const char *name = word + 2;
	size_t length = strcspn(name, "=");
	char wrong[64];
	snprintf(wrong, sizeof(wrong), "%.*s", (int)(length < 63 ? length : 63), name);
	if (complain_of_ambiguous(table, name, length))
		return false;
	struct ring_spelling spelling = {.wrong = wrong};
	for (int i = 0; i < table->count; i++)
		if (table->rows[i].name && table->rows[i].help)
			ring_spelling_try(&spelling, table->rows[i].name);
	if (spelling.best)
		return option_complain(table, "there is no option --%s; did you mean --%s?", wrong,
				       spelling.best);
	return option_complain(table, "there is no option --%s", wrong);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The tables that getopt_long reads. */
static void list_for_getopt(const struct option_table *table, struct option *longs, char *letters)
{
	if (table->ends_at_word)
		*letters++ = '+';
	*letters++ = ':'; /* tells a value that is missing from an option that is unknown */
	for (int i = 0; i < table->count; i++) {
		const struct option_row *row = &table->rows[i];
		if (row->kind == OPTION_HEADING || row->kind == OPTION_NOTE)
			continue;
		int has_value = row->value ? required_argument : no_argument;
		if (row->name)
			*longs++ = (struct option){row->name, has_value, NULL, FIRST + i};
		if (!row->letter)
			continue;
		*letters++ = row->letter;
		if (row->value)
			*letters++ = ':';
	}
	*longs = (struct option){0};
	*letters = '\0';
}

/* The row that getopt_long means by a letter or a number, and its name as it was given. */
static bool find_row(int found, struct option_given *given)
{
	const struct option_table *table = given->table;
	if (found >= FIRST) {
		given->row = &table->rows[found - FIRST];
		snprintf(given->name, sizeof(given->name), "--%s", given->row->name);
		return true;
	}
	snprintf(given->name, sizeof(given->name), "-%c", found);
	for (int i = 0; i < table->count; i++) {
		given->row = &table->rows[i];
		if (given->row->letter && given->row->letter == found)
			return true;
	}
	return false;
}

/* What getopt_long did not understand. returns false */
static bool refuse(struct option_given *given, int found, char **argv)
{
	if (optopt == 0)
		return refuse_name(given->table, argv[optind - 1]);
	if (!find_row(optopt, given))
		return option_complain(given->table, "there is no option %s", given->name);
	if (found == ':')
		return option_complain(given->table, "%s needs a value", given->name);
	return option_complain(given->table, "%s takes no value", given->name);
}

/* returns true if the program is to end now, as asked */
static bool answer(const struct option_table *table, enum option_kind kind)
{
	if (kind == OPTION_HELP)
		print_help(table);
	else if (kind == OPTION_VERSION)
		printf("%s %d.%d.%d\n", table->program, RING_VERSION_MAJOR, RING_VERSION_MINOR,
		       RING_VERSION_PATCH);
	return kind == OPTION_HELP || kind == OPTION_VERSION;
}

/* Notes what leaves nothing to print. output: the option whose file is standard output, or "" */
static bool note_quiet(const struct option_given *given, char output[32], bool *quiet)
{
	if (given->row->kind == OPTION_QUIET)
		*quiet = true;
	if (given->row->kind != OPTION_FILE || strcmp(given->text, "-") != 0)
		return true;
	if (output[0] && strcmp(output, given->name) != 0)
		return option_complain(given->table, "%s and %s cannot both be standard output",
				       output, given->name);
	strcpy(output, given->name);
	*quiet = true;
	return true;
}

int options_read(const struct option_table *table, void *options, struct option_found *found,
		 int argc, char **argv, int *status)
{
	struct option longs[OPTION_ROWS_MOST + 1];
	char letters[2 * OPTION_ROWS_MOST + 3];
	list_for_getopt(table, longs, letters);
	optind = 0; /* begin again: a program may read its arguments twice */
	opterr = 0;
	int option;
	char output[32] = "";
	bool quiet = false;
	while ((option = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		struct option_given given = {.table = table, .text = optarg};
		*status = STATUS_USAGE;
		if (option == '?' || option == ':') {
			refuse(&given, option, argv);
			return -1;
		}
		find_row(option, &given);
		*status = answer(table, given.row->kind) ? 0 : STATUS_USAGE;
		if (*status == 0 || !note_quiet(&given, output, &quiet) ||
		    !option_store(&given, options))
			return -1;
		if (found)
			found->is_given[given.row - table->rows] = true;
	}
	*status = optind < argc && !table->takes_words ? STATUS_USAGE : 0;
	if (*status == 0 && found)
		found->quiet = quiet;
	if (*status == 0)
		return optind;
	option_refuse_word(table, argv[optind]);
	return -1;
}

bool option_is_given(const struct option_table *table, const struct option_found *found,
		     const char *name)
{
	for (int i = 0; i < table->count; i++)
		if (table->rows[i].name && strcmp(table->rows[i].name, name) == 0)
			return found->is_given[i];
	return false;
}
