# SPDX-License-Identifier: MIT
# RING_CONFIGURED
# A build folder lives on while packages come, go and change, and make looks at the time of files only. So
# configure's result is a file, `configured`, that is written if it differs from before, and everything that is
# compiled depends on it; `configured_place` also says where things are to be installed. Versions are part of
# the result, as headers of another version may be older than what was compiled.
AC_DEFUN([RING_CONFIGURED], [
	ring_versions=`$CC --version 2>/dev/null | sed 1q`
	for ring_module in hwloc libsodium cmocka jansson zlib openblas blis libibverbs; do
		ring_versions="$ring_versions; $ring_module `$PKG_CONFIG --modversion $ring_module 2>/dev/null`"
	done
	test -z "$NVCC" || ring_versions="$ring_versions; `$NVCC --version 2>/dev/null | tail -n 1`"
	AC_SUBST([ring_versions])
	AM_SUBST_NOTMAKE([ring_versions])

	# What configure substitutes stands in config.status, in lines of awk.
	AC_CONFIG_COMMANDS([configured], [
		grep -E '^(S\@<:@)?"' "$as_myself" >configured_place.new
		grep -vE '^S\@<:@"(prefix|exec_prefix|@<:@a-z@:>@*dir|program_transform_name)"' configured_place.new >configured.new
		for ring_result in configured configured_place; do
			if cmp -s $ring_result.new $ring_result; then
				rm -f $ring_result.new
			else
				mv -f $ring_result.new $ring_result
			fi
		done
	])
])
