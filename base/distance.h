/* SPDX-License-Identifier: MIT */
/* How far memory of a device's chip is from another chip, whose jobs reach it. */
#ifndef RING_DISTANCE_H
#define RING_DISTANCE_H

enum ring_distance {
	RING_DISTANCE_BUS,  /* PCIe, or nobody knows */
	RING_DISTANCE_LINK, /* a link from chip to chip, as NVLink */
	RING_DISTANCE_NONE, /* it is the same chip */
};
#define RING_DISTANCES (RING_DISTANCE_NONE + 1)

#endif
