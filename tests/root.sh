# SPDX-License-Identifier: MIT
# Sourced: bare roots, each a minimal Debian in a folder that debootstrap makes, and commands inside. Whoever sources it ends
# with 77 where there can be none. Packages come from the mirror that this machine's apt uses.

[ "$(id -u)" = 0 ] || { echo "${0##*/}: needs root" >&2; exit 77; }
command -v debootstrap >/dev/null || { echo "${0##*/}: needs debootstrap" >&2; exit 77; }

mirror_of() { apt-get indextargets --format '$(SITE)' "Created-By: Packages" "Codename: $1" | head -n 1; } # suite

# With the mirror, its proxy if there is one, and how names are resolved, as on this machine.
make_root() { # folder, suite
	local root=$1 mirror
	mirror=$(mirror_of "$2")
	mkdir "$root"
	debootstrap --variant=minbase "$2" "$root" "$mirror" >"$root.log" || { tail "$root.log" && return 1; }
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)' >"$root/etc/apt/apt.conf.d/90host" || true
	echo "deb $mirror $2 main" >"$root/etc/apt/sources.list"
}

# Mounts and processes of the command end with it: they live in namespaces of their own. The root is
# bound to itself because / must be a mount point for those who make namespaces inside.
inside() { # root, folder in it, command...
	unshare --mount --pid --fork sh -c '
		root=$1 folder=$2 && shift 2 &&
		mount --bind "$root" "$root" &&
		mount -t proc proc "$root/proc" &&
		mount -t sysfs sysfs "$root/sys" &&
		mount --rbind /dev "$root/dev" &&
		mount -t tmpfs tmpfs "$root/dev/shm" &&
		mount -t tmpfs tmpfs "$root/tmp" &&
		exec chroot "$root" env -i HOME=/root STAGES="${STAGES-}" PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd $folder && $*"
	' sh "$@"
}
