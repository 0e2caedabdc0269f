# SPDX-License-Identifier: MIT
# RING_KERNEL_FAMILY(NAME, CONDITIONAL, MACRO, FLAGS)
# Whether the compiler makes the kernels of a family of CPUs, which are used where the CPU has what they
# need: with FLAGS it must define MACRO. Sets CONDITIONAL for the makefile and adds to $ring_kernels.
AC_DEFUN([RING_KERNEL_FAMILY], [
	AC_MSG_CHECKING([whether $CC makes $1 code])
	ring_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS $4"
	AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#ifndef $3
#error not here
#endif
int main(void) { return 0; }
]])], [ring_have_family=yes ring_kernels="${ring_kernels}$1, "], [ring_have_family=no])
	CFLAGS=$ring_saved_CFLAGS
	AC_MSG_RESULT([$ring_have_family])
	AM_CONDITIONAL([$2], [test "x$ring_have_family" = xyes])
])
