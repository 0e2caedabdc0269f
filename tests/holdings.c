/* SPDX-License-Identifier: MIT */
/* Looking into /proc; see holdings.h. */
#include "holdings.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int holdings_names(const char *folder)
{
	int count = 0;
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (dir)
		closedir(dir);
	return count;
}

int holdings_fds(void)
{
	return holdings_names("/proc/self/fd") - 1; /* the one that looks */
}

int holdings_threads(void)
{
	return holdings_names("/proc/self/task");
}

int holdings_shared_maps(void)
{
	char line[512];
	int count = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/memfd:") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

/* False if it has ended, too. */
static bool is_asleep(int thread)
{
	char path[64], state = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	FILE *file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

/* Who sleeps in steps is seen awake now and then, but not twice in a row. */
void holdings_await_sleep(int thread)
{
	for (int asleep = 0, awake = 0; asleep < 50; usleep(1000)) {
		bool sleeps = is_asleep(thread);
		awake = sleeps ? 0 : awake + 1;
		asleep = awake > 1 ? 0 : asleep + sleeps;
	}
}
