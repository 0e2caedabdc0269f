# SPDX-License-Identifier: MIT
# RING_HARDENING
# What makes a mistake in memory end the program where it happens, each part where the tools have it:
# checked calls of libc, guarded stacks, tables of addresses that are read-only once bound, and programs that
# lie at another address each time. CFLAGS and CPPFLAGS of a distribution stand behind these and win.
# Sets $ring_hardening for the table, FORTIFY_CPPFLAGS, HARDENING_CFLAGS, HARDENING_LDFLAGS and PIE_LDFLAGS.
AC_DEFUN([RING_HARDENING], [
	AC_REQUIRE([AC_PROG_CC])
	ring_hardening=
	ring_cflags=$CFLAGS
	ring_ldflags=$LDFLAGS

	# Not where the compiler or CPPFLAGS define it, where nothing is optimized, or where a sanitizer checks the same calls.
	FORTIFY_CPPFLAGS=
	AS_CASE([" $CFLAGS $LDFLAGS"], [*-fsanitize=*], [], [
		for ring_level in 3 2; do
			CFLAGS="-O2 $ring_cflags -Werror"
			AS_IF([test "x$FORTIFY_CPPFLAGS" = x], [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
				#if defined _FORTIFY_SOURCE || !defined __OPTIMIZE__
				#error
				#endif
				#define _FORTIFY_SOURCE $ring_level
				#include <string.h>
				#if __USE_FORTIFY_LEVEL != $ring_level
				#error
				#endif
			]])], [FORTIFY_CPPFLAGS="-D_FORTIFY_SOURCE=$ring_level"])])
		done
		AS_IF([test "x$FORTIFY_CPPFLAGS" != x], [ring_hardening="$FORTIFY_CPPFLAGS "])
		CFLAGS="-O2 $ring_cflags"
		AS_IF([test "x$FORTIFY_CPPFLAGS" = x], [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
			#ifndef _FORTIFY_SOURCE
			#error
			#endif
		]])], [ring_hardening="_FORTIFY_SOURCE (as given) "])])
	])

	HARDENING_CFLAGS=
	for ring_flag in -fstack-protector-strong -fPIE; do
		CFLAGS="$ring_cflags $HARDENING_CFLAGS $ring_flag -Werror"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
			[HARDENING_CFLAGS="$HARDENING_CFLAGS $ring_flag" ring_hardening="$ring_hardening$ring_flag "])
	done
	CFLAGS="$ring_cflags $HARDENING_CFLAGS"
	HARDENING_LDFLAGS=
	LDFLAGS="$ring_ldflags -Wl,-z,relro -Wl,-z,now"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()],
		[HARDENING_LDFLAGS="-Wl,-z,relro -Wl,-z,now" ring_hardening="${ring_hardening}relro now "])
	PIE_LDFLAGS=
	LDFLAGS="$ring_ldflags -pie"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()], [PIE_LDFLAGS=-pie ring_hardening="${ring_hardening}-pie "])

	CFLAGS=$ring_cflags
	LDFLAGS=$ring_ldflags
	AC_SUBST([FORTIFY_CPPFLAGS])
	AC_SUBST([HARDENING_CFLAGS])
	AC_SUBST([HARDENING_LDFLAGS])
	AC_SUBST([PIE_LDFLAGS])
])
