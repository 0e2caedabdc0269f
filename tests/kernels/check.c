/* SPDX-License-Identifier: MIT */
/*
 * All kernels of all families that this CPU runs, against the reference, without a test framework:
 * tests/check-neon builds and runs it for another CPU. Prints a line per family with a hash of all
 * results, which must be equal everywhere.
 */
#include <stdio.h>

#include "jobs.h"

int main(void)
{
	const struct ring_cpu_family *family;
	for (int i = 0; (family = ring_cpu_family(i)) != NULL; i++) {
		jobs_seed(1);
		const struct reducer reducer = reducer_of(family);
		const char *wrong = jobs_check_all(&reducer);
		if (wrong) {
			fprintf(stderr, "%s\n", wrong);
			return 1;
		}
		printf("%s %016llx\n", family->name, (unsigned long long)jobs_hash());
	}
	return 0;
}
