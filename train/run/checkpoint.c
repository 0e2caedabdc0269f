/* SPDX-License-Identifier: MIT */
/*
 * The file: head | parameters | the optimizer's moments | hash (BLAKE2b). It has the machine's byte
 * order, which the head reveals.
 */
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/model/device.h"
#include "train/step/clock.h"
#include "train/step/faults.h"

#define FORMAT 1
#define BYTE_ORDER_MARK 0x01020304
#define HASH_BYTES crypto_generichash_BYTES
#define NUMBERS 13

static const char magic[8] = "ringckpt";

struct head {
	char magic[8];
	uint32_t byte_order, format;
	uint32_t real_bytes, optimizer;
	int32_t shape[NUMBERS + 1]; /* the last one is padding */
	uint64_t parameter_count, moment_count;
	struct train_state state;
};

/* The shape as numbers, to write it and to compare two of them. */
static const char *const number_names[NUMBERS] = {
	"kind",    "activation", "layers",      "width",     "inputs", "outputs",          "heads",
	"context", "vocabulary", "split heads", "tied head", "biases", "dropout (1/1000)",
};

static void list_numbers(const struct train_shape *shape, int32_t numbers[NUMBERS])
{
	const int32_t list[NUMBERS] = {
		(int32_t)shape->kind,
		(int32_t)shape->activation,
		shape->layers,
		shape->width,
		shape->inputs,
		shape->outputs,
		shape->heads,
		shape->context,
		shape->vocabulary,
		shape->split_heads,
		shape->tied,
		shape->biases,
		(int32_t)(shape->dropout * 1000 + 0.5),
	};
	memcpy(numbers, list, sizeof(list));
}

static struct head make_head(const struct train_state *state, const struct train_model *model,
			     const struct train_optimizer *optimizer)
{
	struct head head = {
		.byte_order = BYTE_ORDER_MARK,
		.format = FORMAT,
		.real_bytes = sizeof(train_real),
		.optimizer = optimizer->options.kind,
		.parameter_count = model->parameter_count,
		.moment_count = optimizer->count,
		.state = *state,
	};
	memcpy(head.magic, magic, sizeof(magic));
	list_numbers(&model->shape, head.shape);
	return head;
}

static int complain(const char *doing, const char *path)
{
	fprintf(stderr, "ring_train: cannot %s %s: %s\n", doing, path, strerror(errno));
	return -1;
}

/* ---- writing ------------------------------------------------------------------------------ */

struct output {
	FILE *file;
	crypto_generichash_state hash;
};

static void put(struct output *out, const void *data, size_t bytes)
{
	crypto_generichash_update(&out->hash, data, bytes);
	fwrite(data, 1, bytes, out->file); /* the file remembers errors */
}

/* The same of what a device has, piece by piece. */
static void put_from(struct output *out, const struct train_device *device, const void *from,
		     size_t bytes)
{
	unsigned char piece[1 << 16];
	for (size_t at = 0, most; at < bytes; at += most) {
		most = bytes - at < sizeof(piece) ? bytes - at : sizeof(piece);
		device->read(piece, (const unsigned char *)from + at, most);
		put(out, piece, most);
	}
}

/* Writes everything, and waits for the disk. returns 0; -1 with errno */
static int write_content(FILE *file, const struct head *head, const struct train_model *model,
			 const struct train_optimizer *optimizer)
{
	struct output out = {.file = file};
	unsigned char hash[HASH_BYTES];
	crypto_generichash_init(&out.hash, NULL, 0, HASH_BYTES);
	put(&out, head, sizeof(*head));
	put_from(&out, model->device, model->parameters,
		 model->parameter_count * sizeof(*model->parameters));
	if (optimizer->count > 0)
		put_from(&out, optimizer->device, optimizer->moments,
			 optimizer->count * sizeof(*optimizer->moments));
	crypto_generichash_final(&out.hash, hash, HASH_BYTES);
	fwrite(hash, 1, HASH_BYTES, file);
	return fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0 ? -1 : 0;
}

/* Renamed files keep their new names after a crash only once their folder is also on disk. */
static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int err = fsync(fd);
	close(fd);
	return err;
}

struct paths {
	char *latest, *previous, *temporary;
};

