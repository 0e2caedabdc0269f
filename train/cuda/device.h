/* SPDX-License-Identifier: MIT */
/* A GPU as a device of the trainer's. */
#ifndef TRAIN_CUDA_DEVICE_H
#define TRAIN_CUDA_DEVICE_H

#include "product.h"
#include "train/model/device.h"

/* How many GPUs this process sees, at least one; 0 with a sentence on stderr. */
int train_cuda_count(void);

/* The process has one. returns NULL with a sentence on stderr */
const struct train_device *train_cuda_open(int number, enum train_products products);
void train_cuda_close(void); /* also if it is not open */

#endif
