/* SPDX-License-Identifier: MIT */
/* This program once more, as ranks: with the arguments that it was given, and others behind them, which win. */
#ifndef TRAIN_AGAIN_H
#define TRAIN_AGAIN_H

#include "options.h"

#define TRAIN_MORE 12 /* arguments at most behind those that were given */

struct train_arguments {
	char **argv; /* with room for TRAIN_MORE, and a NULL */
	int argc;
};

/* argv[argc], which stay the caller's. returns false, with a sentence on stderr, without memory */
bool train_arguments_copy(struct train_arguments *arguments, int argc, char **argv);
void train_arguments_add(struct train_arguments *arguments, const char *word);
void train_arguments_free(struct train_arguments *arguments);

/*
 * Trains with these arguments, which say what options say, and first runs the references that they ask for.
 * returns an exit status
 */
int train_again(const struct train_options *options, int argc, char **argv);

/* Trains once for each value that --sweep names, and compares. returns an exit status */
int train_sweep(const struct train_options *options, int argc, char **argv);

#endif
