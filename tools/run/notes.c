/* SPDX-License-Identifier: MIT */
#include "notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/note.h"
#include "base/text/text.h"

#define LINES_MOST 64

int notes_open(int ranks)
{
	char path[64];
	int places = memfd_create("ring_run", MFD_CLOEXEC);
	unsetenv(RING_NOTES); /* of a launcher that started us as a rank */
	if (places < 0 || ftruncate(places, ranks * (off_t)sizeof(struct ring_note)) < 0)
		return places;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), places);
	setenv(RING_NOTES, path, 1);
	return places;
}

void notes_close(int places)
{
	if (places >= 0)
		close(places);
}

static struct ring_note read_record(int places, int rank)
{
	struct ring_note record = {0};
	off_t at = rank * (off_t)sizeof(record);
	if (pread(places, &record, sizeof(record), at) != sizeof(record))
		return (struct ring_note){0};
	record.text[sizeof(record.text) - 1] = '\0';
	ring_text_clean(record.text); /* ranks write what they like */
	return record;
}

static void tell(const char *program, int rank, pid_t pid, const struct ring_note *record,
		 struct outlet *to)
{
	char line[sizeof(record->text) + 64];
	if (record->waits == RING_WAITS)
		snprintf(line, sizeof(line), "%s: %s\n", program, record->text);
	else
		snprintf(line, sizeof(line), "%s: rank %d (pid %d) %s\n", program, rank, (int)pid,
			 record->waits ? "waits in no call" : "has made no communicator");
	outlet_put(to, line, strlen(line));
}

void notes_tell(int places, const char *program, const pid_t *pids, int ranks, struct outlet *to)
{
	int lines = 0, waiting = 0;
	for (int rank = 0; rank < ranks; rank++)
		waiting += pids[rank] > 0 && read_record(places, rank).waits == RING_WAITS;
	for (int waits = 0; waits <= 1 && waiting > 0; waits++)
		for (int rank = 0; rank < ranks; rank++) {
			struct ring_note record = read_record(places, rank);
			if (pids[rank] > 0 && (record.waits == RING_WAITS) == waits &&
			    ++lines <= LINES_MOST)
				tell(program, rank, pids[rank], &record, to);
		}
}
