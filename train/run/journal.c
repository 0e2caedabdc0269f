/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/whole_file.h"
#include "train/step/faults.h"
#include "loop.h"
#include "outcome.h"
#include "train/report/record.h"

#define EVERY_S 1.0
#define LOCK_S 0.5 /* how long rank 0 may take to die, or to write its own end */

static bool goes_on(const struct train_options *options)
{
	return options->resume || options->resume_if_any;
}

static int without_memory(void)
{
	fputs("ring_train: out of memory for records\n", stderr);
	return STATUS_SYSTEM;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Appends lines as a whole, or not at all. */
static bool append(int fd, const char *text, size_t bytes)
{
	struct stat about;
	if (fstat(fd, &about) != 0)
		return false;
	for (size_t done = 0; done < bytes;) {
		ssize_t count = write(fd, text + done, bytes - done);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0) {
			int saved = errno;
			if (done > 0 && ftruncate(fd, about.st_size) != 0)
				saved = errno;
			errno = saved;
			return false;
		}
		done += (size_t)count;
	}
	return true;
}

/* Appends lines. Says once that the disk is full; the whole record may have room later. */
static void put(struct train_run *run, int fd, void (*write)(void *context, FILE *out),
		void *context)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return;
	write(context, out);
	bool ok = fclose(out) == 0 && append(fd, text, bytes);
	free(text);
	if (ok || run->journal.full)
		return;
	fprintf(stderr, "ring_train: cannot write %s: %s\n", run->journal.file.path,
		strerror(errno));
	run->journal.full = true;
}

/* Reads the records of earlier runs. returns false, with a sentence, if that fails */
static bool read_earlier(struct train_journal *journal, const char *path)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;
	ssize_t bytes = file ? getdelim(&journal->earlier, &room, EOF, file) : -1;
	bool failed = file ? ferror(file) : errno != ENOENT;
	if (failed)
		fprintf(stderr, "ring_train: cannot read %s: %s\n", path, strerror(errno));
	if (file)
		fclose(file);
	journal->earlier_bytes = bytes > 0 ? (size_t)bytes : 0;
	return !failed;
}

/* Opens a file that nobody else can have put there, and locks it. */
static int open_own(const char *path, int flags, struct stat *about)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC | flags, 0666);
	if (fd < 0)
		return -1;
	if (fstat(fd, about) == 0 && S_ISREG(about->st_mode) && about->st_nlink == 1 &&
	    about->st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return -1;
}

static void write_facts(void *context, FILE *out)
{
	struct train_facts facts;
	train_outcome_facts(context, &facts);
	train_record_put_run(out, &facts);
}

/*
 * Chooses the file, and begins it with the run's facts. A file that cannot grow is written at the
 * end.
 */
static void begin(struct train_run *run, const char *path)
{
	struct train_journal *journal = &run->journal;
	struct train_growing *file = &journal->file;
	struct stat about;
	bool exists = stat(path, &about) == 0 && about.st_size > 0;
	char name[PATH_MAX];
	journal->file.apart = exists && !goes_on(run->options);
	int length = snprintf(name, sizeof(name), "%s%s", path, journal->file.apart ? ".part" : "");
	if ((size_t)length >= sizeof(name) || whole_file_is_shared(path))
		return;
	journal->fd = open_own(name, journal->file.apart ? O_NOFOLLOW : 0, &about);
	if (journal->fd < 0 || !realpath(name, file->path)) {
		file->path[0] = '\0';
		return;
	}
	file->device = about.st_dev;
	file->inode = about.st_ino;
	file->began = about.st_size;
	put(run, journal->fd, write_facts, run);
}

int train_journal_open(struct train_run *run)
{
	struct train_journal *journal = &run->journal;
	const struct train_options *options = run->options;
	size_t ranks = (size_t)run->team->size;
	journal->all = calloc(ranks, sizeof(*journal->all));
	journal->listed = calloc(ranks, sizeof(*journal->listed));
	if (!journal->all || !journal->listed)
		return without_memory();
	bool ok = true;
	if (run->team->rank == 0 && options->json) {
		ok = !goes_on(options) || whole_file_is_shared(options->json) ||
		     read_earlier(journal, options->json);
		if (ok)
			begin(run, options->json);
	}
	int err = train_team_broadcast(run->team, &journal->file, sizeof(journal->file));
	return ok ? train_exit_of(err) : STATUS_SYSTEM;
}

void train_journal_close(struct train_journal *journal, int ranks)
{
	for (int rank = 0; journal->all && rank < ranks; rank++)
		free(journal->all[rank].steps);
	free(journal->all);
	free(journal->listed);
	free(journal->earlier);
	if (journal->fd >= 0)
		close(journal->fd);
}

void train_journal_forget(struct train_journal *journal)
{
	if (journal->fd < 0 || !journal->file.apart)
		return;
	if (journal->file.began > 0 && ftruncate(journal->fd, journal->file.began) == 0)
		return;
	if (journal->file.began == 0)
		unlink(journal->file.path);
}

/* ---- steps -------------------------------------------------------------------------------- */

bool train_journal_is_due(const struct train_run *run)
{
	bool wanted = run->team->rank == 0 && (run->options->json || run->options->plot);
	return wanted && train_now() >= run->journal.at + EVERY_S;
}

static int take(struct train_steps *all, const struct train_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (train_steps_keep(all, &steps[i]) != 0)
			return -1;
	return 0;
}

