/* SPDX-License-Identifier: MIT */
/* The options of ring_train, a row each. */
#ifndef TRAIN_OPTION_ROWS_H
#define TRAIN_OPTION_ROWS_H

#include "options.h"
#include "tools/options.h"

/* How ranks' options compare; they may have been started with different ones. */
enum train_sameness {
	TRAIN_ALIKE,       /* equal on all ranks */
	TRAIN_ALL_OR_NONE, /* given on all ranks or on none */
	TRAIN_OWN,         /* may differ, or matters on rank 0 only, or is compared elsewhere */
};

extern const struct option_table train_option_table;

#endif
