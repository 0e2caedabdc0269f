/* SPDX-License-Identifier: MIT */
/* The kernels as nvcc has compiled them, for the driver to load. */
#include "chip.h"

__asm__(".pushsection .rodata\n"
	".balign 64\n"
	".globl ring_cuda_image\n"
	".hidden ring_cuda_image\n"
	".type ring_cuda_image, %object\n"
	"ring_cuda_image:\n"
	".incbin \"kernels/reduce.fatbin\"\n"
	".size ring_cuda_image, . - ring_cuda_image\n"
	".popsection\n");
