/* SPDX-License-Identifier: MIT */
/*
 * Computes expected results. The reference adds in the order that ringccl.h documents, so random
 * floats are also compared bit for bit.
 */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

/* What a comparison found. */
struct perf_findings {
	uint64_t wrong;     /* elements with wrong values                                  */
	uint64_t reordered; /* random floats within the error bound, but of another order */
};

/* Compares what `rank` received with what is expected. */
struct perf_findings perf_compare(const struct perf_call *call, const struct perf_pattern *pattern,
				  int rank, const void *recv);

/* A checksum: it shows that memory changed, or that ranks have different results. */
uint64_t perf_checksum(const void *memory, size_t bytes);

#endif
