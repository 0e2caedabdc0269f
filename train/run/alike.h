/* SPDX-License-Identifier: MIT */
/* Ranks that a launcher started may have been given different options, or have different files. */
#ifndef TRAIN_ALIKE_H
#define TRAIN_ALIKE_H

#include "train/step/options.h"
#include "train/data/source.h"
#include "train/step/team.h"

/*
 * Both are collective and return an exit status; if ranks differ, all have said how. Options are
 * settled.
 */
int train_alike_options(struct train_team *team, const struct train_options *options);
int train_alike_examples(struct train_team *team, const struct train_source *source);

#endif
