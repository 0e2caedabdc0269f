# SPDX-License-Identifier: MIT
# RING_VERBS
# RDMA devices: only the header of libibverbs is needed here, as the library is opened when a program finds a
# device. Sets $ring_verbs for the table, and HAVE_VERBS for the makefile.
AC_DEFUN([RING_VERBS], [
	AC_ARG_WITH([verbs], [AS_HELP_STRING([--with-verbs],
		[links over RDMA devices (default: if infiniband/verbs.h is found)])],
		[], [with_verbs=check])
	ring_verbs=no
	AS_IF([test "$with_verbs" != no], [AC_CHECK_HEADER([infiniband/verbs.h], [ring_verbs=yes])])
	AS_IF([test "$ring_verbs" = yes || test "$with_verbs" = no], [],
		[test "$with_verbs" = check],
		[ring_verbs="no (no RDMA; libibverbs-dev or rdma-core-devel has its header)"],
		[AC_MSG_ERROR([--with-verbs: infiniband/verbs.h was not found.
Install libibverbs-dev (Debian, Ubuntu) or rdma-core-devel (Fedora).])])
	AM_CONDITIONAL([HAVE_VERBS], [test "$ring_verbs" = yes])
])