static int make_paths(struct paths *paths, const char *folder)
{
	*paths = (struct paths){0};
	if (asprintf(&paths->latest, "%s/latest.checkpoint", folder) >= 0 &&
	    asprintf(&paths->previous, "%s/previous.checkpoint", folder) >= 0 &&
	    asprintf(&paths->temporary, "%s/latest.checkpoint.tmp", folder) >= 0)
		return 0;
	fputs("ring_train: out of memory\n", stderr);
	return -1;
}

static void free_paths(struct paths *paths)
{
	free(paths->latest);
	free(paths->previous);
	free(paths->temporary);
}

/* Whether a file ends with the hash of everything before it, for any model. */
static bool reads_right(const char *path)
{
	enum { PIECE = 1 << 16 };
	unsigned char piece[PIECE], hash[HASH_BYTES], written[HASH_BYTES];
	crypto_generichash_state state;
	struct stat about;
	FILE *file = fopen(path, "re");
	bool right = file && fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) &&
		     (size_t)about.st_size > sizeof(struct head) + HASH_BYTES;
	size_t left = right ? (size_t)about.st_size - HASH_BYTES : 0;
	crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
	while (right && left > 0) {
		size_t bytes = left < PIECE ? left : PIECE;
		right = fread(piece, 1, bytes, file) == bytes;
		crypto_generichash_update(&state, piece, bytes);
		left -= bytes;
	}
	crypto_generichash_final(&state, hash, HASH_BYTES);
	right = right && fread(written, 1, HASH_BYTES, file) == HASH_BYTES &&
		memcmp(hash, written, HASH_BYTES) == 0;
	if (file)
		fclose(file);
	return right;
}

/* Swaps the names of the new file and the old one, so that there is a latest at any time. */
static int exchange(const struct paths *paths)
{
	if (renameat2(AT_FDCWD, paths->temporary, AT_FDCWD, paths->latest, RENAME_EXCHANGE) == 0)
		return rename(paths->temporary, paths->previous);
	/*
	 * Not every file system can swap. If this stops halfway, there is still the previous one.
	 */
	int err = rename(paths->latest, paths->previous);
	return err ? err : rename(paths->temporary, paths->latest);
}

/* Drops a damaged latest, and keeps the previous one, from which training may go on. */
static int publish(const struct paths *paths, const char *folder)
{
	int err = reads_right(paths->latest) ? exchange(paths)
					     : rename(paths->temporary, paths->latest);
	if (err)
		return complain("rename to", paths->latest);
	return sync_folder(folder) != 0 ? complain("sync", folder) : 0;
}

/* Removes a file of that name first, so that it never writes to one that another user planted. */
static FILE *create(const char *path)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* The temporary file, in a folder that is made if need be. returns NULL after a complaint */
static FILE *begin(struct paths *paths, const char *folder)
{
	FILE *file = NULL;
	if (make_paths(paths, folder) != 0)
		return NULL;
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		complain("make", folder);
	else if (!(file = create(paths->temporary)))
		complain("create", paths->temporary);
	return file;
}

int train_checkpoint_prepare(const char *folder)
{
	struct paths paths;
	FILE *file = begin(&paths, folder);
	if (file) {
		fclose(file);
		unlink(paths.temporary);
	}
	free_paths(&paths);
	return file ? 0 : -1;
}

int train_checkpoint_lock(const char *folder, double seconds)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	double until = train_now() + seconds;
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		int saved = errno;
		if (saved == EWOULDBLOCK && train_now() < until) {
			train_sleep(0.005);
			continue;
		}
		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

void train_checkpoint_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

int train_checkpoint_save(const char *folder, const struct train_state *state,
			  const struct train_model *model, const struct train_optimizer *optimizer)
{
	const struct head head = make_head(state, model, optimizer);
	struct paths paths;
	int err = -1;
	FILE *file = begin(&paths, folder);
	if (file) {
		err = write_content(file, &head, model, optimizer);
		if (err)
			complain("write", paths.temporary);
		fclose(file);
		if (!err)
			err = publish(&paths, folder);
		if (err)
			unlink(paths.temporary);
	}
	free_paths(&paths);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int refuse(const char *path, const char *why)
{
	fprintf(stderr, "ring_train: checkpoint %s %s\n", path, why);
	return -1;
}

/* Reads the whole file, and sets its size. returns NULL after a complaint; the caller frees */
static unsigned char *read_whole(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "re");
	struct stat about;
	unsigned char *content = NULL;
	if (!file || fstat(fileno(file), &about) != 0) {
		complain("read", path);
	} else if (!(content = malloc((size_t)about.st_size + 1))) {
		refuse(path, "does not fit into memory");
	} else {
		*bytes = fread(content, 1, (size_t)about.st_size, file);
		if (ferror(file)) {
			complain("read", path);
			free(content);
			content = NULL;
		}
	}
	if (file)
		fclose(file);
	return content;
}

