/* SPDX-License-Identifier: MIT */
/* Whatever a path names: a file written whole, and everything that must not be replaced by one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"

#define NOBODY 65534

static char folder[64];

static const char *in_folder(const char *name)
{
	static char paths[8][PATH_MAX];
	static int turn;
	char *path = paths[turn++ % 8];
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/output_test.XXXXXX");
	return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

/* Also whatever a temporary file left behind shows: only what a test named may be there. */
static int remove_folder(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "ls -A %s | grep -c '[.]tmp$' >/dev/null", folder);
	bool left = system(command) == 0;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) == 0 && !left ? 0 : -1;
}

static void say(void *context, FILE *out)
{
	fputs(context, out);
}

static int put(const char *path, const char *text)
{
	return ring_output_write(path, say, (void *)text);
}

static void check_content(const char *path, const char *expected)
{
	char text[128] = "";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, expected);
}

static struct stat look(const char *path)
{
	struct stat about;
	assert_int_equal(lstat(path, &about), 0);
	return about;
}

/* Both calls refuse with this errno. */
static void check_refused(const char *path, int wanted)
{
	errno = 0;
	assert_int_equal(ring_output_check(path), -1);
	assert_int_equal(errno, wanted);
	errno = 0;
	assert_int_equal(put(path, "new"), -1);
	assert_int_equal(errno, wanted);
}

static void must_be_root(void)
{
	if (geteuid() != 0)
		skip();
}

/* A reader never sees half a file: the old one stays until the new one is whole. */
static void a_file_is_replaced(void **state)
{
	const char *path = in_folder("file");
	(void)state;
	assert_int_equal(ring_output_check(path), 0);
	assert_int_equal(access(path, F_OK), -1); /* looking leaves nothing */
	assert_int_equal(put(path, "old"), 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(put(path, "new"), 0);
	check_content(path, "new");
	char text[8] = "";
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	close(fd);
	assert_int_equal(look(path).st_mode & 07777, 0640);
}

/* As root, --json /dev/null made a file of the device. A node of our own, as root could lose the system's. */
static void a_device_stays(void **state)
{
	const char *path = in_folder("null");
	(void)state;
	must_be_root();
	if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) < 0 || access(path, W_OK) < 0)
		skip();
	if (ring_output_check(path) < 0)
		skip(); /* nodes mean nothing here */
	assert_int_equal(put(path, "new"), 0);
	assert_true(S_ISCHR(look(path).st_mode));
	assert_true(ring_output_is_shared(path));
}

/* Whoever reads from the FIFO would wait for ever. */
static void a_fifo_is_written_to(void **state)
{
	const char *path = in_folder("fifo");
	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ring_output_check(path), 0); /* without waiting for a reader */
	int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(put(path, "new"), 0);
	char text[8] = "";
	assert_int_equal(read(reader, text, sizeof(text)), 3);
	close(reader);
	assert_true(S_ISFIFO(look(path).st_mode));
}

static void a_socket_is_refused(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	check_refused(address.sun_path, ENXIO);
	assert_true(S_ISSOCK(look(address.sun_path).st_mode));
	close(fd);
}

static void check_descriptor(const char *path, const char *file)
{
	ino_t inode = look(file).st_ino;
	assert_int_equal(ring_output_check(path), 0);
	assert_true(ring_output_is_shared(path));
	assert_int_equal(put(path, "x"), 0);
	assert_int_equal(look(file).st_ino, inode);
}

/* --json /dev/stdout >>file would empty the file, or hide it behind another of its name. */
static void a_descriptor_is_written_to(void **state)
{
	char path[64];
	const char *file = in_folder("file"), *link = in_folder("link");
	(void)state;
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), kept = dup(STDERR_FILENO);
	assert_int_equal(write(fd, "head ", 5), 5);
	assert_int_equal(symlink("/dev/stderr", link), 0);
	dup2(fd, STDERR_FILENO);
	check_descriptor("/dev/stderr", file);
	check_descriptor(link, file);
	dup2(kept, STDERR_FILENO);
	close(kept);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check_descriptor(path, file);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	check_descriptor(path, file);
	check_content(file, "head xxxx");
	assert_int_equal(close(fd), 0);
	check_refused(path, ENOENT);
	int reader = open(file, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/dev/fd/%d", reader);
	assert_int_equal(ring_output_check(path), -1);
	assert_int_equal(errno, EBADF);
	close(reader);
}

