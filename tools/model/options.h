/* SPDX-License-Identifier: MIT */
/* Kinds of values that the commands' tables of options have beside those of tools/options.h. */
#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include "choose/tuning_file.h"
#include "tools/options.h"
#include "call.h"
#include "parse.h"

#define MODEL_TEXTS_MAX 32

struct model_texts {
	int count;
	const char *at[MODEL_TEXTS_MAX];
};

/* Readers, for MODEL_ROW, and what they store. */
bool model_read_real(const struct option_given *given, void *options); /* double, as the next */
bool model_read_count(const struct option_given *given, void *options);
bool model_read_size(const struct option_given *given, void *options);
bool model_read_time(const struct option_given *given, void *options);
bool model_read_rate(const struct option_given *given, void *options);
bool model_read_link(const struct option_given *given, void *options);  /* struct model_link */
bool model_read_ranks(const struct option_given *given, void *options); /* struct model_list */
bool model_read_sizes(const struct option_given *given, void *options);
bool model_read_texts(const struct option_given *given, void *options); /* struct model_texts */
bool model_read_errors(const struct option_given *given, void *options);
bool model_read_collective(const struct option_given *given, void *options);
bool model_read_path(const struct option_given *given, void *options);      /* int */
bool model_read_memory(const struct option_given *given, void *options);    /* int */
bool model_read_algorithm(const struct option_given *given, void *options); /* int */
bool model_read_wire(const struct option_given *given, void *options);      /* struct model_world */
bool model_read_slow(const struct option_given *given, void *options);
bool model_read_late(const struct option_given *given, void *options);

#define MODEL_ROW(what, name, value, offset, text)                                                 \
	{                                                                                          \
		OPTION_OWN, 0, name, value, offset, .read = model_read_##what, .help = text        \
	}
#define MODEL_HELP_ROW                                                                             \
	{OPTION_QUIET, 0, "quiet", .help = "print nothing; write only files"},                     \
	{                                                                                          \
		OPTION_HELP, 'h', "help", .help = "show this and exit"                             \
	}
#define MODEL_RANKS_HELP "up to 65536, such as 2,4 or 2..8 or 2..1024*2"

/*
 * Reads options, and checks that outputs can be written. returns the index of the first argument
 * that is not an option; -1: end with *status, everything is printed
 */
int model_options_parse(const struct option_table *table, void *options, int argc, char **argv,
			int *status);

/* Complains in one line. returns STATUS_USAGE */
int model_complain(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The machine for predictions: a file of numbers, with the options that override them. */
struct model_choice {
	const char *file;
	struct model_link link, between; /* bandwidth 0: not given */
	double reduce_rate, overhead;    /* 0, and below 0: not given */
	double ranks_per_host, cpus;
	double chunk;  /* 0: the library's */
	int path;      /* MODEL_ANY: the file's only one */
	int algorithm; /* MODEL_ANY: not given */
};

#define MODEL_ANY (-2)
#define MODEL_CHOOSES (-1) /* the library does */

extern const struct model_choice model_choice_none;

/* Rows of a command's table, which has a struct model_choice at AT(choice). */
#define MODEL_CHOICE_ROWS                                                                          \
	{OPTION_TEXT,     0,                                                                       \
	 "model",         "FILE",                                                                  \
	 AT(choice.file), .help = "numbers of ring_model fit or ring_perf --tune"},                \
		MODEL_ROW(path, "path", "NAME", AT(choice.path),                                   \
			  "which of its paths: memory, socket, network, verbs or mixed"),          \
		MODEL_ROW(link, "link", "RATE[,LATENCY]", AT(choice.link), "such as 1GB/s,20us"),  \
		MODEL_ROW(rate, "reduce-rate", "RATE", AT(choice.reduce_rate), "of reducing"),     \
		MODEL_ROW(time, "overhead", "TIME", AT(choice.overhead), "per call"),              \
		MODEL_ROW(size, "chunk", "SIZE", AT(choice.chunk), "of the largest message"),      \
		MODEL_ROW(algorithm, "algorithm", "NAME", AT(choice.algorithm),                    \
			  "what carries calls, ring; chosen: what the library chooses"),           \
		MODEL_ROW(count, "cpus", "N", AT(choice.cpus),                                     \
			  "CPUs of all ranks together; default: one each"),                        \
		MODEL_ROW(count, "ranks-per-host", "N", AT(choice.ranks_per_host),                 \
			  "ranks on each host; default: all on one"),                              \
		MODEL_ROW(link, "between", "RATE[,LATENCY]", AT(choice.between),                   \
			  "of links between hosts")

/*
 * The machine that the options describe.
 *
 * path     what links a record's ranks; MODEL_ANY: the options say
 * returns  STATUS_OK, STATUS_USAGE or STATUS_SYSTEM, of a file, with a sentence on stderr
 */
int model_machine_make(const char *command, const struct model_choice *choice, int path,
		       struct model_machine *machine);

#endif
