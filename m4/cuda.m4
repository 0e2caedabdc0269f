# SPDX-License-Identifier: MIT
# RING_CUDA
# Whether kernels for GPUs of NVIDIA are built in. That takes nvcc and nothing else: the library opens the
# driver when a device is asked for, and runs without. nvcc is looked for at --with-cuda=PATH, else in PATH,
# in /usr/local/cuda and where tests/cuda/setup puts it. Not found is a "no", unless it was asked for.
#
# Sets NVCC, NVCC_ARCH_FLAGS, NVCC_COMPRESSION, NVCC_DRIVER, ring_cuda for configure's table, and HAVE_CUDA for the makefile.
AC_DEFUN([RING_CUDA], [
	AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=PATH@:>@],
		[kernels for GPUs, by PATH/bin/nvcc; without PATH it must be found somewhere])],
		[], [with_cuda=maybe])
	AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST],
		[architectures as 80,90, or all for a release (10 seconds each); by default that of this
		 machine's GPU, else 80. Those that are not named and newer compile at first use])],
		[], [with_cuda_arch=])
	ring_cuda="no (no nvcc found; tests/cuda/setup nvcc fetches it)"
	AS_CASE([$with_cuda],
		[no], [ring_cuda="no (--without-cuda)" NVCC=],
		[yes | maybe], [RING_FIND_NVCC],
		[NVCC=$with_cuda/bin/nvcc
		AS_IF([test ! -x "$NVCC"], [AC_MSG_ERROR([--with-cuda=$with_cuda: there is no $NVCC.
Give the folder of a CUDA toolkit, as /usr/local/cuda, or leave --with-cuda out])])])
	AS_IF([test -n "$NVCC"], [RING_TRY_NVCC])
	AS_IF([test "x$with_cuda" = xyes && test -z "$NVCC"],
		[AC_MSG_ERROR([--with-cuda: $ring_cuda])])
	AC_SUBST([NVCC])
	AC_SUBST([NVCC_ARCH_FLAGS])
	AC_SUBST([NVCC_COMPRESSION])
	AC_SUBST([NVCC_DRIVER])
	AM_CONDITIONAL([HAVE_CUDA], [test -n "$NVCC"])
])

AC_DEFUN([RING_FIND_NVCC], [
	ring_fetched=`echo "${XDG_CACHE_HOME:-$HOME/.cache}"/ringccl/cuda/nvcc/nvidia/*/bin`
	AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin:$ring_fetched])
])

# Code for each architecture, and of the first what drivers compile for those that are not named.
AC_DEFUN([RING_TRY_NVCC], [
	AC_MSG_CHECKING([for which GPUs $NVCC compiles])
	AS_CASE([$with_cuda_arch],
		[all], [RING_ALL_ARCHS],
		[""], [ring_archs=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
			tr -d . | sort -nu | tr '\n' ' '`],
		[ring_archs=`echo "$with_cuda_arch" | tr , ' '`])
	AS_IF([test -z "$ring_archs"], [ring_archs=80])
	NVCC_ARCH_FLAGS= ring_names=
	for ring_arch in $ring_archs; do
		test -n "$NVCC_ARCH_FLAGS" ||
			NVCC_ARCH_FLAGS="-gencode arch=compute_$ring_arch,code=compute_$ring_arch"
		NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode arch=compute_$ring_arch,code=sm_$ring_arch"
		ring_names="${ring_names}sm_$ring_arch "
	done
	NVCC_COMPRESSION=--compress-mode=size
	RING_COMPILE_KERNEL([:], [
		NVCC_COMPRESSION="-Xfatbin -compress-all" # before CUDA 12.8
		RING_COMPILE_KERNEL([:], [ring_names=])])
	AC_MSG_RESULT([${ring_names:-none}])
	RING_LEAST_DRIVER
	AS_IF([test -n "$ring_names"], [ring_cuda="${ring_names}by $NVCC, for drivers of CUDA $ring_driver or newer"], [
		ring_cuda="no ($NVCC compiles nothing for $ring_archs: config.log says why; it needs g++)"
		AS_IF([test "x$with_cuda$with_cuda_arch" != xmaybe], [AC_MSG_ERROR([--with-cuda: $ring_cuda])])
		NVCC=])
])

# The least driver, as cuDriverGetVersion has it: that of the compiler's major version; one that knows how to
# unpack what is compressed for size (12.4); and one that has all calls (11.7).
AC_DEFUN([RING_LEAST_DRIVER], [
	ring_driver=`$NVCC --version | sed -n 's/.*release \(@<:@0-9@:>@*\)\..*/\1.0/p'`
	AS_CASE([$ring_driver:$NVCC_COMPRESSION],
		[12.0:--compress-mode=size], [ring_driver=12.4],
		[11.0:*], [ring_driver=11.7])
	NVCC_DRIVER=`echo "${ring_driver:-11.7}" | sed 's/\(.*\)\.\(.*\)/\10\20/'`
])

# RING_COMPILE_KERNEL(IF IT COMPILES, IF NOT)
AC_DEFUN([RING_COMPILE_KERNEL], [
	echo '__global__ void nothing(int *x) { *x = 0; }' >conftest.cu
	echo "$NVCC $NVCC_ARCH_FLAGS $NVCC_COMPRESSION" >&AS_MESSAGE_LOG_FD
	AS_IF([$NVCC $NVCC_ARCH_FLAGS $NVCC_COMPRESSION -std=c++17 -fatbin -o conftest.fatbin conftest.cu \
		>&AS_MESSAGE_LOG_FD 2>&1], [$1], [$2])
	rm -f conftest.cu conftest.fatbin
])

# The first of each generation, whose code the others of it run.
AC_DEFUN([RING_ALL_ARCHS], [
	ring_archs= ring_generation=
	for ring_arch in `$NVCC --list-gpu-code 2>&AS_MESSAGE_LOG_FD |
		sed -n 's/^sm_\(@<:@0-9@:>@*\)$/\1/p' | sort -n`; do
		test "`expr $ring_arch / 10`" = "$ring_generation" || ring_archs="$ring_archs $ring_arch"
		ring_generation=`expr $ring_arch / 10`
	done
])
