/* SPDX-License-Identifier: MIT */
/*
 * libibverbs, opened when it is needed: the same library of ours runs where there is none. What its
 * header defines in place (polling, posting, arming) goes by a device's own table and needs no
 * name.
 */
#ifndef RING_VERBS_LIBRARY_H
#define RING_VERBS_LIBRARY_H

#include <infiniband/verbs.h>

#define RING_VERBS_NAMES(X)                                                                        \
	X(fork_init)                                                                               \
	X(get_device_list)                                                                         \
	X(free_device_list)                                                                        \
	X(get_device_name)                                                                         \
	X(open_device)                                                                             \
	X(close_device)                                                                            \
	X(query_port)                                                                              \
	X(alloc_pd)                                                                                \
	X(dealloc_pd)                                                                              \
	X(reg_mr)                                                                                  \
	X(dereg_mr)                                                                                \
	X(create_comp_channel)                                                                     \
	X(destroy_comp_channel)                                                                    \
	X(create_cq)                                                                               \
	X(destroy_cq)                                                                              \
	X(get_cq_event)                                                                            \
	X(ack_cq_events)                                                                           \
	X(create_qp)                                                                               \
	X(modify_qp)                                                                               \
	X(destroy_qp)                                                                              \
	X(wc_status_str)

struct ring_verbs_library {
#define RING_VERBS_MEMBER(name) __typeof__(ibv_##name) *name;
	RING_VERBS_NAMES(RING_VERBS_MEMBER)
#undef RING_VERBS_MEMBER
};

/* Opened once, for good. NULL: there is none, or a very old one; why, of RING_ABSENT_TEXT. */
const struct ring_verbs_library *ring_verbs_library(char *why);

#endif
