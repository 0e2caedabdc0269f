# SPDX-License-Identifier: MIT
# Sourced by the tests beside this: runs the Python program of the test's name with the torch and the torch_ring
# that tests/torch/setup and build have made; skips where there is none.
set -u
sources=$(cd "${srcdir:-.}" && pwd)

skip() {
	echo "$*"
	exit 77
}
[ -n "${RING_TEST_TORCH-}" ] || skip "make check-torch runs it"
python=$("$sources/tests/torch/setup") || skip "$python"
site=$("$sources/tests/torch/build")
status=$?
[ $status != 77 ] || skip "$site"
[ $status = 0 ] || {
	echo "$site"
	exit 1
}
# Nothing of a launcher that the test itself was started by.
unset -v $(env | sed -nE 's/^((RING|TORCHELASTIC|TORCH|GLOO)_[A-Za-z0-9_]*)=.*/\1/p' | grep -v RING_TEST) \
	RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
export PYTHONPATH=$site:$sources/tests/torch PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 RING_LOG=warn
export PATH=$(dirname "$python"):$PATH

run_program() { # seconds, further arguments
	local seconds=$1
	shift
	timeout --kill-after=5 "$seconds" "$python" -W ignore "$sources/tests/torch/$(basename "$0" _test).py" "$@"
}
