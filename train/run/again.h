/* SPDX-License-Identifier: MIT */
/*
 * Starts this program again, as ranks: with its own arguments and further ones, which override
 * them.
 */
#ifndef TRAIN_AGAIN_H
#define TRAIN_AGAIN_H

#include "train/step/options.h"

#define TRAIN_MORE 12 /* the most further arguments */

struct train_arguments {
	char **argv; /* with room for TRAIN_MORE more and a NULL */
	int argc;
};

/*
 * Copies argv[argc]; the strings stay the caller's. returns false, with a sentence on stderr,
 * without memory
 */
bool train_arguments_copy(struct train_arguments *arguments, int argc, char **argv);
void train_arguments_add(struct train_arguments *arguments, const char *word);
void train_arguments_free(struct train_arguments *arguments);

/*
 * Runs the references that the options ask for, then trains. argv is what the options were read
 * from. returns an exit status
 */
int train_again(const struct train_options *options, int argc, char **argv);

/* Trains once for each value that --sweep names, and compares. returns an exit status */
int train_sweep(const struct train_options *options, int argc, char **argv);

#endif
