/* SPDX-License-Identifier: MIT */
/* What the program checks. Each is run by every rank, and returns 0 if all is well there. */
#ifndef CHECKS_H
#define CHECKS_H

#include "bench.h"

/* calls.c */
int check_types_and_ops(struct bench *bench);
int check_kinds_and_types(struct bench *bench);
int check_no_elements(struct bench *bench);
int check_many_in_a_group(struct bench *bench);
int check_configured(struct bench *bench);
int check_many_streams(struct bench *bench);
int check_premultiplied(struct bench *bench);

/* comms.c */
int check_split(struct bench *bench);
int check_shrink_and_grow(struct bench *bench);
int check_configurations(struct bench *bench);
int check_does_not_block(struct bench *bench);
int check_does_not_come_to_be(struct bench *bench);

/* ends.c */
int check_aborted(struct bench *bench);
int check_ended_in_a_group(struct bench *bench);
int check_mismatched(struct bench *bench);
int check_died(struct bench *bench);

/* refusals.c */
int check_memory(struct bench *bench);
int check_refusals(struct bench *bench);

/* devices.c */
int check_one_thread(struct bench *bench);

#endif
