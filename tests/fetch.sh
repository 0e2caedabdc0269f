# SPDX-License-Identifier: MIT
# For scripts that fetch what tests need and the system does not have: it is unpacked under ~/.cache/ringccl, and
# nothing is installed. `name` is what the script is fetching.
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/ringccl
release=$(. /etc/os-release && echo "$ID-${VERSION_ID-}")-$(uname -m)

give_up() {
	echo "no $name: $*"
	exit 77
}

# Unpacks these packages, installed or not, and those they need that are not installed, into a new folder.
unpack_debian() { # folder, packages
	local folder=$1 archive archives
	shift
	command -v apt-get dpkg >/dev/null || give_up "neither installed nor to be had from apt-get: $*"
	if ! apt-cache show "$@" >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
		apt-get -qq update
	fi
	mkdir -p "$folder/archives" && cd "$folder/archives" || exit 1
	archives=$(apt-get -s install --reinstall --no-install-recommends "$@" | awk '/^Inst/ { print $2 }')
	[ -n "$archives" ] || give_up "apt-get offers no $*"
	apt-get download $archives >log 2>&1 ||
		give_up "apt-get cannot download $*: $(tail -n 1 log)"
	for archive in *.deb; do
		dpkg -x "$archive" "$folder" || give_up "cannot unpack $archive"
	done
	cd / && rm -r "$folder/archives"
}
