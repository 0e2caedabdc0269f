/* SPDX-License-Identifier: MIT */
/* How the library carries a call, asked of its own function. */
#ifndef CHOICE_H
#define CHOICE_H

#include "tests/multi/calls.h"
#include "tests/multi/uneven.h"

/*
 * To be asked behind a call: what ranks can reach they find out in calls. shared: the buffers are from
 * ring_mem_alloc() on all ranks.
 */
struct call_way choice_of(const struct ring_comm *comm, const struct call *call, bool shared);

/* The same of a call with uneven parts. */
struct call_way choice_of_uneven(const struct ring_comm *comm, const struct uneven *uneven);

#endif
