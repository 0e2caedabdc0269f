/* SPDX-License-Identifier: MIT */
/* How the library carries a call, asked of its own function. */
#ifndef CHOICE_H
#define CHOICE_H

#include "tests/multi/calls.h"

struct call_way choice_of(const struct ring_comm *comm, const struct call *call);

#endif