/* A link was replaced, and what it named stayed old. */
static void a_link_stays(void **state)
{
	const char *file = in_folder("file"), *link = in_folder("link");
	(void)state;
	assert_int_equal(mkdir(in_folder("inner"), 0755), 0);
	assert_int_equal(symlink("../file", in_folder("inner/link")), 0);
	assert_int_equal(symlink("inner/link", link), 0);
	assert_int_equal(put(link, "made"), 0); /* it leads to nothing yet */
	check_content(file, "made");
	assert_int_equal(put(link, "new"), 0);
	check_content(file, "new");
	assert_true(S_ISLNK(look(link).st_mode) && S_ISLNK(look(in_folder("inner/link")).st_mode));
	assert_true(S_ISREG(look(file).st_mode));
	assert_int_equal(symlink("loop", in_folder("loop")), 0);
	check_refused(in_folder("loop"), ELOOP);
}

/* The other names of the file would have kept the old content. */
static void all_names_see_the_new_content(void **state)
{
	const char *one = in_folder("one"), *other = in_folder("other");
	(void)state;
	assert_int_equal(put(one, "a longer old one"), 0);
	assert_int_equal(link(one, other), 0);
	assert_int_equal(put(one, "new"), 0);
	check_content(other, "new");
	assert_int_equal(look(one).st_nlink, 2);
}

/* Whom a list let read could not any more. */
static void an_access_control_list_stays(void **state)
{
	static const char name[] = "system.posix_acl_access";
	const struct {
		uint32_t version;
		struct {
			uint16_t tag, permissions;
			uint32_t id;
		} entries[5];
	} list = {2, {{1, 6, -1U}, {2, 4, NOBODY}, {4, 0, -1U}, {16, 4, -1U}, {32, 0, -1U}}};
	const char *path = in_folder("file");
	(void)state;
	assert_int_equal(put(path, "old"), 0);
	if (setxattr(path, name, &list, sizeof(list), 0) < 0)
		skip();
	assert_int_equal(put(path, "new"), 0);
	check_content(path, "new");
	assert_int_equal(getxattr(path, name, NULL, 0), sizeof(list));
}

static void folders_are_refused(void **state)
{
	(void)state;
	check_refused(folder, EISDIR);
	check_refused(in_folder("new/"), ENOENT);
	check_refused(in_folder("."), EISDIR);
	check_refused(in_folder("missing/file"), ENOENT);
	check_refused("", ENOENT);
	assert_int_equal(put(in_folder("file"), "old"), 0);
	check_refused(in_folder("file/below"), ENOTDIR);
}

static void names_may_be_as_long_as_names_can_be(void **state)
{
	char name[NAME_MAX + 2];
	(void)state;
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	assert_int_equal(ring_output_check(in_folder(name)), 0);
	assert_int_equal(put(in_folder(name), "new"), 0);
	check_content(in_folder(name), "new");
	strcpy(name + NAME_MAX, "n");
	check_refused(in_folder(name), ENAMETOOLONG);
}

