/* SPDX-License-Identifier: MIT */
/*
 * Finds latency, bandwidth, reduction rate and overhead from measured calls (model_squares.h).
 *
 * It does not invent what the measurements cannot tell apart. All-reduces on one number of ranks
 * have one number of hops, so the latency includes the overhead. They reduce half of the bytes they
 * send, so the reduction rate is the caller's, or the bandwidth includes reducing. There is no fit
 * without a latency and a bandwidth, and none that is far off.
 */
#ifndef MODEL_FIT_H
#define MODEL_FIT_H

#include <stddef.h>

#include "model_cost.h"

#define MODEL_TRANSPORT_MAX 32

/* One measured call. */
struct model_sample {
	enum ring_kind kind;
	char transport[MODEL_TRANSPORT_MAX];
	int ranks;
	double bytes, seconds;
	double chunk; /* bytes, see model_work_of() */
	double limit; /* the least seconds that it can take on this machine; 0: not known */
};

/* Where a number of a fit comes from. */
enum model_origin {
	MODEL_FITTED,
	MODEL_MEASURED, /* given to model_fit */
	MODEL_WITHIN,   /* not told apart: the latency includes overhead, the bandwidth reducing */
};

struct model_fit {
	char transport[MODEL_TRANSPORT_MAX];
	int ranks;                    /* 0: several numbers of ranks */
	struct model_machine machine; /* its chunk is that of the samples with most ranks */
	enum model_origin overhead_from, reduce_from;
	size_t samples;
	double least_bytes, most_bytes;
	double median, worst; /* |predicted / measured - 1| */
};

/* What was measured beside the samples; bytes per second; 0: not known. */
struct model_known {
	double reduce_rate;
	double widest; /* no link can be faster */
};

#define MODEL_FIT_MEDIAN_MOST 0.25

enum model_fit_result {
	MODEL_FIT_OK,
	MODEL_FIT_TOO_FEW, /* a fit needs three samples */
	MODEL_FIT_NO_MEMORY,
	MODEL_FIT_NO_LATENCY,   /* no sample is short enough to show it    */
	MODEL_FIT_NO_BANDWIDTH, /* no sample is long enough to show it     */
	MODEL_FIT_TOO_FAST,     /* below limits; *where is one sample      */
	MODEL_FIT_TOO_WIDE,     /* the bandwidth is above its limit        */
	MODEL_FIT_OFF,          /* off by more than MODEL_FIT_MEDIAN_MOST  */
};

/* The library's default chunk on a transport, in bytes. */
double model_chunk_of(const char *transport, int ranks);

/* Sets *fit with any result except the first two that are no fit. */
enum model_fit_result model_fit(const struct model_sample *samples, size_t count,
				const struct model_known *known, struct model_fit *fit,
				size_t *where);

double model_fit_predict(const struct model_fit *fit, const struct model_sample *sample);

const char *model_origin_name(enum model_origin origin);

#endif
