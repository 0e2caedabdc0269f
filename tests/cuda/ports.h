/* SPDX-License-Identifier: MIT */
/*
 * What crosses the ports of devices, which the fake driver counts: bytes that copies and kernels of
 * this process have moved between memory of two devices, or of a device and the host. A kernel moves
 * what it loads to its device, and what it stores from there, also when it looks at the same word
 * again. Devices are numbered as without CUDA_VISIBLE_DEVICES. Words that streams wait for or write,
 * and changes in one step, are not counted.
 */
#ifndef CUDA_PORTS_H
#define CUDA_PORTS_H

#include <stdint.h>

#define CUDA_PORTS_HOST 4 /* behind all devices */
#define CUDA_PORTS (CUDA_PORTS_HOST + 1)

/* Bytes by from where and to where. A kernel's count once it has ended. */
struct cuda_ports {
	uint64_t bytes[CUDA_PORTS][CUDA_PORTS];
};

/* No call of a driver's: only the fake one has it. */
#define CUDA_PORTS_SYMBOL "fakePorts"
typedef void cuda_ports_read(struct cuda_ports *ports);

#endif
