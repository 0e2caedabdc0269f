/* SPDX-License-Identifier: MIT */
/*
 * Ranks meet through the store of their process group: all say that they are there, then the first
 * hands out the id by which the library links them. Nothing else has to be known or opened.
 */
#ifndef RING_TORCH_MEETING_H
#define RING_TORCH_MEETING_H

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <functional>

#include "ringccl.h"

namespace ring
{

struct Meeting {
	c10::intrusive_ptr<c10d::Store> store; /* used by this thread alone */
	std::string place;                     /* keys of the store begin with it */
	int rank, size;
	std::vector<int> names;                 /* of its ranks, for people; empty: their numbers */
	std::chrono::milliseconds timeout;      /* until all are there; 0: none */
	std::chrono::milliseconds call_timeout; /* of calls on the communicator; -1: none */

	/* asked again and again until all are there: throws, or returns true to give up */
	std::function<bool()> is_over;
};

/*
 * Makes the communicator. Blocks until all have come, or is_over.
 * PyTorch computes beside its ranks in threads that nobody counts, so a rank that waits yields from
 * the first look on. (1 MiB on 2 ranks and 2 CPUs that others use, too: 8 to 27 -> 0.1 to 3 ms; on
 * idle CPUs it makes no difference.) Where every CPU computes, yields are not free either, so it
 * sleeps after some. (Steps of DDP, 4 ranks on 2 CPUs, beside gloo's in the same run: 6 % slower ->
 * 6 % faster; 10,000 switches to others -> 500.)
 * returns NULL if is_over said so; throws DistBackendError that names who never came
 */
ring_comm *meet(const Meeting &meeting);

} // namespace ring

#endif
