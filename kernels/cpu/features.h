/* SPDX-License-Identifier: MIT */
/* Whether this CPU runs a family of kernels. */
#ifndef RING_CPU_FEATURES_H
#define RING_CPU_FEATURES_H

#include <stdbool.h>

static inline bool runs_always(void)
{
	return true;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Features that not all compilers can ask for; they use AVX's registers. */
static inline bool has_f16c(void)
{
	unsigned int eax, ebx, ecx = 0, edx;
	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx >> 29 & 1;
}

static inline bool has_fp16(void)
{
	unsigned int eax, ebx, ecx, edx = 0;
	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && edx >> 23 & 1;
}

static inline bool has_bf16(void)
{
	unsigned int eax = 0, ebx, ecx, edx;
	return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && eax >> 5 & 1;
}

static inline bool runs_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static inline bool runs_avx512bf16(void)
{
	return runs_avx512() && __builtin_cpu_supports("avx512vbmi") && has_bf16();
}

/* AMD's family 19h with vectors of 64 bytes. */
static inline bool runs_zen4(void)
{
	unsigned int eax = 0, ebx, ecx, edx;
	return __builtin_cpu_is("amd") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) &&
	       (eax >> 8 & 0xf) + (eax >> 20 & 0xff) == 0x19 && runs_avx512bf16();
}

static inline bool runs_avx512fp16(void)
{
	return runs_avx512bf16() && has_fp16();
}

static inline bool runs_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
#endif
#endif
