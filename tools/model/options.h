/* SPDX-License-Identifier: MIT */
/*
 * The command line of a command as a table: each row has an option's name, its type and where its
 * value goes. The same table makes --help.
 */
#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include "choose/tuning_file.h"
#include "call.h"
#include "parse.h"

enum model_option_kind {
	MODEL_FLAG,   /* bool                                      */
	MODEL_TEXT,   /* const char *                              */
	MODEL_OUTPUT, /* const char *: a file that can be written  */
	MODEL_REAL,   /* double, like those below without a type   */
	MODEL_COUNT,
	MODEL_SIZE,
	MODEL_TIME,
	MODEL_RATE,
	MODEL_LINK,       /* struct model_link                         */
	MODEL_RANKS_LIST, /* struct model_list                         */
	MODEL_SIZES_LIST, /* struct model_list                         */
	MODEL_PAIRS,      /* struct model_texts: may be given again    */
	MODEL_ERRORS,     /* struct model_errors                       */
	MODEL_COLLECTIVE, /* const struct model_collective *           */
	MODEL_PATH,       /* int: enum ring_path                       */
	MODEL_ALGORITHM,  /* int: as struct model_machine's            */
};

#define MODEL_TEXTS_MAX 32

struct model_texts {
	int count;
	const char *at[MODEL_TEXTS_MAX];
};

struct model_option {
	const char *name;
	enum model_option_kind kind;
	void *value;
	const char *help;
};

struct model_command {
	const char *name, *arguments, *purpose;
	const struct model_option *options; /* ends with a name of NULL */
};

#define MODEL_RANKS_HELP "LIST  up to 65536, such as 2,4 or 2..8 or 2..1024*2"

enum model_exit { MODEL_EXIT_OK = 0, MODEL_EXIT_BAD = 1, MODEL_EXIT_USAGE = 2 };

/*
 * Reads options into their values; argv[0] is the command's name. returns the index of the first
 * argument that is no option; -1: end with *status, everything is printed
 */
int model_options_parse(const struct model_command *command, int argc, char **argv, int *status);

/* Complains in one line. returns MODEL_EXIT_USAGE */
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

/* Rows of a command's table. */
#define MODEL_CHOICE_OPTIONS(choice)                                                                \
	{"model", MODEL_TEXT, &(choice)->file,                                                      \
	 "FILE  numbers of ring_model fit or ring_perf --tune"},                                    \
		{"path", MODEL_PATH, &(choice)->path,                                               \
		 "NAME  which of its paths: memory, socket, network, verbs or mixed"},              \
		{"link", MODEL_LINK, &(choice)->link, "RATE[,LATENCY]  such as 1GB/s,20us"},        \
		{"reduce-rate", MODEL_RATE, &(choice)->reduce_rate, "RATE  of reducing"},           \
		{"overhead", MODEL_TIME, &(choice)->overhead, "TIME  per call"},                    \
		{"chunk", MODEL_SIZE, &(choice)->chunk, "SIZE  of the largest message"},            \
		{"algorithm", MODEL_ALGORITHM, &(choice)->algorithm,                                \
		 "NAME  what carries calls, ring; chosen: what the library chooses"},               \
		{"cpus", MODEL_COUNT, &(choice)->cpus,                                              \
		 "N  CPUs of all ranks together; default: one each"},                               \
		{"ranks-per-host", MODEL_COUNT, &(choice)->ranks_per_host,                          \
		 "N  ranks on each host; default: all on one"},                                     \
	{                                                                                           \
		"between", MODEL_LINK, &(choice)->between, "RATE[,LATENCY]  of links between hosts" \
	}

/*
 * The machine that the options describe.
 *
 * path     what links a record's ranks; MODEL_ANY: the options say
 * returns  false with a sentence on stderr
 */
bool model_machine_make(const char *command, const struct model_choice *choice, int path,
			struct model_machine *machine);

#endif
