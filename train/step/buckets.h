/* SPDX-License-Identifier: MIT */
/*
 * Cuts gradients into buckets: one all-reduce each. The rule is PyTorch's
 * (compute_bucket_assignment_by_size, in the order in which gradients become ready): tensors are
 * added to a bucket until it has reached its cap; a tensor is never split. So a tensor beyond the
 * cap ends a bucket, and with cap 0 every tensor is a bucket.
 */
#ifndef TRAIN_BUCKETS_H
#define TRAIN_BUCKETS_H

#include <stddef.h>

#define TRAIN_BUCKET_BYTES ((size_t)25 << 20)      /* PyTorch's cap of a bucket */
#define TRAIN_FIRST_BUCKET_BYTES ((size_t)1 << 20) /* that of the first, which starts early */

/* A slice of the gradient array, and the tensors in it. */
struct train_bucket {
	int first_tensor, tensors;
	size_t offset, bytes;
};

/*
 * Plans buckets for tensors that lie one after the other, in ready order.
 *
 * bytes     bytes[count], of the tensors
 * buckets   room for `count` of them
 * returns   how many there are
 */
int train_buckets_plan(const size_t *bytes, int count, size_t first_cap, size_t cap,
		       struct train_bucket *buckets);

#endif
