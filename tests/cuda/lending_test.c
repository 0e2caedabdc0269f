/* SPDX-License-Identifier: MIT */
/*
 * Opening a device's memory that another process lends: the driver says how large it is, whatever
 * the other process tells, and a size that is not its descriptor's is the other's lie, not a device
 * that cannot. A descriptor that the driver does not import may be its own affair.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernels/device.h"
#include "tests/harness.h"
#include "tests/holdings.h"

#include "driver.h"

#define CUDA 1 /* the row's number */
#define UNIT ((size_t)2 << 20)
#define BYTES 65536

static int ends[2]; /* by which its name goes */

static const struct ring_device *library(void)
{
	return ring_device_numbered(CUDA);
}

static int lend(struct harness_rank *self)
{
	struct ring_region region = {.bytes = BYTES, .device = library(), .chip = 0, .fd = -1};
	if (library()->alloc(0, BYTES, &region.start) || library()->lending->lend(&region))
		return harness_fail(self, "it has no name");
	if (ring_fd_send_with(ends[0], &region.lent, sizeof(region.lent), &region.fd,
			      region.fd >= 0) < 0)
		return harness_fail(self, "its name was not sent");
	harness_barrier(self); /* it was opened, and closed */
	ring_fd_close(region.fd);
	library()->free(region.start);
	return 0;
}

/* So much is opened, or that is said. */
static int expect(struct harness_rank *self, const struct ring_lent *lent, int fd, int should,
		  size_t much)
{
	void *memory;
	size_t bytes = 0;
	uint64_t told;
	memcpy(&told, lent->handle, sizeof(told));
	int err = library()->lending->open(0, lent, fd, &memory, &bytes);
	if (!err)
		library()->lending->close(0, memory);
	if (err == should && bytes == much)
		return 0;
	return harness_fail(self, "told %ju bytes: %s, not %s, and %zu bytes", (uintmax_t)told,
			    ring_strerror(err), ring_strerror(should), bytes);
}

static struct ring_lent forge(const struct ring_lent *lent, uint64_t bytes)
{
	struct ring_lent forged = *lent;
	memcpy(forged.handle, &bytes, sizeof(bytes));
	return forged;
}

static int open_by_descriptors(struct harness_rank *self, const struct ring_lent *lent, int fd)
{
	static const uint64_t lies[] = {0,           1,        BYTES,    UNIT / 2,
					UNIT - 4096, UNIT + 1, 2 * UNIT, UINT64_MAX};
	const int other = ring_fd_memory("other");
	int bad = expect(self, lent, fd, 0, UNIT);
	const int fds = holdings_fds(), maps = holdings_shared_maps();
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]) && !bad; i++) {
		const struct ring_lent forged = forge(lent, lies[i]);
		bad = expect(self, &forged, fd, RING_EPEER, 0);
	}
	bad = bad || expect(self, lent, other, RING_ENOTSUP, 0) || expect(self, lent, fd, 0, UNIT);
	if (!bad && (holdings_fds() != fds || holdings_shared_maps() != maps))
		bad = harness_fail(self, "something of what was refused is left");
	ring_fd_close(other);
	return bad;
}

/* Handles are the driver's own: what it makes of a forged one says nothing of its owner. */
static int open_by_handles(struct harness_rank *self, const struct ring_lent *lent)
{
	const struct ring_lent forged = forge(lent, 7);
	return expect(self, lent, -1, 0, BYTES) || expect(self, &forged, -1, RING_ENOTSUP, 0) ||
	       expect(self, lent, -1, 0, BYTES);
}

/* At first the driver does not say how large memory is: that stays shut. */
static int borrow(struct harness_rank *self)
{
	struct ring_lent lent;
	int fd = -1, nfds = 0;
	while (ring_fd_recv_with(ends[1], &lent, sizeof(lent), &fd, 1, &nfds) < 0)
		usleep(1000);
	/* With descriptors the device's trial asks twice. */
	setenv("RING_FAKE_CUDA_FAIL",
	       nfds ? "cuMemGetAddressRange_v2:3=801" : "cuMemGetAddressRange_v2:1=801", 1);
	int bad = expect(self, &lent, nfds ? fd : -1, RING_ENOTSUP, 0);
	if (!bad)
		bad = nfds ? open_by_descriptors(self, &lent, fd) : open_by_handles(self, &lent);
	if (nfds)
		ring_fd_close(fd);
	harness_barrier(self);
	return bad;
}

static int use(struct harness_rank *self)
{
	return self->rank ? borrow(self) : lend(self);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"handles", "descriptors"};
	int bad = 0;
	(void)argc;
	setenv("RING_FAKE_CUDA_LEFT", "1", 1);
	cuda_use_fake(argv);
	if (!library()) {
		printf("this build has no kernels for GPUs: configure found no nvcc\n");
		return 77;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	printf("1..2\n");
	for (int by = 0; by < 2; by++) {
		struct harness team = {.world = &harness_worlds[1], .size = 2, .body = use};
		setenv("RING_FAKE_CUDA_MAPS", by ? "2" : "1", 1);
		snprintf(team.label, sizeof(team.label), "by %s", names[by]);
		bad |= harness_report(team.label, harness_run(&team));
	}
	return bad != 0;
}
