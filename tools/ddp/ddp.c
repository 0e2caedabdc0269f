/* SPDX-License-Identifier: MIT */
/* The event model and its two bounds. */
#include "ddp.h"

#include <math.h>

double model_compute_total(const struct model_compute *compute)
{
	return compute->data + compute->forward + compute->backward + compute->optimizer;
}

double model_bucket_begin(const struct model_bucket *bucket, double before_ended)
{
	return fmax(bucket->ready, before_ended);
}

struct model_step model_step_of(const struct model_compute *compute,
				const struct model_bucket buckets[], size_t count)
{
	double backward = compute->backward, end = 0, communication = 0;
	for (size_t k = 0; k < count; k++) {
		end = model_bucket_begin(&buckets[k], end) + buckets[k].cost;
		communication += buckets[k].cost;
	}
	if (communication > 0)
		backward *= 1 + compute->slowdown;
	double total = model_compute_total(compute);
	return (struct model_step){
		.compute = total,
		.communication = communication,
		.sum = total + communication,
		.max = fmax(total, communication),
		.event = compute->data + compute->forward + fmax(backward, end) + compute->optimizer,
		.exposed = fmax(0, end - backward),
	};
}
