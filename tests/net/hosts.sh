# SPDX-License-Identifier: MIT
# Sourced by the tests beside this, and by what measures between hosts in perf. A host is a network
# namespace. All are in two networks:
#
#	host h:  eth0 10.77.0.h+1 or fd77::h+1,  eth1 10.78.0.h+1 or fd78::h+1
#
# A router stands for the switch of each, as kernels may have no bridges: it answers for the addresses
# of all hosts and passes on what they send. It is a namespace of its own, so that nothing is added to
# the machine's own network.
set -u
net=ringccl-$$
place=$(mktemp -d)
rank_program=$PWD/tests/net/rank
unset RING_INTERFACE RING_PORT_RANGE RING_HOST RING_TRANSPORT
failures=0

skip() {
	echo "$*"
	[ "$failures" = 0 ] || exit 1
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

# What it cannot pass on is lost without a word, as in a switch.
make_router() {
	local number
	ip netns add "$net-router" 2>/dev/null || skip "may not make network namespaces"
	ip -n "$net-router" link set lo up || exit 1 # without a local address it sends all to all
	on router sh -c 'cd /proc/sys/net && echo 1 >ipv4/ip_forward && echo 1 >ipv4/conf/all/proxy_arp' || exit 1
	on router sh -c 'cd /proc/sys/net/ipv6/conf && echo 1 >all/forwarding && echo 1 >all/proxy_ndp &&
		echo 0 >default/accept_dad' 2>/dev/null
	for number in 7 8; do
		ip -n "$net-router" route add blackhole "10.7$number.0.0/24" || exit 1
		ip -n "$net-router" route add blackhole "fd7$number::/64" 2>/dev/null
	done
}

# Links host h with network n.
plug_in() {
	ip -n "$net-router" link add "port$1-$2" type veth peer name "eth$2" netns "$net-$1" &&
		ip -n "$net-router" link set "port$1-$2" up &&
		on router sh -c "for file in /proc/sys/net/ipv?/neigh/port$1-$2/proxy_delay; do echo 0 >\$file; done" &&
		ip -n "$net-$1" link set "eth$2" up
}

address_of() { # host, network, 4 or 6
	if [ "$3" = 4 ]; then
		echo "10.7$((7 + $2)).0.$(($1 + 1))"
	else
		echo "fd7$((7 + $2))::$(($1 + 1))"
	fi
}

find_host() { # host, network, 4 or 6
	ip -n "$net-router" route add "$(address_of "$@")" dev "port$1-$2"
}

# All other hosts may ask for it.
add_address() { # host, network, 4 or 6
	local address other
	address=$(address_of "$@")
	if [ "$3" = 4 ]; then
		ip -n "$net-$1" address add "$address/24" dev "eth$2"
	else
		ip -n "$net-$1" address add "$address/64" dev "eth$2" nodad
		for ((other = 0; other < hosts; other++)); do
			[ $other = "$1" ] || ip -n "$net-router" neighbor add proxy "$address" dev "port$other-$2"
		done
	fi && find_host "$@"
}

make_hosts() { # how many, 4 or 6: the version of IP they have
	local network host
	hosts=$1
	make_router
	for ((host = 0; host < hosts; host++)); do
		ip netns add "$net-$host" && ip -n "$net-$host" link set lo up || exit 1
		for network in 0 1; do
			plug_in "$host" "$network" || exit 1
		done
	done
	for ((host = 0; host < hosts; host++)); do
		for network in 0 1; do
			add_address "$host" "$network" "$2" || exit 1
		done
	done
}

# Host h is off network 0 from now on.
pull_cable() {
	ip -n "$net-router" link set "port$1-0" down
}

plug_cable() { # host
	ip -n "$net-router" link set "port$1-0" up && find_host "$1" 0 4
}

# Whatever host a sends to host b in network 0 goes astray from now on, without a word: nobody has
# that address.
cut_way() { # a, b
	ip -n "$net-$1" neighbor replace "$(address_of "$2" 0 4)" lladdr 02:00:00:00:00:01 dev eth0 nud permanent
}

# It arrives again: the router says how.
mend_way() { # a, b
	ip -n "$net-$1" neighbor delete "$(address_of "$2" 0 4)" dev eth0
}

cut_path() { # a, b
	cut_way "$1" "$2" && cut_way "$2" "$1"
}

mend_path() { # a, b
	mend_way "$1" "$2" && mend_way "$2" "$1"
}

# A second way from host a to host b, eth2 to eth2, on which large packets get lost, and which nobody
# takes by itself. It is given one packet at a time: others are not measured.
make_narrow_way() { # a, b
	ip -n "$net-$1" link add eth2 type veth peer name eth2 netns "$net-$2" &&
		ip -n "$net-$1" link set eth2 gso_max_segs 1 arp off up &&
		ip -n "$net-$2" link set eth2 mtu 576 arp off up
}

# Whatever host a sends to host b in network 0 goes there.
narrow_way() { # a, b
	ip -n "$net-$1" route add "$(address_of "$2" 0 4)" dev eth2
}

# The process that serves the meeting lives on host 0. Sets id and server.
make_id() {
	local tries
	rm -f "$place/id"
	ip netns exec "$net-0" "$rank_program" id >"$place/id" 2>&1 &
	server=$!
	for ((tries = 0; tries < 1500; tries++)); do
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

# Waits until ranks have said so many such lines: half a minute, as others may keep the CPUs.
await_lines() { # how many, pattern
	local tries
	for ((tries = 0; tries < 1500; tries++)); do
		[ "$(cat "$place"/out.* 2>/dev/null | grep -cE "$2")" = "$1" ] && return
		sleep 0.02
	done
	complain "not $1 times \"$2\" in: $(cat "$place"/out.*)"
	return 1
}

await_created() {
	await_lines "${#ranks[@]}" '^created'
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

# What a host sends in network 0 leaves at this rate, but for what it may send at once: what that takes so many
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
