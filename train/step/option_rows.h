/* SPDX-License-Identifier: MIT */
/*
 * The command line as a table: an option's name, how its value is read, where it goes, what --help
 * says.
 */
#ifndef TRAIN_OPTION_ROWS_H
#define TRAIN_OPTION_ROWS_H

#include "options.h"

enum train_option_kind {
	TRAIN_OPTION_HEADING, /* a heading in --help */
	TRAIN_OPTION_FLAG,    /* sets a bool */
	TRAIN_OPTION_UNFLAG,  /* clears a bool */
	TRAIN_OPTION_INT,
	TRAIN_OPTION_LONG,
	TRAIN_OPTION_NUMBER, /* uint64_t */
	TRAIN_OPTION_REAL,
	TRAIN_OPTION_MEGABYTES, /* "0.5" becomes size_t bytes */
	TRAIN_OPTION_TEXT,
	TRAIN_OPTION_CHOICE, /* an int: the number of a word in `choices` */
	TRAIN_OPTION_REFERENCE,
	TRAIN_OPTION_HELP,
	TRAIN_OPTION_VERSION,
};

/* How ranks' options compare; they may have been started with different ones. */
enum train_sameness {
	TRAIN_ALIKE,       /* equal on all ranks */
	TRAIN_ALL_OR_NONE, /* given on all ranks or on none */
	TRAIN_OWN,         /* may differ, or matters on rank 0 only, or is compared elsewhere */
};

struct train_option_row {
	enum train_option_kind kind;
	char letter; /* 0: none */
	const char *name, *value;
	size_t offset; /* in struct train_options */
	double low, high;
	const char *choices; /* "weak|strong" */
	enum train_sameness sameness;
	const char *help;
};

extern const struct train_option_row train_option_rows[];
extern const int train_option_row_count;

/* The word of a TRAIN_OPTION_CHOICE with this number. It is valid until the next call. */
const char *train_option_word(const struct train_option_row *row, int number);

#endif
