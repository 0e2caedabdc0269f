/* SPDX-License-Identifier: MIT */
/* Looking into /proc; see holdings.h. */
#include "holdings.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

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
