/* SPDX-License-Identifier: MIT */
/*
 * The expected results. The reference follows the order of additions that ringccl.h documents, so
 * random floats can be compared bit for bit, too.
 */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

/* What a comparison found. */
struct perf_findings {
	uint64_t wrong;     /* elements that are not what they must be                     */
	uint64_t reordered; /* random floats within the error bound, but of another order */
};

/* Compares what `rank` received with what it must be. */
struct perf_findings perf_compare(const struct perf_call *call, const struct perf_pattern *pattern,
				  int rank, const void *recv);

/* A sum over memory by which its changes, and differences between ranks, are noticed. */
uint64_t perf_checksum(const void *memory, size_t bytes);

#endif
