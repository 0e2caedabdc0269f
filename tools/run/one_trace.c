/* SPDX-License-Identifier: MIT */
#include "one_trace.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/trace_text.h"
#include "tools/whole_file.h"

/* Whether the path is a file or free; ranks themselves write to a device. */
static bool is_file(const char *path)
{
	struct stat about;
	return stat(path, &about) < 0 || S_ISREG(about.st_mode);
}

bool one_trace_begin(struct one_trace *trace, const char *program)
{
	const char *path = getenv("RING_TRACE");
	char own[sizeof(trace->folder) + 4];
	*trace = (struct one_trace){NULL, ""};
	if (!path || !*path || strstr(path, "%r") || !is_file(path))
		return true;
	if (!whole_file_check(program, path))
		return false;
	trace->path = strdup(path);
	if (!trace->path || !temporary_name(trace->folder, "ring_trace") || !mkdtemp(trace->folder)) {
		fprintf(stderr, "%s: cannot make a folder for traces: %s: %m\n", program,
			trace->folder);
		return false;
	}
	snprintf(own, sizeof(own), "%s/%%r", trace->folder);
	return setenv("RING_TRACE", own, 1) == 0;
}

/* ---- what is there ------------------------------------------------------------------------ */

/*
 * The traces of all ranks for their communicator number `number`: rank 3 writes "3", then "3-2",
 * "3-3".
 */
struct collection {
	const char *folder;
	int number, ranks; /* one more than the highest rank */
};

static FILE *open_own(const struct collection *all, int rank)
{
	char path[PATH_MAX], suffix[16] = "";
	if (all->number > 1)
		snprintf(suffix, sizeof(suffix), "-%d", all->number);
	snprintf(path, sizeof(path), "%s/%d%s", all->folder, rank, suffix);
	return fopen(path, "re");
}

static void write_all(void *context, FILE *out)
{
	const struct collection *all = context;
	uint64_t dropped = 0;
	for (int rank = 0; rank < all->ranks; rank++) {
		FILE *in = open_own(all, rank);
		dropped += in ? trace_text_read_head(in) : 0;
		if (in)
			fclose(in);
	}
	trace_text_write_head(out, dropped);
	const char *between = "";
	for (int rank = 0; rank < all->ranks; rank++) {
		FILE *in = open_own(all, rank);
		if (!in) /* the rank was killed, or is in another communicator */
			continue;
		fputs(between, out);
		trace_text_read_head(in);
		trace_text_copy(in, out, 0);
		fclose(in);
		between = ",\n";
	}
	trace_text_write_tail(out);
}

/* "a/b.json" becomes "a/b-2.json", as in the library. */
static void name_further(char *path, size_t room, const char *first, int number)
{
	const char *name = strrchr(first, '/');
	name = name ? name + 1 : first;
	const char *suffix = strrchr(name, '.');
	if (!suffix || suffix == name)
		suffix = name + strlen(name);
	snprintf(path, room, "%.*s-%d%s", (int)(suffix - first), first, number, suffix);
}

/* Finds the highest numbers of communicators and ranks in the folder. */
static int look(struct collection *all)
{
	struct dirent *entry;
	DIR *folder = opendir(all->folder);
	int most = 0;
	while (folder && (entry = readdir(folder))) {
		int rank, number = 1;
		if (sscanf(entry->d_name, "%d-%d", &rank, &number) < 1)
			continue;
		all->ranks = rank >= all->ranks ? rank + 1 : all->ranks;
		most = number > most ? number : most;
	}
	if (folder)
		closedir(folder);
	return most;
}

static bool has_some(const struct collection *all)
{
	for (int rank = 0; rank < all->ranks; rank++) {
		FILE *in = open_own(all, rank);
		if (in)
			return fclose(in) == 0;
	}
	return false;
}

static void clear(const char *folder)
{
	struct dirent *entry;
	DIR *open = opendir(folder);
	while (open && (entry = readdir(open)))
		unlinkat(dirfd(open), entry->d_name, 0);
	if (open)
		closedir(open);
	rmdir(folder);
}

bool one_trace_end(struct one_trace *trace, const char *program)
{
	struct collection all = {.folder = trace->folder};
	char path[PATH_MAX];
	bool written = true;
	if (!trace->path)
		return true;
	int most = look(&all);
	for (all.number = 1; all.number <= most; all.number++) {
		if (!has_some(&all))
			continue;
		snprintf(path, sizeof(path), "%s", trace->path);
		if (all.number > 1)
			name_further(path, sizeof(path), trace->path, all.number);
		written = whole_file_write(program, path, write_all, &all) && written;
	}
	clear(trace->folder);
	free((char *)trace->path);
	return written;
}
