/* SPDX-License-Identifier: MIT */
/* What tests of the model share. Included behind cmocka.h. */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include "tools/model_cost.h"

static inline void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.12g is not within %g of %.12g", value, tolerance, expected);
}

/* Of nothing but links. */
static inline struct model_machine link_machine(double bandwidth, double latency)
{
	return (struct model_machine){.link = {latency, bandwidth},
				      .reduce_rate = INFINITY,
				      .chunk = INFINITY};
}

#endif
