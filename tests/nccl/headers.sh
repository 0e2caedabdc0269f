# SPDX-License-Identifier: MIT
# For scripts that need NVIDIA's NCCL or CUDA's headers: nothing of them is in this project, so they are looked for
# where people have them.
nccl_homes() { # prefixes that may have include/nccl.h and lib/libnccl.so.2: the toolkit's, wheels', the system's
	local folder
	for folder in ${NCCL_HOME:-} ${CUDA_HOME:-} /usr/local/cuda /usr/local /usr \
		"${XDG_CACHE_HOME:-$HOME/.cache}"/ringccl/*/lib/python3*/site-packages/nvidia/nccl \
		"${XDG_CACHE_HOME:-$HOME/.cache}"/ringccl/*/*/lib/python3*/site-packages/nvidia/nccl \
		"${XDG_CACHE_HOME:-$HOME/.cache}"/ringccl/nccl/*/nvidia/nccl; do
		[ -d "$folder" ] && realpath "$folder"
	done | awk '!seen[$0]++'
}

cuda_includes() { # folders that may have cuda_runtime.h, which nccl.h includes
	local folder
	for folder in ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda/include /usr/include \
		"${XDG_CACHE_HOME:-$HOME/.cache}"/ringccl/*/lib/python3*/site-packages/nvidia/cu*/include \
		"${XDG_CACHE_HOME:-$HOME/.cache}"/ringccl/*/*/lib/python3*/site-packages/nvidia/cu*/include; do
		[ ! -e "$folder/cuda_runtime.h" ] || realpath "$folder"
	done | awk '!seen[$0]++'
}

nccl_headers() { # the different nccl.h there are
	local home
	nccl_homes | while read -r home; do
		[ ! -e "$home/include/nccl.h" ] || realpath "$home/include/nccl.h"
	done | awk '!seen[$0]++'
}

version_of_header() { # nccl.h
	awk '/define NCCL_(MAJOR|MINOR|PATCH)/ { printf "%s%s", dot, $3; dot = "." }' "$1"
}
