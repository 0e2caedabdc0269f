/* SPDX-License-Identifier: MIT */
/*
 * ringccl.h as a C++ program sees it: compiles without warnings, links without mangled names.
 */
#include "ringccl.h"

#include <cstring>

int main()
{
	ring_options options;
	ring_options_init(&options);

	bool same = std::strcmp(ring_strerror(RING_EINVAL), "invalid argument") == 0;
	return same && options.size == sizeof options && ring_version() > 0 ? 0 : 1;
}
