/* SPDX-License-Identifier: MIT */
/* The bucket plan, a pure function. */
#include "buckets.h"

int train_buckets_plan(const size_t *bytes, int count, size_t first_cap, size_t cap,
		       struct train_bucket *buckets)
{
	int made = 0;
	size_t offset = 0;
	for (int tensor = 0; tensor < count; made++) {
		struct train_bucket bucket = {.first_tensor = tensor, .offset = offset};
		do
			bucket.bytes += bytes[tensor++];
		while (tensor < count && bucket.bytes < (made == 0 ? first_cap : cap));
		bucket.tensors = tensor - bucket.first_tensor;
		offset += bucket.bytes;
		buckets[made] = bucket;
	}
	return made;
}