static int check_head(const char *path, const struct head *head, const struct head *wanted)
{
	char why[160];
	if (memcmp(head->magic, magic, sizeof(magic)) != 0)
		return refuse(path, "is not a checkpoint");
	if (head->byte_order != BYTE_ORDER_MARK || head->format != FORMAT)
		return refuse(path, "is of another version or machine");
	for (int i = 0; i < NUMBERS; i++) {
		if (head->shape[i] == wanted->shape[i])
			continue;
		snprintf(why, sizeof(why), "is of another model: its %s is %d, this one's is %d",
			 number_names[i], (int)head->shape[i], (int)wanted->shape[i]);
		return refuse(path, why);
	}
	if (head->parameter_count != wanted->parameter_count)
		return refuse(path, "has another number of parameters");
	/* Moments are as many as parameters, so these come first. */
	if (head->real_bytes != wanted->real_bytes || head->optimizer != wanted->optimizer ||
	    head->moment_count != wanted->moment_count)
		return refuse(path, "is of another optimizer");
	return 0;
}

/*
 * Whether the content is what was written. The size is checked first, to tell truncation from
 * change.
 */
static int check_content(const char *path, const unsigned char *content, size_t bytes,
			 const struct head *wanted, size_t payload_bytes)
{
	unsigned char hash[HASH_BYTES];
	size_t hashed = sizeof(*wanted) + payload_bytes;
	if (bytes < sizeof(*wanted))
		return refuse(path, "is truncated");
	struct head head;
	memcpy(&head, content, sizeof(head));
	if (check_head(path, &head, wanted) != 0)
		return -1;
	if (bytes != hashed + HASH_BYTES)
		return refuse(path, bytes < hashed + HASH_BYTES ? "is truncated" : "is too long");
	crypto_generichash(hash, HASH_BYTES, content, hashed, NULL, 0);
	if (memcmp(hash, content + hashed, HASH_BYTES) != 0)
		return refuse(path, "is corrupt: its hash is wrong");
	return 0;
}

static int load_file(const char *path, struct train_state *state, struct train_model *model,
		     struct train_optimizer *optimizer)
{
	const size_t parameters = model->parameter_count * sizeof(*model->parameters);
	const size_t moments = optimizer->count * sizeof(*optimizer->moments);
	const struct train_state nothing = {0};
	const struct head wanted = make_head(&nothing, model, optimizer);
	size_t bytes;
	unsigned char *content = read_whole(path, &bytes);
	if (!content)
		return -1;
	int err = check_content(path, content, bytes, &wanted, parameters + moments);
	if (!err) {
		const unsigned char *at = content + sizeof(wanted);
		struct head head;
		memcpy(&head, content, sizeof(head));
		*state = head.state;
		model->device->write(model->parameters, at, parameters);
		if (moments > 0)
			optimizer->device->write(optimizer->moments, at + parameters, moments);
	}
	free(content);
	return err;
}

/* As train_checkpoint_find, of one file. */
static bool find(const char *path, uint64_t *step)
{
	struct head head;
	FILE *file = fopen(path, "re");
	if (!file)
		return errno != ENOENT;
	if (*step == 0 && fread(&head, sizeof(head), 1, file) == 1 &&
	    memcmp(head.magic, magic, sizeof(magic)) == 0)
		*step = head.state.step;
	fclose(file);
	return true;
}

bool train_checkpoint_find(const char *folder, uint64_t *step)
{
	struct paths paths;
	*step = 0;
	bool found = make_paths(&paths, folder) == 0;
	if (found) {
		bool latest = find(paths.latest, step);
		found = find(paths.previous, step) || latest;
	}
	free_paths(&paths);
	return found;
}

int train_checkpoint_load(const char *folder, struct train_state *state, struct train_model *model,
			  struct train_optimizer *optimizer)
{
	struct paths paths;
	int err = make_paths(&paths, folder);
	if (!err && load_file(paths.latest, state, model, optimizer) != 0) {
		err = load_file(paths.previous, state, model, optimizer);
		if (!err)
			fprintf(stderr, "ring_train: went back to %s\n", paths.previous);
	}
	free_paths(&paths);
	return err;
}
