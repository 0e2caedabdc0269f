# SPDX-License-Identifier: MIT
# RING_BLAS
# Who multiplies the trainer's matrices: OpenBLAS, else BLIS, else its own loops. The reference BLAS is
# never taken: it is slower than they are, and cannot be told how many threads it may have.
# Sets $ring_blas for the table, BLAS_CFLAGS and BLAS_LIBS, and HAVE_OPENBLAS, HAVE_BLIS for the makefile.
AC_DEFUN([RING_BLAS], [
	AC_ARG_WITH([blas], [AS_HELP_STRING([--with-blas=openblas|blis|no],
		[who multiplies matrices in ring_train (default: the first that is found)])],
		[], [with_blas=check])
	ring_blas=no
	AS_CASE([$with_blas], [check|yes|openblas], [RING_BLAS_OPENBLAS])
	AS_IF([test "$ring_blas" = no],
		[AS_CASE([$with_blas], [check|yes|blis], [RING_BLAS_BLIS])])
	AS_IF([test "$ring_blas" != no || test "$with_blas" = no], [],
		[test "$with_blas" = check],
		[ring_blas="no (ring_train uses its own loops; libopenblas-dev or openblas-devel is faster)"],
		[AC_MSG_ERROR([--with-blas=$with_blas: neither found nor known.
Install libopenblas-dev or libblis-dev (Debian, Ubuntu), openblas-devel or blis-devel (Fedora).])])
	AC_SUBST([BLAS_CFLAGS])
	AC_SUBST([BLAS_LIBS])
	AM_CONDITIONAL([HAVE_OPENBLAS], [test "$ring_blas" = OpenBLAS])
	AM_CONDITIONAL([HAVE_BLIS], [test "$ring_blas" = BLIS])
])

# OpenBLAS is loaded at run time, see train/model/matmul_openblas.c.
AC_DEFUN([RING_BLAS_OPENBLAS], [
	PKG_CHECK_MODULES([OPENBLAS], [openblas],
		[BLAS_CFLAGS=$OPENBLAS_CFLAGS BLAS_LIBS=$OPENBLAS_LIBS]
		[RING_BLAS_LINKS([OpenBLAS], [cblas.h], [openblas_set_num_threads(1)])
		AS_IF([test "$ring_blas" != no], [BLAS_LIBS=-ldl])], [:])
])

# Distributions ship BLIS without a .pc file.
AC_DEFUN([RING_BLAS_BLIS], [
	PKG_CHECK_MODULES([BLIS], [blis],
		[BLAS_CFLAGS=$BLIS_CFLAGS BLAS_LIBS=$BLIS_LIBS], [BLAS_CFLAGS= BLAS_LIBS=-lblis])
	RING_BLAS_LINKS([BLIS], [blis.h], [bli_thread_set_num_threads(1)])
])

# RING_BLAS_LINKS(NAME, HEADER, CALL)
# The library has the C interface and a call that no other BLAS has.
AC_DEFUN([RING_BLAS_LINKS], [
	AC_MSG_CHECKING([whether $1 can be linked])
	ring_saved_CFLAGS=$CFLAGS ring_saved_LIBS=$LIBS
	CFLAGS="$CFLAGS $BLAS_CFLAGS" LIBS="$BLAS_LIBS $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$2>
#include <cblas.h>]], [[$3;
float x = 1;
cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, x, &x, 1, &x, 1, x, &x, 1)]])],
		[ring_blas=$1], [BLAS_CFLAGS= BLAS_LIBS=])
	CFLAGS=$ring_saved_CFLAGS LIBS=$ring_saved_LIBS
	AC_MSG_RESULT([$ring_blas])
])
