# SPDX-License-Identifier: MIT
# RING_HAVE_AVX2: whether the compiler makes AVX2 kernels, which are used where the CPU has them.
AC_DEFUN([RING_HAVE_AVX2], [
	AC_MSG_CHECKING([whether $CC makes AVX2 code])
	ring_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -mavx2"
	AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#ifndef __AVX2__
#error not here
#endif
int main(void) { return !__builtin_cpu_supports("avx2"); }
]])], [ring_have_avx2=yes ring_kernels="avx2, plain"], [ring_have_avx2=no ring_kernels=plain])
	CFLAGS=$ring_saved_CFLAGS
	AC_MSG_RESULT([$ring_have_avx2])
	AM_CONDITIONAL([HAVE_AVX2], [test "x$ring_have_avx2" = xyes])
])