static int take_together(struct train_run *run, const struct train_step *own, size_t count)
{
	struct train_journal *journal = &run->journal;
	void *gathered;
	size_t *counts;
	int err = train_team_gather(run->team, own, count, sizeof(*own), &gathered, &counts);
	const struct train_step *steps = gathered;
	int status = train_exit_of(err);
	for (int rank = 0; counts && rank < run->team->size; rank++) {
		if (take(&journal->all[rank], steps, counts[rank]) != 0)
			status = STATUS_SYSTEM;
		steps += counts[rank];
	}
	free(gathered);
	free(counts);
	return status;
}

/* Writes the steps that are not in the file yet, the ranks in turn. */
static void write_new(void *context, FILE *out)
{
	const struct train_run *run = context;
	const struct train_journal *journal = &run->journal;
	bool more = true;
	while (more) {
		more = false;
		for (int rank = 0; rank < run->team->size; rank++) {
			size_t *listed = &journal->listed[rank];
			if (*listed == journal->all[rank].count)
				continue;
			train_record_put_step(out, rank, &journal->all[rank].steps[(*listed)++]);
			more = true;
		}
	}
}

int train_journal_take(struct train_run *run, bool together)
{
	struct train_journal *journal = &run->journal;
	const struct train_step *own = run->done.steps + journal->taken;
	size_t count = run->done.count - journal->taken;
	int status = STATUS_OK;
	if (together)
		status = take_together(run, own, count);
	else if (run->team->rank == 0 && take(&journal->all[0], own, count) != 0)
		status = STATUS_SYSTEM;
	if (together || run->team->rank == 0)
		journal->taken = run->done.count;
	journal->at = train_now();
	if (journal->fd >= 0)
		put(run, journal->fd, write_new, run);
	return status;
}

struct train_step *train_journal_steps(const struct train_run *run, size_t *each)
{
	const struct train_journal *journal = &run->journal;
	size_t ranks = (size_t)run->team->size;
	*each = SIZE_MAX;
	for (size_t rank = 0; rank < ranks; rank++)
		if (journal->all[rank].count < *each)
			*each = journal->all[rank].count;
	struct train_step *steps = malloc((*each * ranks + 1) * sizeof(*steps));
	if (!steps)
		without_memory();
	for (size_t rank = 0; steps && *each > 0 && rank < ranks; rank++)
		memcpy(&steps[rank * *each], journal->all[rank].steps, *each * sizeof(*steps));
	return steps;
}

/* ---- the end of a run that failed --------------------------------------------------------- */

/*
 * Takes this rank's last steps. How long they waited for others, and communicated, nobody can tell
 * now.
 */
static void take_last(struct train_run *run)
{
	struct train_steps *own = &run->journal.all[run->team->rank];
	const struct train_steps *pending = &run->waits.pending;
	run->journal.listed[run->team->rank] = own->count;
	take(own, run->done.steps + run->journal.taken, run->done.count - run->journal.taken);
	for (size_t i = 0; i < pending->count; i++) {
		struct train_step step = pending->steps[i];
		step.waiting = step.exposed = step.extra = step.busy = step.hidden = NAN;
		if (!step.control)
			train_steps_keep(own, &step);
	}
}

/* Whether a rank has already said there how this run ended. */
static bool has_end(const struct train_growing *file)
{
	FILE *in = fopen(file->path, "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;
	if (in && fseeko(in, (off_t)file->began, SEEK_SET) == 0)
		while (!found && getline(&line, &room, in) > 0)
			found = train_record_is_end(line);
	free(line);
	if (in)
		fclose(in);
	return found;
}

/* Locks rank 0's file, once that is done with it or dead. returns -1 if it is another file */
static int take_over(const struct train_growing *file)
{
	struct stat about;
	int fd = open(file->path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	double until = train_now() + LOCK_S;
	bool same = fstat(fd, &about) == 0 && about.st_dev == file->device &&
		    about.st_ino == file->inode;
	while (same && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		train_sleep(0.005);
		same = train_now() < until;
	}
	if (same)
		return fd;
	close(fd);
	return -1;
}

struct ending {
	struct train_run *run;
	int status;
	bool first; /* no rank has said it yet */
};

static const char *why_of(const struct ending *ending)
{
	const struct train_team *team = ending->run->team;
	if (ending->status == STATUS_FOUND)
		return "the ranks' parameters differ";
	if (ending->status == STATUS_SYSTEM)
		return "a file or memory was not available";
	const char *why = ring_comm_error(team->aside);
	return *why ? why : ring_comm_error(team->comm);
}

static void write_ending(void *context, FILE *out)
{
	const struct ending *ending = context;
	struct train_end end = {ending->status, ending->run->state.step, why_of(ending)};
	write_new(ending->run, out);
	if (ending->first)
		train_record_put_end(out, &end);
}

/* What rank 0 knows, in a file that cannot grow. */
static void write_all(void *context, FILE *out)
{
	const struct ending *ending = context;
	write_facts(ending->run, out);
	write_ending(context, out);
}

bool train_journal_end(struct train_run *run, int status)
{
	const struct train_team *team = run->team;
	const struct train_growing *file = &run->journal.file;
	struct ending ending = {run, status, .first = true};
	take_last(run);
	int fd = run->journal.fd;
	if (team->rank != 0 && team->host == 0 && file->path[0])
		fd = take_over(file);
	if (fd < 0) {
		const char *path = team->rank == 0 ? run->options->json : NULL;
		if (path && whole_file_is_shared(path))
			whole_file_write("ring_train", path, write_all, &ending);
		return team->rank == 0;
	}
	ending.first = team->rank == 0 || !has_end(file);
	put(run, fd, write_ending, &ending);
	if (ending.first && file->apart)
		fprintf(stderr, "ring_train: the record of this run is %s, beside that of another\n",
			file->path);
	if (team->rank != 0)
		close(fd);
	return ending.first;
}
