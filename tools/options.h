/* SPDX-License-Identifier: MIT */
/*
 * The command line of a program as a table: each row has an option's names, how its value is read,
 * where it goes and what --help says. What is wrong is told in one sentence that names --help.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statuses.h"

#define OPTION_ROWS_MOST 80

enum option_kind {
	OPTION_HEADING, /* a heading in --help */
	OPTION_NOTE,    /* a line of --help for what has no row, or for a row's other form */
	OPTION_FLAG,    /* sets a bool */
	OPTION_UNFLAG,  /* clears a bool */
	OPTION_INT,     /* int, long: [low, high] */
	OPTION_LONG,
	OPTION_COUNT,     /* uint64_t: [low, high], "64K", "2M" */
	OPTION_NUMBER,    /* uint64_t: any that JSON's readers take */
	OPTION_REAL,      /* double: [low, high] */
	OPTION_ABOVE,     /* double: (low, high) */
	OPTION_SIZE,      /* size_t: "8", "64K" or "1.5G" bytes */
	OPTION_MEGABYTES, /* size_t: "0.5" becomes bytes */
	OPTION_TEXT,      /* const char * */
	OPTION_FILE,   /* const char *: a file that will be written; - is standard output, which is
			     then its alone */
	OPTION_CHOICE, /* int: the number of a word in `choices` */
	OPTION_OWN,    /* as `read` does it */
	OPTION_QUIET,
	OPTION_HELP,
	OPTION_VERSION,
};

struct option_row;
struct option_table;

/* An option as it was given. */
struct option_given {
	const struct option_table *table;
	const struct option_row *row;
	char name[32];    /* as it was given: "-n", "--ranks" */
	const char *text; /* its value; NULL: it has none */
};

struct option_row {
	enum option_kind kind;
	char letter;       /* 0: none */
	const char *name;  /* NULL: none */
	const char *value; /* "N"; NULL: it has none */
	size_t offset;     /* in the program's struct */
	double low, high;
	const char *choices; /* "weak|strong" */
	const char *help;    /* NULL: not listed */
	int sameness;        /* of ring_train: how ranks compare it */

	/* OWN: stores the value; returns false after option_refuse() or a complaint of its own. */
	bool (*read)(const struct option_given *given, void *options);
};

struct option_table {
	const char *program, *usage; /* ahead of the rows in --help */
	const char *ending;          /* behind them; NULL */
	const char *examples;        /* commands, as the page has them, each with its line break */
	const struct option_row *rows;
	int count;         /* at most OPTION_ROWS_MOST */
	bool takes_words;  /* arguments that are no options: the program reads them */
	bool ends_at_word; /* ... and all that follow, options or not */
};

/* Which rows were given, and whether the program is to call quiet_begin(). */
struct option_found {
	bool is_given[OPTION_ROWS_MOST];
	bool quiet;
};

/*
 * Reads options; --help and --version are answered here. found may be NULL.
 * returns   the index of the first argument that is not an option; -1: end with *status
 */
int options_read(const struct option_table *table, void *options, struct option_found *found,
		 int argc, char **argv, int *status);

/* Whether the option of this name was given. */
bool option_is_given(const struct option_table *table, const struct option_found *found,
		     const char *name);

/* "program: sentence; see program --help" on stderr. returns false */
bool option_complain(const struct option_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "-b wants a size, not 'x'"; "what is 'x'?" of what is not an option. return false */
bool option_refuse(const struct option_given *given, const char *wanted);
bool option_refuse_word(const struct option_table *table, const char *word);

/* The word with this number in "weak|strong". It is valid until the next call. */
const char *option_word(const char *choices, int number);

/* A whole number of [low, high]; a number and a binary unit, which *end is behind: 0 if none is. */
bool option_read_int(const struct option_given *given, int low, int high, int *value);
size_t option_read_size(const char *text, char **end);

#endif
