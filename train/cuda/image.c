/* SPDX-License-Identifier: MIT */
#include "image.h"

__asm__(".pushsection .rodata\n"
	".balign 64\n"
	".globl train_cuda_fatbin\n"
	".hidden train_cuda_fatbin\n"
	".type train_cuda_fatbin, %object\n"
	"train_cuda_fatbin:\n"
	".incbin \"train/cuda/kernels.fatbin\"\n"
	".size train_cuda_fatbin, . - train_cuda_fatbin\n"
	".popsection\n");

extern const unsigned char train_cuda_fatbin[] __attribute__((visibility("hidden")));

const void *train_cuda_image(void)
{
	return train_cuda_fatbin;
}
