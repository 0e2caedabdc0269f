/* SPDX-License-Identifier: MIT */
/* The table of devices, in a file of its own so that a test program can link another one. */
#include "device.h"

const struct ring_device *const ring_devices[] = {
	&ring_device_cpu,
#ifdef HAVE_CUDA
	&ring_device_cuda,
#endif
	NULL,
};
