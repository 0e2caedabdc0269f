# RING_NEED_PACKAGE(VARIABLE, PKG-CONFIG MODULE, DEBIAN PACKAGE, FEDORA PACKAGE)
# A package without which nothing is built: found, or configure ends and says what to install.
AC_DEFUN([RING_NEED_PACKAGE], [
	PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR([$2 was not found by pkg-config.
Install $3 (Debian, Ubuntu) or $4 (Fedora), or set PKG_CONFIG_PATH.])])
])
