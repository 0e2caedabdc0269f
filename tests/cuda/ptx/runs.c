/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/harness.h"
#include "weaken.h"

#define WEAKENED_RUNS 40

/* returns how many runs of these went wrong; -1: the text is not understood */
static int run_often(const struct runs *runs, const char *text, const char *name, int count)
{
	const struct ptx_function *function;
	struct ptx_error error = {""};
	struct ptx_module *module = ptx_module_open(text, runs->bytes);
	uint64_t seed = runs->seed;
	int wrong = -1;
	if (module && ptx_module_function(module, name, &function, &error) == 0) {
		wrong = 0;
		for (int k = 0; k < count; k++)
			wrong += runs->run(function, harness_random(&seed));
	} else {
		printf("# %s: %s\n", name, error.text);
	}
	ptx_module_close(module);
	return wrong;
}

bool runs_read(struct runs *runs, const char *name)
{
	runs->text = ptx_library_bytes ? harness_read(name, &runs->bytes) : NULL;
	if (!runs->text)
		printf("there is no %s: configure found no nvcc, or it is run elsewhere\n", name);
	return runs->text;
}

bool runs_are_right(const struct runs *runs, const char *function, int count)
{
	const int wrong = run_often(runs, runs->text, function, count);
	printf("%s: %d of %d runs are wrong\n", function, wrong, count);
	return wrong == 0;
}

bool runs_are_wrong(const struct runs *runs, const char *function, const char *what, size_t first,
		    size_t count)
{
	char *weak = count ? ptx_weaken(runs->text, runs->bytes, function, what, first, count)
			   : NULL;
	const int wrong = weak ? run_often(runs, weak, function, WEAKENED_RUNS) : -1;
	free(weak);
	printf("%s without %zu of \"%s\" from number %zu on: %d of %d runs are wrong\n", function,
	       count, what, first, wrong, WEAKENED_RUNS);
	return wrong == WEAKENED_RUNS;
}
