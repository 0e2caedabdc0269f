/* SPDX-License-Identifier: MIT */
/*
 * Finds latency, bandwidth, reduction rate and overhead from measured calls (model_squares.h).
 *
 * What the measurements cannot tell apart is not made up. All-reduces on one number of ranks have
 * one number of hops, so overhead is within the latency, and they reduce half of what they send,
 * so the reduction rate is what the caller knows otherwise, or is within the bandwidth. Without a
 * latency or a bandwidth there is no fit at all, nor with one that is far off.
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
	double limit; /* the least seconds it can take here, 0 if nobody knows */
};

/* Where a number of a fit comes from. */
enum model_origin {
	MODEL_FITTED,
	MODEL_MEASURED, /* given to model_fit */
	MODEL_WITHIN,   /* not told apart: within the latency (overhead) or bandwidth (reducing) */
};

struct model_fit {
	char transport[MODEL_TRANSPORT_MAX];
	int ranks;                    /* 0: several numbers of ranks */
	struct model_machine machine; /* its chunk is that of the samples of most ranks */
	enum model_origin overhead_from, reduce_from;
	size_t samples;
	double least_bytes, most_bytes;
	double median, worst; /* |predicted / measured - 1| */
};

/* What was measured beside the samples; 0 where nobody knows. Bytes per second. */
struct model_known {
	double reduce_rate;
	double widest; /* no link can be faster */
};

#define MODEL_FIT_MEDIAN_MOST 0.25

enum model_fit_result {
	MODEL_FIT_OK,
	MODEL_FIT_TOO_FEW, /* a line needs three samples */
	MODEL_FIT_NO_MEMORY,
	MODEL_FIT_NO_LATENCY,   /* no sample is so short that it shows    */
	MODEL_FIT_NO_BANDWIDTH, /* ... or so long                         */
	MODEL_FIT_TOO_FAST,     /* below physical limits; *where is one   */
	MODEL_FIT_TOO_WIDE,     /* the bandwidth is                       */
	MODEL_FIT_OFF,          /* by more than MODEL_FIT_MEDIAN_MOST     */
};

/* What the library cuts blocks into over a transport, if nobody says otherwise. */
double model_chunk_of(const char *transport, int ranks);

/* Whatever the result is, but for the first two that are none, fit holds what was found. */
enum model_fit_result model_fit(const struct model_sample *samples, size_t count,
				const struct model_known *known, struct model_fit *fit,
				size_t *where);

double model_fit_predict(const struct model_fit *fit, const struct model_sample *sample);

const char *model_origin_name(enum model_origin origin);

#endif
