/* SPDX-License-Identifier: MIT */
/* Sealed memory: memfd_create(2) and the checks before mapping one that came from a peer. */
#include "sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/status.h"

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int map(int fd, size_t bytes, void **memory)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		ring_log(RING_WARN, "shared memory: map %zu bytes: %s", bytes, strerror(errno));
		return RING_ESYSTEM;
	}
	*memory = mapped;
	return 0;
}

/* A larger file would be no mere error: SIGXFSZ would end the program. */
static bool may_be_so_large(size_t bytes)
{
	struct rlimit limit;
	errno = EFBIG;
	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur;
}

static bool is_acceptable(int fd, size_t bytes);

/* What a peer would refuse is refused here, before it is used. */
static bool make(const char *name, size_t bytes, int *fd)
{
	*fd = may_be_so_large(bytes) ? ring_fd_memory(name) : -1;
	return *fd >= 0 && ftruncate(*fd, (off_t)bytes) == 0 &&
	       fallocate(*fd, 0, 0, (off_t)bytes) == 0 &&
	       fcntl(*fd, F_ADD_SEALS, SIZE_SEALS) == 0 && is_acceptable(*fd, bytes);
}

static int explain(const char *name, size_t bytes, int cause)
{
	bool forbidden = ring_fd_is_forbidden(cause);
	ring_log(forbidden ? RING_INFO : RING_WARN, "shared memory: %s, %zu bytes: %s%s", name,
		 bytes, strerror(cause), cause == EFBIG ? " (ulimit -f)" : "");
	errno = cause;
	return forbidden ? RING_ENOTSUP : ring_fd_ran_out(cause) ? RING_ESYSTEM : RING_ENOMEM;
}

int ring_sealed_create(const char *name, size_t bytes, int *fd, void **memory)
{
	int made;
	if (!make(name, bytes, &made)) {
		int cause = errno;
		ring_fd_close(made);
		return explain(name, bytes, cause);
	}
	int err = map(made, bytes, memory);
	if (err) {
		ring_fd_close(made);
		return err;
	}
	*fd = made;
	return 0;
}

size_t ring_sealed_memory(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (bytes + page - 1) / page * page;
}

/*
 * The size must be fixed; a seal against writing would only make mapping fail later. The owner is
 * the user who made it: another user's memory is refused, whoever passed it on.
 */
static bool is_acceptable(int fd, size_t bytes)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);
	return bytes > 0 && seals >= 0 && (seals & SIZE_SEALS) == SIZE_SEALS &&
	       !(seals & F_SEAL_WRITE) && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size == (off_t)bytes && status.st_uid == geteuid();
}

int ring_sealed_map(int fd, size_t bytes, void **memory)
{
	if (!is_acceptable(fd, bytes)) {
		ring_log(RING_WARN,
			 "shared memory: the peer passed no sealed memory of %zu bytes "
			 "of this user",
			 bytes);
		return RING_EPEER;
	}
	return map(fd, bytes, memory);
}

/*
 * The kernel copies page after page when it is asked to make them writable. Mapping, which is all
 * that systems before Linux 5.14 offer, does not tell whether it could.
 */
int ring_sealed_keep(int fd, size_t offset, size_t bytes, void *place)
{
	void *kept = mmap(place, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, fd, (off_t)offset);
	if (kept == MAP_FAILED)
		return RING_ENOMEM;
#ifdef MADV_POPULATE_WRITE
	if (madvise(place, bytes, MADV_POPULATE_WRITE) < 0 && errno != EINVAL)
		return RING_ENOMEM;
#endif
	return 0;
}

void ring_sealed_enter(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	madvise(memory, bytes, MADV_POPULATE_WRITE); /* if not now, then page by page */
#else
	(void)memory;
	(void)bytes;
#endif
}
