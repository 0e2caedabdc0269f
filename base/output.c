/* SPDX-License-Identifier: MIT */
/*
 * Where a path leads, whether what is there can be replaced, and the writing.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fd.h"

#define TEMPORARIES_MAX 100 /* names that are tried */

struct place {
	bool exists;
	struct stat about;   /* if it exists */
	int descriptor;      /* of this process that the path means; -1 */
	char path[PATH_MAX]; /* without links; empty: cannot be replaced */
	char temporary[PATH_MAX];
};

/* ---- where it leads ----------------------------------------------------------------------- */

static bool leads_to(const struct place *place, int fd)
{
	struct stat own;
	return fstat(fd, &own) == 0 && own.st_dev == place->about.st_dev &&
	       own.st_ino == place->about.st_ino && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* Whatever standard output or error is, by any name, and others by their numbers; -1 if none. */
static int own_descriptor(const struct place *place, const char *path)
{
	int number = -1, length = 0;
	if (!place->exists)
		return -1;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (leads_to(place, fd))
			return fd;
	bool named = sscanf(path, "/dev/fd/%d%n", &number, &length) == 1 ||
		     sscanf(path, "/proc/self/fd/%d%n", &number, &length) == 1;
	return named && !path[length] ? number : -1;
}

/* A new file, or one whose like has all that it has: one name and no access control list. */
static bool may_be_replaced(const struct place *place, const char *path)
{
	struct stat link;
	if (!place->exists)
		return lstat(path, &link) < 0; /* else a link to nothing */
	return place->descriptor < 0 && S_ISREG(place->about.st_mode) &&
	       place->about.st_nlink == 1 && getxattr(path, "system.posix_acl_access", NULL, 0) < 0;
}

static int find(struct place *place, const char *path)
{
	size_t length = strlen(path);
	*place = (struct place){.descriptor = -1};
	place->exists = stat(path, &place->about) == 0; /* and the kernel allows its links */
	if (!place->exists && errno != ENOENT)
		return -1;
	bool is_folder = place->exists && S_ISDIR(place->about.st_mode);
	if (is_folder || length == 0 || path[length - 1] == '/') {
		errno = is_folder ? EISDIR : ENOENT;
		return -1;
	}
	if (place->exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
		return -1;
	place->descriptor = own_descriptor(place, path);
	if (!may_be_replaced(place, path))
		return 0;
	if (!place->exists)
		strcpy(place->path, path); /* stat() found it short enough */
	else if (!realpath(path, place->path))
		return -1;
	return 0;
}

/* ---- replacing ---------------------------------------------------------------------------- */

static int make_alike(const struct place *place, int fd)
{
	const struct stat *old = &place->about;
	struct stat made;
	if (!place->exists)
		return 0;
	if (fstat(fd, &made) < 0)
		return -1;
	bool same = made.st_uid == old->st_uid && made.st_gid == old->st_gid;
	if (!same && fchown(fd, old->st_uid, old->st_gid) < 0)
		return -1;
	return fchmod(fd, old->st_mode & 07777);
}

static void remove_temporary(const struct place *place)
{
	int saved = errno;
	unlink(place->temporary);
	errno = saved;
}

/* Beside the file. returns a descriptor; -1 with errno, and nothing is there */
static int open_temporary(struct place *place)
{
	const char *slash = strrchr(place->path, '/');
	int fd = -1, folder = slash ? (int)(slash + 1 - place->path) : 0;
	for (int i = 0; i < TEMPORARIES_MAX && fd < 0; i++) {
		int length = snprintf(place->temporary, sizeof(place->temporary),
				      "%.*sring.%d.%d.tmp", folder, place->path, (int)getpid(), i);
		if (length >= (int)sizeof(place->temporary)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = ring_fd_lift(open(place->temporary,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	if (fd >= 0 && make_alike(place, fd) < 0) {
		remove_temporary(place);
		close(fd);
		return -1;
	}
	return fd;
}

/* Writes everything, down to the disk, and closes. returns 0; -1 with errno */
static int fill(int fd, ring_output_content *content, void *context)
{
	struct stat about;
	FILE *out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	errno = 0;
	content(context, out);
	bool failed = ferror(out) || fflush(out) != 0;
	if (!failed && fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
		failed = fsync(fd) < 0;
	int saved = errno ? errno : EIO;
	if (fclose(out) != 0 && !failed)
		return -1;
	if (failed)
		errno = saved;
	return failed ? -1 : 0;
}

/* Whether the folder or the owner forbids another file; else the disk may be full. */
static bool may_do_in_place(const struct place *place)
{
	static const int forbidden[] = {EACCES, EBUSY, EINVAL, ENAMETOOLONG, EPERM, EROFS, EXDEV};
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (errno == forbidden[i])
			return place->exists;
	return false;
}

/* returns 0; 1 if a file may yet be written in place; -1 with errno */
static int replace(struct place *place, ring_output_content *content, void *context)
{
	int fd = open_temporary(place);
	if (fd < 0)
		return may_do_in_place(place) ? 1 : -1;
	int err = fill(fd, content, context);
	if (!err && rename(place->temporary, place->path) < 0) /* may be a mount point, or sticky */
		err = may_do_in_place(place) ? 1 : -1;
	if (err)
		remove_temporary(place);
	return err;
}

/* ---- in place ----------------------------------------------------------------------------- */

static int overwrite(const char *path, ring_output_content *content, void *context)
{
	/*
	 * With O_CREAT the kernel refuses others' FIFOs and files in sticky folders, as it does to
	 * a shell.
	 */
	int fd = ring_fd_lift(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666));
	return fd < 0 ? -1 : fill(fd, content, context);
}

static int write_to_descriptor(int descriptor, ring_output_content *content, void *context)
{
	if (descriptor == STDOUT_FILENO && fflush(stdout) != 0)
		return -1;
	int fd = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd < 0 ? -1 : fill(fd, content, context);
}

int ring_output_write(const char *path, ring_output_content *content, void *context)
{
	struct place place;
	if (find(&place, path) < 0)
		return -1;
	if (place.descriptor >= 0)
		return write_to_descriptor(place.descriptor, content, context);
	int err = *place.path ? replace(&place, content, context) : 1;
	return err > 0 ? overwrite(path, content, context) : err;
}

/* ---- beforehand --------------------------------------------------------------------------- */

static int try_to_create(struct place *place)
{
	int fd = open_temporary(place);
	if (fd < 0)
		return -1;
	close(fd);
	return unlink(place->temporary);
}

int ring_output_check(const char *path)
{
	struct place place;
	if (find(&place, path) < 0)
		return -1;
	int flags = place.descriptor < 0 ? O_WRONLY : fcntl(place.descriptor, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	if (place.descriptor < 0 && place.exists && S_ISSOCK(place.about.st_mode)) {
		errno = ENXIO;
		return -1;
	}
	return place.exists || !*place.path ? 0 : try_to_create(&place);
}

bool ring_output_is_shared(const char *path)
{
	struct place place;
	return find(&place, path) == 0 && place.exists &&
	       (place.descriptor >= 0 || !S_ISREG(place.about.st_mode));
}
