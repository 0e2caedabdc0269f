/* SPDX-License-Identifier: MIT */
/*
 * Whether the arguments of a call make sense, all but where its buffers lie (place.h). Nothing has
 * happened yet when a call is refused.
 */
#ifndef RING_CHECK_H
#define RING_CHECK_H

#include "comm/comm.h"

/*
 * Refuses the request; the sentence begins with its name. returns RING_EINVAL
 */
__attribute__((format(printf, 3, 4))) int ring_request_refuse(struct ring_comm *comm,
							      const struct ring_request *request,
							      const char *format, ...);

/* Whether this rank's send, or recv, is a buffer of the call. */
bool ring_request_reads(const struct ring_request *request, int rank);
bool ring_request_writes(const struct ring_request *request, int rank);

/* Whether `root` is a root, or the peer of a message. */
bool ring_request_names_rank(const struct ring_request *request);

/* in_place: one is this rank's part of the other. returns 0; RING_EINVAL */
int ring_request_check_overlap(struct ring_comm *comm, const struct ring_request *request,
			       uint64_t send_bytes, uint64_t recv_bytes, bool in_place);

/*
 * All but uneven parts (parts.h). returns 0; RING_EINVAL, or what ring_stream_check() returned,
 * with the sentence
 */
int ring_request_check(struct ring_comm *comm, const struct ring_request *request);

#endif
