/* SPDX-License-Identifier: MIT */
/* Whether memory that the library makes on a GPU comes to another process, and what that rests on. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "check.h"
#include "gpu.h"
#include "kernels/device.h"

#define CUDA 1 /* the row's number */
#define BYTES ((size_t)2 << 20)
#define WORD 64 /* where a word is written in it */

char *check_map(size_t bytes, size_t gap)
{
	const struct ring_cuda_physical what = {.kind = RING_CUDA_PHYSICAL_PINNED,
						.site = {RING_CUDA_SITE_DEVICE, 0}};
	const struct ring_cuda_access access = {what.site, RING_CUDA_READ_AND_WRITE};
	uint64_t physical;
	void *start;
	if (cuda.physical_create(&physical, bytes, &what, 0) ||
	    cuda.addresses_reserve(&start, gap + bytes, 0, NULL, 0))
		return NULL;
	char *at = (char *)start + gap;
	return cuda.addresses_map(at, bytes, 0, physical, 0) ||
			       cuda.addresses_open(at, bytes, &access, 1)
		       ? NULL
		       : at;
}

/* What a descriptor is made of and freed by. */
static bool check_ranges(void)
{
	char *at = check_map(BYTES, BYTES), *far = gpu_memory(BYTES);
	void *start = NULL;
	size_t bytes = 0;
	uint64_t physical, id = 0;
	if (!at) {
		check_fact("the driver maps no memory");
		return true;
	}
	CUDA_MUST(cuda.memory_range(&start, &bytes, at + WORD));
	CUDA_MUST(cuda.pointer_attribute(&id, RING_CUDA_POINTER_ID, at));
	const bool right = start == at && bytes == BYTES,
		   other = cuda.physical_retain(&physical, far);
	check_fact("a mapping in larger addresses: %s, id %s; other memory: %s",
		   right ? "found" : "not found", id ? "given" : "missing",
		   other ? "told apart" : "taken for one");
	return right && id && other;
}

/* ---- to another process ---------------------------------------------------------------------- */

static const struct ring_device *library(void)
{
	return ring_device_numbered(CUDA);
}

/* Writes a word there by a kernel. */
static void be_other(int from)
{
	struct gpu gpu;
	struct ring_lent lent;
	void *memory;
	size_t bytes;
	int fd = -1, nfds = 0;
	ssize_t got;
	while ((got = ring_fd_recv_with(from, &lent, sizeof(lent), &fd, 1, &nfds)) < 0)
		gpu_sleep(0.001);
	if (got != sizeof(lent))
		exit(2);
	gpu_open(&gpu, 0);
	int err = library()->lending->open(0, &lent, nfds ? fd : -1, &memory, &bytes);
	if (err)
		exit(3);
	if (bytes < lent.offset + BYTES)
		exit(4);
	CUDA_MUST(gpu_store(gpu.store, NULL, (char *)memory + lent.offset + WORD, 77));
	CUDA_MUST(cuda.context_synchronize());
	library()->lending->close(0, memory);
	exit(0);
}

/* returns what the other process wrote; 0: nothing came of it */
static uint32_t lend(int to, pid_t child, const char **by)
{
	struct ring_region region = {.bytes = BYTES, .device = library(), .chip = 0, .fd = -1};
	uint32_t word = 0;
	int status = -1;
	if (library()->alloc(0, BYTES, &region.start) || library()->lending->lend(&region)) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		return 0;
	}
	*by = region.fd >= 0 ? "a descriptor" : "a handle";
	if (ring_fd_send_with(to, &region.lent, sizeof(region.lent), &region.fd, region.fd >= 0) < 0)
		kill(child, SIGKILL);
	if (waitpid(child, &status, 0) == child && status == 0)
		CUDA_MUST(cuda.memory_copy_now(&word, (char *)region.start + WORD, sizeof(word)));
	else
		check_note("the other process ends with 0x%x", status);
	ring_fd_close(region.fd);
	library()->free(region.start);
	return word;
}

static int run_lent(void)
{
	int ends[2];
	struct gpu gpu;
	const char *by = "nothing";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || !gpu_driver())
		return CHECK_NOT_OK;
	if (!library())
		return CHECK_SKIP;
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		be_other(ends[1]);
	}
	gpu_open(&gpu, 0);
	const uint32_t word = lend(ends[0], child, &by);
	check_fact("opened by %s, %s", by,
		   word == 77 ? "and written to" : "but nothing comes of it");
	return check_ranges() && word == 77 ? CHECK_OK : CHECK_NOT_OK;
}

const struct check check_lent = {"memory for another process", run_lent, 12,
				 "calls of several processes go by memory of the host, or, where a "
				 "mapping is not found, free less than they made"};
