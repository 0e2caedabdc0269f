/* SPDX-License-Identifier: MIT */
/*
 * All kernels of all families that this CPU runs, against the reference, without a test framework:
 * tests/check-neon builds and runs it for another CPU. Prints a line per family with a hash of all
 * results, which must be equal everywhere.
 */
#include <stdio.h>

#include "jobs.h"
#include "reference.h"

static const char *check_family(const struct ring_cpu_family *family)
{
	const char *wrong = NULL;
	for (int type = 0; !wrong && type < REFERENCE_TYPES; type++) {
		for (int op = 0; !wrong && op < REFERENCE_OPS; op++) {
			wrong = jobs_check_shapes(family, (enum ring_datatype)type,
						  (enum ring_op)op);
			if (!wrong)
				wrong = jobs_check_values(family, (enum ring_datatype)type,
							  (enum ring_op)op);
		}
	}
	return wrong;
}

int main(void)
{
	const struct ring_cpu_family *family;
	for (int i = 0; (family = ring_cpu_family(i)) != NULL; i++) {
		jobs_seed(1);
		const char *wrong = check_family(family);
		if (wrong) {
			fprintf(stderr, "%s\n", wrong);
			return 1;
		}
		printf("%s %016llx\n", family->name, (unsigned long long)jobs_hash());
	}
	return 0;
}
