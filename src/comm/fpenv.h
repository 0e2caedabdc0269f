/* SPDX-License-Identifier: MIT */
/*
 * The floating-point environment of a call: round to nearest, keep subnormals, whatever the program
 * has set, so that results do not depend on the thread that runs the engine. The program's settings
 * are put back, with its exception flags, which kernels may clear.
 */
#ifndef RING_FPENV_H
#define RING_FPENV_H

#if defined(__SSE2__)

#include <xmmintrin.h>

struct ring_fpenv {
	unsigned int mxcsr;
};
#define RING_MXCSR_DEFAULT 0x1f80u
#define RING_MXCSR_FLAGS 0x3fu /* sticky exceptions: no influence on results */

static inline struct ring_fpenv ring_fpenv_enter(void)
{
	struct ring_fpenv saved = {_mm_getcsr()};
	if ((saved.mxcsr & ~RING_MXCSR_FLAGS) != RING_MXCSR_DEFAULT)
		_mm_setcsr(RING_MXCSR_DEFAULT);
	return saved;
}

static inline void ring_fpenv_leave(struct ring_fpenv saved)
{
	unsigned int now = _mm_getcsr();
	if ((saved.mxcsr & ~now) != 0 || (saved.mxcsr & ~RING_MXCSR_FLAGS) != RING_MXCSR_DEFAULT)
		_mm_setcsr(saved.mxcsr | (now & RING_MXCSR_FLAGS));
}

#else

#include <fenv.h>

struct ring_fpenv {
	fenv_t env;
};

static inline struct ring_fpenv ring_fpenv_enter(void)
{
	struct ring_fpenv saved;
	fegetenv(&saved.env);
	fesetenv(FE_DFL_ENV);
	return saved;
}

static inline void ring_fpenv_leave(struct ring_fpenv saved)
{
	fesetenv(&saved.env);
}

#endif
#endif
