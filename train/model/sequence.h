/* SPDX-License-Identifier: MIT */
/* A row of a batch, as every device sees it. */
#ifndef TRAIN_SEQUENCE_H
#define TRAIN_SEQUENCE_H

#include <stdint.h>

struct train_sequence {
	int32_t length, first; /* tokens; its first token in the batch */
	uint64_t squares; /* length * length, of the rows before it: one head's probabilities */
	uint64_t random;  /* where its dropout begins */
};

#endif
