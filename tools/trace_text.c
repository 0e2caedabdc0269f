/* SPDX-License-Identifier: MIT */
#include "trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":"

uint64_t trace_text_read_head(FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	uint64_t dropped = 0;
	if (getline(&line, &room, in) > 0)
		sscanf(line, HEAD "%" SCNu64, &dropped);
	free(line);
	return dropped;
}

static void copy_event(FILE *out, const char *line, int64_t behind_ns)
{
	const char *time = strstr(line, "\"ts\":");
	uint64_t us;
	unsigned ns;
	int length = 0;
	if (!time || sscanf(time, "\"ts\":%" SCNu64 ".%3u%n", &us, &ns, &length) != 2) {
		fputs(line, out);
		return;
	}
	int64_t moved = (int64_t)(us * 1000 + ns) + behind_ns;
	fprintf(out, "%.*s\"ts\":%" PRId64 ".%03" PRId64 "%s", (int)(time - line), line,
		moved / 1000, moved % 1000, time + length);
}

void trace_text_copy(FILE *in, FILE *out, int64_t behind_ns)
{
	char *line = NULL;
	size_t room = 0, lines = 0;
	ssize_t length;
	while ((length = getline(&line, &room, in)) > 0 && *line != ']') {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		fputs(lines++ > 0 ? "\n" : "", out);
		copy_event(out, line, behind_ns);
	}
	free(line);
}

void trace_text_write_head(FILE *out, uint64_t dropped)
{
	fprintf(out, HEAD "%" PRIu64 "},\"traceEvents\":[\n", dropped);
}

void trace_text_write_tail(FILE *out)
{
	fputs("\n]}\n", out);
}
