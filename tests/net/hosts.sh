# SPDX-License-Identifier: MIT
# Sourced by the tests beside this, and by what measures between hosts in perf. A host is a network namespace; all are joined by two bridges, which
# live in a namespace of their own, so that nothing is added to the machine's own network:
#
#	host h:  eth0 10.77.0.h+1 or fd77::h+1,  eth1 10.78.0.h+1 or fd78::h+1
set -u
net=ringccl-$$
place=$(mktemp -d)
rank_program=$PWD/tests/net/rank
unset RING_INTERFACE RING_PORT_RANGE RING_HOST RING_TRANSPORT
failures=0

skip() {
	echo "$*"
	exit 77
}

# Everything this test has made ends with it.
remove_hosts() {
	local name
	for name in $(ip netns list | awk -v net="$net-" 'index($1, net) == 1 { print $1 }'); do
		kill -KILL $(ip netns pids "$name")
		ip netns delete "$name"
	done
	wait
} 2>/dev/null
trap 'remove_hosts; rm -rf "$place"' EXIT
trap 'exit 1' INT TERM HUP

[ "$(id -u)" = 0 ] || skip "only root may make network namespaces"
command -v ip >/dev/null || skip "needs iproute2"
[ -x "$rank_program" ] || skip "needs $rank_program"

on() { # host, command
	local host=$1
	shift
	ip netns exec "$net-$host" "$@"
}

# Links host h with bridge b.
plug_in() {
	ip -n "$net-switch" link add "port$1-$2" type veth peer name "eth$2" netns "$net-$1" &&
		ip -n "$net-switch" link set "port$1-$2" master "bridge$2" up &&
		ip -n "$net-$1" link set "eth$2" up
}

add_address() { # host, bridge, 4 or 6
	if [ "$3" = 4 ]; then
		ip -n "$net-$1" address add "10.7$((7 + $2)).0.$(($1 + 1))/24" dev "eth$2"
	else
		ip -n "$net-$1" address add "fd7$((7 + $2))::$(($1 + 1))/64" dev "eth$2" nodad
	fi
}

make_hosts() { # how many, 4 or 6: the version of IP they have
	local bridge host
	ip netns add "$net-switch" 2>/dev/null || skip "may not make network namespaces"
	for bridge in 0 1; do
		ip -n "$net-switch" link add "bridge$bridge" type bridge 2>/dev/null ||
			skip "this kernel has no bridges"
		ip -n "$net-switch" link set "bridge$bridge" up
	done
	for ((host = 0; host < $1; host++)); do
		ip netns add "$net-$host" && ip -n "$net-$host" link set lo up || exit 1
		for bridge in 0 1; do
			plug_in "$host" "$bridge" && add_address "$host" "$bridge" "$2" || exit 1
		done
	done
	hosts=$1
}

# Whatever host a sends to host b on bridge 0 goes astray from now on, without a word: nobody has that address.
cut_way() { # a, b
	ip -n "$net-$1" neighbor replace "10.77.0.$(($2 + 1))" lladdr 02:00:00:00:00:01 dev eth0 nud permanent
}

# Whatever host a sends to host b on bridge 0 arrives there, on the device.
mend_way() { # a, b, device
	local address
	address=$(on "$2" cat "/sys/class/net/$3/address")
	ip -n "$net-$1" neighbor replace "10.77.0.$(($2 + 1))" lladdr "$address" dev eth0 nud permanent
}

cut_path() { # a, b
	cut_way "$1" "$2" && cut_way "$2" "$1"
}

mend_path() { # a, b
	mend_way "$1" "$2" eth0 && mend_way "$2" "$1" eth0
}

# Gives host h a second way in from bridge 0, eth2, on which large packets get lost, and which nobody takes by itself.
make_narrow_way() { # h
	ip -n "$net-switch" link add "narrow$1" mtu 576 type veth peer name eth2 netns "$net-$1" &&
		ip -n "$net-switch" link set "narrow$1" master bridge0 up &&
		ip -n "$net-$1" link set eth2 arp off up
}

# The process that serves the meeting lives on host 0. Sets id and server.
make_id() {
	local tries
	rm -f "$place/id"
	ip netns exec "$net-0" "$rank_program" id >"$place/id" 2>&1 &
	server=$!
	for ((tries = 0; tries < 200; tries++)); do
		id=$(head -n 1 "$place/id" 2>/dev/null)
		[ ${#id} = 256 ] && return
		[ -z "$id" ] || break
		sleep 0.02
	done
	complain "no id was made: $id"
	return 1
}

# Starts the job's ranks, so many on each host; what rank r says goes to $place/out.r. Sets ranks, their processes.
per_host=1
start_ranks() { # what each does, and for how long
	local rank host
	ranks=()
	for ((rank = 0; rank < hosts * per_host; rank++)); do
		host=$((rank / per_host))
		RING_HOST=host$host RING_RANK=$rank RING_SIZE=$((hosts * per_host)) RING_ID=$id \
			ip netns exec "$net-$host" timeout 60 "$rank_program" "$@" >"$place/out.$rank" 2>&1 &
		ranks+=($!)
	done
}

await_ranks() {
	local pid
	for pid in "${ranks[@]}"; do
		wait "$pid" || failures=$((failures + 1))
	done
}

# Waits until every rank has said that it is created.
await_created() {
	local tries
	for ((tries = 0; tries < 500; tries++)); do
		[ "$(cat "$place"/out.* 2>/dev/null | grep -c '^created')" = "${#ranks[@]}" ] && return
		sleep 0.02
	done
	complain "not all were created: $(cat "$place"/out.*)"
	return 1
}

stop_ranks() {
	kill "${ranks[@]}"
	wait "${ranks[@]}"
	rm -f "$place"/out.*
} 2>/dev/null

drop_id() {
	kill "$server"
	wait "$server"
} 2>/dev/null

# What a host sends to bridge 0 leaves at this rate, but for what it may send at once: what that takes so many
# microseconds. Where CPUs are busy, a timer comes late, and if it is later than that the rate is not reached.
set_rate() { # such as 400mbit; microseconds
	local host number=${1%[mg]bit} unit=125
	[[ $1 != *gbit ]] || unit=125000
	if ! [[ $1 =~ ^[0-9]+[mg]bit$ ]]; then
		echo "rates are such as 400mbit, not $1"
		exit 2
	fi
	command -v tc >/dev/null || skip "needs tc, of iproute2"
	for ((host = 0; host < hosts; host++)); do
		on "$host" tc qdisc replace dev eth0 root tbf rate "$1" burst $((number * unit * $2 / 1000)) limit 8mb \
			2>"$place/said" || skip "this kernel has no tbf: $(cat "$place/said")"
	done
}

# Runs a command as rank h on host h, on the first so many; what each says goes to $place/said.h.
run_on_hosts() { # number of ranks, seconds, command
	local host pids=() status=0
	make_id || return
	for ((host = 0; host < $1; host++)); do
		on "$host" env RING_RANK="$host" RING_SIZE="$1" RING_ID="$id" RING_HOST="host$host" \
			RING_TRANSPORT=tcp RING_INTERFACE==eth0 timeout "$2" "${@:3}" >"$place/said.$host" 2>&1 &
		pids+=($!)
	done
	for host in "${!pids[@]}"; do
		wait "${pids[host]}" || status=$?
	done
	drop_id
	return $status
}

complain() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}
