/* SPDX-License-Identifier: MIT */
/*
 * ring_perf --tune: measures all algorithms at a few sizes, and writes the numbers by which the
 * library predicts their times (RING_TUNING).
 */
#ifndef PERF_TUNE_H
#define PERF_TUNE_H

#include "run.h"

/* Collective; rank 0 writes run->options->tune. returns 0, or a RING_E... with team->error */
int perf_tune(struct perf_run *run, struct perf_buffer buffers[2]);

#endif
