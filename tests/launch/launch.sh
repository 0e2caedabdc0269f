# SPDX-License-Identifier: MIT
# Sourced by the tests beside this. They run the commands of docs/LAUNCHING.md, section by section, as a user
# would have typed them, and see that each made one job of the right ranks.
set -u
sources=$(cd "${srcdir:-.}" && pwd)
build=$PWD
here=$sources/tests/launch
place=$(mktemp -d)
failures=0

skip() {
	echo "$*"
	exit 77
}
complain() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}
trap 'rm -rf "$place"' EXIT
trap 'exit 1' INT TERM HUP

[ -n "${RING_TEST_LAUNCH-}" ] || skip "make check-launch runs it"

# Nothing of a launcher that the test itself was started by.
unset -v $(env | sed -nE 's/^((RING|PMI|PMIX|OMPI|PRTE|SLURM|SBATCH|SRUN|MPI|HYDRA|TORCHELASTIC)_[A-Za-z0-9_]*)=.*/\1/p') \
	RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
export RING_LOG=warn OMP_NUM_THREADS=1

# Root in a container with two CPUs may do what launchers think twice about.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Programs as if installed: not libtool's scripts, which would start before every rank.
[ -e .libs/libringccl.so ] || skip "no shared library in this build"
mkdir "$place/bin"
place_program() { # path of what libtool built
	local path=${1%/*}/.libs/${1##*/}
	[ -e "$path" ] || path=$1
	[ ! -e "$path" ] || ln -s "$path" "$place/bin/"
}
for program in perf/ring_perf train/ring_train tools/ring_run tests/net/rank; do
	place_program "$build/$program"
done
awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$sources/README.md" >"$place/sum.c"
./libtool --silent --tag=CC --mode=link ${CC:-cc} -I"$sources/include" "$place/sum.c" libringccl.la \
	-o "$place/sum" || skip "the README's program does not compile"
place_program "$place/sum"
export PATH=$place/bin:$PATH LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# Makes a launcher's programs come first, unless there are none: then the test skips and says why. They look
# for their helpers beside themselves.
use() { # name in setup, program, name it is called by
	local folder libraries
	folder=$("$here/setup" "$1") || skip "$(tail -n 1 <<<"$folder")"
	libraries=${folder%/bin}/lib/$(uname -m)-linux-gnu
	[ ! -d "$libraries" ] || LD_LIBRARY_PATH+=:$libraries
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$folder/$2" >"$place/bin/$3"
	chmod +x "$place/bin/$3"
}

use_installed() { # program, name it is called by
	command -v "$1" >/dev/null || skip "no $1 is installed"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$1")" >"$place/bin/$2"
	chmod +x "$place/bin/$2"
}

# The commands of a section: the lines of its blocks that begin with "$ ".
commands() { # title
	awk -v title="## $1" '/^## / { on = $0 == title } on && /^\$ / { print substr($0, 3) }' \
		"$sources/docs/LAUNCHING.md"
}

# Runs a command with a deadline, where sum is. Sets said and status.
run() {
	(cd "$place/bin" && timeout --kill-after=5 120 sh -c "$1") </dev/null >"$place/said" 2>&1
	status=$?
	said=$(cat "$place/said")
}

count() { # pattern
	grep -cE "$1" <<<"$said"
}
expect() { # what, how many lines, pattern
	[ "$(count "$3")" = "$2" ] || complain "$1: not $2 times \"$3\" in:"$'\n'"$said"
}
expect_status() { # what, status
	[ "$status" = "$2" ] || complain "$1: status $status, not $2:"$'\n'"$said"
}

# One job of so many ranks, all of whose results are right.
expect_one_job() { # command, program, ranks
	local rank
	expect_status "$1" 0
	case $2 in
	sum)
		for ((rank = 0; rank < $3; rank++)); do
			expect "$1" 1 "rank $rank of $3: $3 $((2 * $3)) $((3 * $3)) $((4 * $3))\$"
		done
		expect "$1" "$3" 'rank [0-9]+ of'
		;;
	ring_perf)
		expect "$1" 1 '^# ring_perf version'
		expect "$1" 1 "^# Using $3 ranks"
		expect "$1" 1 '^# Out of bounds values : 0 OK'
		;;
	ring_train)
		expect "$1" 1 "^$3 ranks, global batch"
		expect "$1" 1 '^step +1 '
		;;
	esac
}

# Runs every command of a section: each ends with "-n RANKS PROGRAM ..." in its launcher's words.
check_section() { # title
	local command program ranks any=0
	while read -r command; do
		program=$(grep -oE '\b(ring_perf|ring_train|sum)\b' <<<"$command" | head -n 1)
		case $program in
		ring_perf) ranks=4 ;;
		ring_train) ranks=2 ;;
		sum) ranks=3 ;;
		*) continue ;;
		esac
		run "$command"
		expect_one_job "$command" "$program" "$ranks"
		echo "$command: status $status"
		any=$((any + 1))
	done < <(commands "$1")
	[ $any -ge 3 ] || complain "section $1 has $any commands"
}

# What every launcher must do: several communicators of one job, and the status of a rank that fails with 7.
check_manners() { # the launcher up to the number of ranks; its status then, if not 7; what is before a number
	local three="$1${3- }3"
	run "$three rank twice"
	expect "$three rank twice" 3 'of 3: right, twice$'
	expect_status "$three rank twice" 0
	echo "$three rank twice: $(count 'right, twice$') ranks right"

	run "$three rank fail"
	expect_status "$three rank fail" "${2-7}"
	echo "$three rank fail: status $status"
}

# Of launchers that a process stays connected to: a forked child leaves that to its parent.
check_fork() { # the launcher up to the number of ranks
	run "$1 2 rank forks"
	expect "$1 2 rank forks" 2 'of 2: right, twice$'
	expect_status "$1 2 rank forks" 0
}

# The least of three runs in milliseconds. Sets took.
measure() { # command
	local begin ms tries
	took=1000000
	for ((tries = 0; tries < 3; tries++)); do
		begin=$(date +%s%N)
		run "$1"
		ms=$((($(date +%s%N) - begin) / 1000000))
		[ $status != 0 ] || took=$((ms < took ? ms : took))
	done
	[ $took != 1000000 ] || complain "$1 failed three times: $said"
}

# How long creation takes, beside what the launcher takes to start programs that do nothing.
compare() { # launcher up to the number of ranks, with what is before that; ranks
	local alone
	measure "$1$2 sleep 0.1" # mpirun of Open MPI 4 may miss the end of what ends at once
	alone=$((took - 100))
	measure "$1$2 rank once"
	echo "$1$2: $alone ms, and $((took - alone)) ms more for a communicator"
}

finish() {
	exit $((failures != 0))
}