/* Runs what an ordinary user would see; the child's status is 0 or the number of what failed. */
static void as_nobody(int (*check)(void))
{
	int status;
	must_be_root();
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		_exit(setgid(NOBODY) < 0 || setuid(NOBODY) < 0 ? 99 : check());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int write_what_we_may(void)
{
	if (ring_output_check(in_folder("open")) < 0 || put(in_folder("open"), "new") < 0)
		return 1;
	if (ring_output_check(in_folder("kept")) == 0 || errno != EACCES)
		return 2;
	if (put(in_folder("kept"), "new") == 0 || errno != EACCES)
		return 3;
	if (ring_output_check(in_folder("new")) == 0 || errno != EACCES)
		return 4;
	return 0;
}

/* In a folder of others a file of theirs that we may write was refused: no file could be made beside it. */
static void a_writable_file_in_a_foreign_folder(void **state)
{
	(void)state;
	assert_int_equal(put(in_folder("open"), "a longer old one"), 0);
	assert_int_equal(put(in_folder("kept"), "old"), 0);
	assert_int_equal(chmod(in_folder("open"), 0666), 0);
	as_nobody(write_what_we_may);
	check_content(in_folder("open"), "new");
	check_content(in_folder("kept"), "old");
	assert_int_equal(look(in_folder("open")).st_uid, 0);
}

static int write_into_sticky_folder(void)
{
	return put(in_folder("sticky/file"), "new") == 0 ? 0 : 1;
}

/* In a sticky folder it could be made but not renamed; it stays its owner's. */
static void a_writable_file_in_a_sticky_folder(void **state)
{
	const char *path = in_folder("sticky/file");
	(void)state;
	assert_int_equal(mkdir(in_folder("sticky"), 0755), 0);
	assert_int_equal(chmod(in_folder("sticky"), 01775), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(in_folder("sticky"), 0, NOBODY), 0);
	assert_int_equal(put(path, "a longer old one"), 0);
	assert_int_equal(chmod(path, 0666), 0);
	as_nobody(write_into_sticky_folder);
	check_content(path, "new");
	assert_int_equal(look(path).st_uid, 0);
}

/* root's new file would have become root's, and its owner could not write it any more. */
static void the_owner_stays(void **state)
{
	const char *path = in_folder("file");
	(void)state;
	must_be_root();
	assert_int_equal(put(path, "old"), 0);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_int_equal(chmod(path, 0604), 0);
	assert_int_equal(put(path, "new"), 0);
	check_content(path, "new");
	assert_int_equal(look(path).st_uid, NOBODY);
	assert_int_equal(look(path).st_gid, NOBODY);
	assert_int_equal(look(path).st_mode & 07777, 0604);
}

/* Somebody who guesses the temporary name gets nothing written where a link of theirs leads. */
static void a_planted_link_is_not_followed(void **state)
{
	char name[64];
	(void)state;
	assert_int_equal(put(in_folder("victim"), "old"), 0);
	snprintf(name, sizeof(name), "ring.%d.0.tmp", (int)getpid());
	assert_int_equal(symlink("victim", in_folder(name)), 0);
	assert_int_equal(put(in_folder("file"), "new"), 0);
	check_content(in_folder("victim"), "old");
	check_content(in_folder("file"), "new");
	assert_int_equal(unlink(in_folder(name)), 0);
}

static void meet_full_disk(void *context, FILE *out)
{
	int fd = *(int *)context;
	fputs("new", out);
	fflush(out);
	dup2(fd, fileno(out)); /* what follows meets a full disk */
	fputs("more", out);
}

/* A disk that is full leaves the old file. */
static void a_failure_leaves_the_old_file(void **state)
{
	(void)state;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(put(in_folder("file"), "old"), 0);
	errno = 0;
	assert_int_equal(ring_output_write(in_folder("file"), meet_full_disk, &full), -1);
	assert_int_equal(errno, ENOSPC);
	check_content(in_folder("file"), "old");
	close(full);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(a_file_is_replaced),
		IN_FOLDER(a_device_stays),
		IN_FOLDER(a_fifo_is_written_to),
		IN_FOLDER(a_socket_is_refused),
		IN_FOLDER(a_descriptor_is_written_to),
		IN_FOLDER(a_link_stays),
		IN_FOLDER(all_names_see_the_new_content),
		IN_FOLDER(an_access_control_list_stays),
		IN_FOLDER(folders_are_refused),
		IN_FOLDER(names_may_be_as_long_as_names_can_be),
		IN_FOLDER(a_writable_file_in_a_foreign_folder),
		IN_FOLDER(a_writable_file_in_a_sticky_folder),
		IN_FOLDER(the_owner_stays),
		IN_FOLDER(a_planted_link_is_not_followed),
		IN_FOLDER(a_failure_leaves_the_old_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
