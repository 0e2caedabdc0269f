/* SPDX-License-Identifier: MIT */
/* The kernels of ring_train, compiled from the same source as for a GPU. */
#include "kernel.h"

#define TRAIN_KERNEL static inline
#define TRAIN_AT(pointer, count)                                                                   \
	((__typeof__(pointer))fake_reach_all(pointer, sizeof(*(pointer)), count))
#define TRAIN_FUSED(a, b, sum) ((a) * (b) + (sum))
#include "train/cuda/kernels.h"

/* train_NAME_kernel(struct train_NAME_job job, uint64_t items) */
#define KERNEL(name)                                                                               \
	static void name(void **parameters)                                                        \
	{                                                                                          \
		const struct fake_place_in_grid *at = fake_place_in_grid();                        \
		uint64_t item = (uint64_t)at->block * at->threads + at->thread;                    \
		if (item < *(const uint64_t *)parameters[1])                                       \
			train_##name((const struct train_##name##_job *)parameters[0], item);      \
	}
TRAIN_KERNELS(KERNEL)

#define ROW(name)                                                                                  \
	{"train_" #name "_kernel",                                                                 \
	 name,                                                                                     \
	 {sizeof(struct train_##name##_job), sizeof(uint64_t)},                                    \
	 false},
const struct fake_kernel fake_trainer_kernels[] = {
	TRAIN_KERNELS(ROW) /* all of jobs.h */
	{NULL, NULL, {0}, false},
};
