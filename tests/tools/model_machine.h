/* SPDX-License-Identifier: MIT */
/* What tests of the model share. Included behind cmocka.h. */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include "tools/model/call.h"

static inline void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.12g is not within %g of %.12g", value, tolerance, expected);
}

/* Of nothing but links, around which a ring goes in whole blocks. */
static inline struct model_machine link_machine(double bandwidth, double latency)
{
	return (struct model_machine){.model = {.hop = model_number_of_seconds(latency),
						.wire = model_number_of_rate(bandwidth)},
				      .path = RING_PATH_NETWORK,
				      .algorithm = RING_ALGORITHM_RING,
				      .chunk = MODEL_WHOLE_BLOCKS};
}

static inline struct ring_model link_model(double bandwidth, double latency)
{
	return link_machine(bandwidth, latency).model;
}

#endif
