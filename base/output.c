/* SPDX-License-Identifier: MIT */
/*
 * Where a path leads, whether what is there can be replaced, and the writing. Names are looked up
 * in an open folder, which nobody can exchange meanwhile. Links are followed by hand, but only
 * where the kernel would follow them.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lift.h"

#define LINKS_MAX 40        /* as many as the kernel follows */
#define NAME_KEPT 200       /* bytes of a name that its temporary file has, too */
#define TEMPORARIES_MAX 100 /* names that are tried */

struct place {
	const char *path;
	bool exists;
	struct stat about; /* if it exists */
	int folder;        /* that the last link led to; -1 */
	bool on_proc;      /* the folder is: its links are the kernel's, and no names */
	char name[NAME_MAX + 1];
	char temporary[NAME_MAX + 1];
};

/* ---- where it leads ----------------------------------------------------------------------- */

/* Goes to the folder of a path, which may be relative to the one where the last link was. */
static int enter_folder(struct place *place, char *path)
{
	char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *folder = slash == path ? "/" : slash ? path : ".";
	if (strlen(name) > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(place->name, name);
	if (slash)
		*slash = '\0';
	int from = place->folder < 0 ? AT_FDCWD : place->folder;
	int fd = ring_fd_lift(openat(from, folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (place->folder >= 0)
		close(place->folder);
	place->folder = fd;
	return fd < 0 ? -1 : 0;
}

static int follow_links(struct place *place)
{
	char path[PATH_MAX];
	strcpy(path, place->path); /* stat() found it short enough */
	for (int links = 0; links < LINKS_MAX; links++) {
		struct statfs system;
		if (enter_folder(place, path) < 0 || fstatfs(place->folder, &system) < 0)
			return -1;
		place->on_proc = system.f_type == PROC_SUPER_MAGIC;
		ssize_t length = place->on_proc ? 0
						: readlinkat(place->folder, place->name, path,
							     sizeof(path) - 1);
		if (length <= 0)
			return 0;
		path[length] = '\0';
	}
	errno = ELOOP;
	return -1;
}

static int find(struct place *place, const char *path)
{
	*place = (struct place){.path = path, .folder = -1};
	place->exists = stat(path, &place->about) == 0; /* and the kernel allows its links */
	if (!place->exists && errno != ENOENT)
		return -1;
	if (place->exists && S_ISDIR(place->about.st_mode))
		errno = EISDIR;
	else if (place->exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
		return -1;
	else if (!*path)
		errno = ENOENT;
	else if (follow_links(place) < 0)
		return -1;
	else if (place->on_proc && !place->exists) /* a descriptor that is closed */
		errno = ENOENT;
	else
		return 0;
	return -1;
}

static void leave(struct place *place)
{
	int saved = errno;
	if (place->folder >= 0)
		close(place->folder);
	errno = saved;
}

/* The descriptor of this process that the path means; -1 if none. */
static int own_descriptor(const struct place *place)
{
	struct stat about;
	char *end;
	long number = strtol(place->name, &end, 10);
	bool is_own = place->on_proc && place->exists && end != place->name && !*end &&
		      number >= 0 && number <= INT_MAX && fstat((int)number, &about) == 0 &&
		      about.st_dev == place->about.st_dev && about.st_ino == place->about.st_ino;
	return is_own ? (int)number : -1;
}

/* ---- replacing ---------------------------------------------------------------------------- */

/* Attributes would be lost with the file, except those that the system gives to every new one. */
static bool has_attributes(const char *path)
{
	char names[4096];
	ssize_t bytes = listxattr(path, names, sizeof(names));
	for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(names + at) + 1)
		if (strncmp(names + at, "security.", strlen("security.")) != 0)
			return true;
	return bytes < 0 && errno == ERANGE;
}

static bool may_be_replaced(const struct place *place)
{
	if (place->on_proc)
		return false;
	return !place->exists || (S_ISREG(place->about.st_mode) && place->about.st_nlink == 1 &&
				  !has_attributes(place->path));
}

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

/* returns a descriptor; -1 with errno, and nothing is there */
static int open_temporary(struct place *place)
{
	int fd = -1;
	for (int i = 0; i < TEMPORARIES_MAX && fd < 0; i++) {
		snprintf(place->temporary, sizeof(place->temporary), "%.*s.%d.%d.tmp", NAME_KEPT,
			 place->name, (int)getpid(), i);
		fd = ring_fd_lift(openat(place->folder, place->temporary,
					 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	if (fd >= 0 && make_alike(place, fd) < 0) {
		int saved = errno;
		unlinkat(place->folder, place->temporary, 0);
		close(fd);
		errno = saved;
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
	if (!err && renameat(place->folder, place->temporary, place->folder, place->name) < 0)
		err = may_do_in_place(place)
			      ? 1
			      : -1; /* a mount point, or another's in a sticky folder */
	if (err) {
		int saved = errno;
		unlinkat(place->folder, place->temporary, 0);
		errno = saved;
	}
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
	int err = find(&place, path);
	int descriptor = err ? -1 : own_descriptor(&place);
	if (descriptor >= 0) {
		err = write_to_descriptor(descriptor, content, context);
	} else if (!err) {
		err = may_be_replaced(&place) ? replace(&place, content, context) : 1;
		if (err > 0)
			err = overwrite(path, content, context);
	}
	leave(&place);
	return err;
}

/* ---- beforehand --------------------------------------------------------------------------- */

static int try_to_create(struct place *place)
{
	int fd = open_temporary(place);
	if (fd < 0)
		return -1;
	close(fd);
	return unlinkat(place->folder, place->temporary, 0);
}

static int check(struct place *place)
{
	int descriptor = own_descriptor(place);
	int flags = descriptor < 0 ? O_WRONLY : fcntl(descriptor, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	if (descriptor < 0 && place->exists && S_ISSOCK(place->about.st_mode)) {
		errno = ENXIO;
		return -1;
	}
	return place->exists ? 0 : try_to_create(place); /* find() asked whether it is writable */
}

int ring_output_check(const char *path)
{
	struct place place;
	int err = find(&place, path);
	if (!err)
		err = check(&place);
	leave(&place);
	return err;
}

bool ring_output_is_shared(const char *path)
{
	struct place place;
	bool found = find(&place, path) == 0;
	leave(&place);
	return found && place.exists && (place.on_proc || !S_ISREG(place.about.st_mode));
}
