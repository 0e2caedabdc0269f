/* SPDX-License-Identifier: MIT */
/* The trainer's kernels as nvcc has compiled them. */
#ifndef TRAIN_CUDA_IMAGE_H
#define TRAIN_CUDA_IMAGE_H

/* For the driver to load; NULL: configure found no nvcc */
const void *train_cuda_image(void);

#endif
