/* SPDX-License-Identifier: MIT */
#include "said.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the log, which is shown if there are not as many as wanted. */
static int count_lines(const char *log, const char *words, int wanted)
{
	char line[1024];
	int found = 0;
	FILE *said = fopen(log, "re");
	while (said && fgets(line, sizeof(line), said))
		found += strstr(line, words) != NULL;
	if (said && found != wanted)
		for (rewind(said); fgets(line, sizeof(line), said);)
			printf("# %s", line);
	if (said)
		fclose(said);
	return found;
}

int said_run(struct harness *team, const char *words, int wanted)
{
	char log[] = "/tmp/ring-said-XXXXXX";
	int file = mkstemp(log);
	if (file < 0)
		return 1;
	close(file);
	setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* nothing else is to be warned of */
	setenv("RING_LOG", "warn", 1);
	setenv("RING_LOG_FILE", log, 1);
	int bad = harness_run(team);
	int found = count_lines(log, words, wanted);
	if (found != wanted)
		printf("# %d say \"%s\", not %d\n", found, words, wanted);
	unsetenv("RING_LOG_FILE");
	unsetenv("RING_LOG");
	unsetenv("CUDA_MODULE_LOADING");
	unlink(log);
	return bad || found != wanted;
}
