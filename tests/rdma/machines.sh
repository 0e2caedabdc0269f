# SPDX-License-Identifier: MIT
# Sourced by the tests beside this: runs commands in machines with RDMA devices (run), and counts.
set -u
sources=$(cd "${srcdir:-.}" && pwd)
here=$sources/tests/rdma
place=$(mktemp -d)
count=0 failures=0
trap 'rm -rf "$place"' EXIT
trap 'exit 1' INT TERM HUP

[ -n "${RING_TEST_RDMA-}" ] || { echo "make check-rdma runs it"; exit 77; }
[ -e tests/transport/verbs_test ] || { echo "this build has no verbs (libibverbs-dev), or no CMocka"; exit 77; }
[ -e .libs/libringccl.so ] || { echo "no shared library in this build"; exit 77; }
export LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RING_TEST_MACHINE=${RING_TEST_MACHINE:-$("$here/machine")}
if [ "$RING_TEST_MACHINE" = uml ]; then
	export RING_TEST_LINUX=${RING_TEST_LINUX:-$("$here/kernel")}
else
	echo "# machines: $RING_TEST_MACHINE"
fi

# Programs as if installed: libtool's scripts take long to start.
program() { # path of what libtool built
	local path=$PWD/${1%/*}/.libs/${1##*/}
	[ -e "$path" ] && echo "$path" || echo "$PWD/$1"
}

# Runs a command, leaves what it said in $said and its status in $status. Where machines cannot be had the test skips.
in_machines() { # arguments of run
	"$here/run" "$@" >"$place/said" 2>&1
	status=$?
	said=$(cat "$place/said")
	if [ $status = 77 ]; then
		tail -n 1 "$place/said"
		exit 77
	fi
}

# Runs several commands in one boot, each with a port of its own to meet at:
#
#	in_steps [arguments of run] -- NAME COMMAND NAME COMMAND...
in_steps() {
	local arguments=() port=5000
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	shift
	while [ $# -gt 0 ]; do
		printf 'echo "step %s"\n(\nexport MASTER_PORT=%d\n%s\n)\necho "step ended $?"\n' "$1" $port "$2"
		port=$((port + 50))
		shift 2
	done >"$place/steps"
	in_machines "${arguments[@]}" sh "$place/steps"
	cp "$place/said" "$place/all"
}

# What a step said on all machines, and its status, as if it had been run alone; 125: it did not end.
step() { # name
	awk -v name="$1" '{ text = $0; sub(/^\[machine [0-9]+\] /, "", text) }
		text == "step " name { within = 1; begun++; next }
		within && text ~ /^step ended / { within = 0; ended++; if (!status) status = substr(text, 12); next }
		within
		END { print "status", begun && begun == ended ? status + 0 : 125 }' "$place/all" >"$place/said"
	status=$(sed -n '$s/^status //p' "$place/said")
	sed -i '$d' "$place/said"
	said=$(cat "$place/said")
}

# A check is a line of TAP; what was said explains one that failed.
check() { # what, command that is true if it is well
	local what=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what: status $status"
		tail -n 40 "$place/said" | sed 's/^/# /'
		failures=$((failures + 1))
	fi
}
is_well() {
	[ "$status" = 0 ]
}
without_check() { # what, why
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}
says() { # pattern
	grep -qE -- "$1" <<<"$said"
}
is_well_and_says() {
	is_well && says "$1"
}
finish() {
	echo "1..$count"
	[ $failures = 0 ]
}
