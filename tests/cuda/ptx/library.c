/* SPDX-License-Identifier: MIT */
/*
 * The PTX of the library's images. There it is packed in a format that only NVIDIA's tools know how
 * to open, so the same compiler makes it once more; tests/check-kernels shows that it is the same.
 */
#include "ptx.h"

#ifdef HAVE_CUDA
__asm__(".pushsection .rodata\n"
	".globl ptx_library_text\n"
	".hidden ptx_library_text\n"
	".type ptx_library_text, %object\n"
	"ptx_library_text:\n"
	".incbin \"tests/cuda/ptx/library.ptx\"\n"
	"1:\n"
	".size ptx_library_text, 1b - ptx_library_text\n"
	".balign 8\n"
	".globl ptx_library_bytes\n"
	".hidden ptx_library_bytes\n"
	".type ptx_library_bytes, %object\n"
	"ptx_library_bytes:\n"
	".quad 1b - ptx_library_text\n"
	".size ptx_library_bytes, 8\n"
	".popsection\n");
#else
const char ptx_library_text[] = "";
const size_t ptx_library_bytes = 0;
#endif
