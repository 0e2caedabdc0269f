/* SPDX-License-Identifier: MIT */
/*
 * What the driver makes of physical memory between processes: a descriptor names it, it has other
 * addresses there, and it lives until nobody has it any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/harness.h"
#include "tests/holdings.h"

#include "driver.h"

#define UNIT ((size_t)2 << 20)
#define BYTES 65536

static int ends[2]; /* by which the descriptor goes */

static void use_device(int device)
{
	struct CUctx_st *context;
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, device));
	CUDA_MUST(cuda.context_set(context));
}

static size_t free_bytes(void)
{
	size_t free, total;
	CUDA_MUST(cuda.memory_info(&free, &total));
	return free;
}

/* At an address where the device reaches it. */
static void *map(uint64_t physical, int device)
{
	void *start;
	const struct ring_cuda_access access = {{RING_CUDA_SITE_DEVICE, device},
						RING_CUDA_READ_AND_WRITE};
	CUDA_MUST(cuda.addresses_reserve(&start, UNIT, 0, NULL, 0));
	CUDA_MUST(cuda.addresses_map(start, UNIT, 0, physical, 0));
	CUDA_MUST(cuda.addresses_open(start, UNIT, &access, 1));
	return start;
}

static void unmap(void *start)
{
	CUDA_MUST(cuda.addresses_unmap(start, UNIT));
	CUDA_MUST(cuda.addresses_free(start, UNIT));
}

static void pass(uint64_t physical)
{
	int fd;
	char byte = 0;
	CUDA_MUST(cuda.physical_export(&fd, physical, RING_CUDA_HANDLE_FD, 0));
	if (ring_fd_send_with(ends[0], &byte, 1, &fd, 1) != 1)
		perror("sending a descriptor");
	close(fd);
}

/* It is gone here before the other process is done with it. */
static int lend(struct harness_rank *self)
{
	const struct ring_cuda_physical what = {.kind = RING_CUDA_PHYSICAL_PINNED,
						.handles = RING_CUDA_HANDLE_FD,
						.site = {RING_CUDA_SITE_DEVICE, 0}};
	uint64_t physical, same;
	int bad = 0;
	const size_t free_before = free_bytes();
	CUDA_MUST(cuda.physical_create(&physical, UNIT, &what, 0));
	char *far = map(physical, 0);
	CUDA_MUST(cuda.physical_retain(&same, far + 100));
	if (same != physical || free_bytes() != free_before - UNIT)
		bad = harness_fail(self, "it is not what was made");
	cuda_fill(far, BYTES, 1);
	pass(physical);
	harness_barrier(self); /* it was mapped, and written */
	bad = cuda_is_full_of(far, BYTES, 2) ? bad
					     : harness_fail(self, "what was written is not there");
	unmap(far);
	CUDA_MUST(cuda.physical_release(physical));
	if (free_bytes() == free_before)
		bad = harness_fail(self, "it is free while it has a handle");
	CUDA_MUST(cuda.physical_release(same));
	if (free_bytes() != free_before)
		bad = harness_fail(self, "it is not free");
	harness_barrier(self);
	return bad;
}

static int borrow(struct harness_rank *self, int device)
{
	uint64_t physical;
	char byte;
	int fd, nfds;
	while (ring_fd_recv_with(ends[1], &byte, 1, &fd, 1, &nfds) < 0)
		usleep(1000);
	CUDA_MUST(cuda.physical_import(&physical, (void *)(intptr_t)fd, RING_CUDA_HANDLE_FD));
	ring_fd_close(fd);
	void *far = map(physical, device), *again = map(physical, device);
	CUDA_MUST(cuda.physical_release(physical));
	int bad = cuda_is_full_of(far, BYTES, 1) ? 0 : harness_fail(self, "it is not what was lent");
	cuda_fill(again, BYTES, 2);
	harness_barrier(self);
	harness_barrier(self); /* its maker has let it go */
	if (!cuda_is_full_of(far, BYTES, 2) || cuda.handle_close(far) != RING_CUDA_INVALID_VALUE)
		bad = harness_fail(self, "it went with its maker, or is no mapping");
	unmap(again);
	unmap(far);
	return bad;
}

/* A driver that was used once keeps files and mappings, so all is done twice. */
static int use(struct harness_rank *self)
{
	const int device = *(int *)self->context;
	int bad = 0, fds = 0, maps = 0;
	use_device(self->rank ? device : 0);
	for (int turn = 0; turn < 2 && !bad; turn++) {
		fds = holdings_fds();
		maps = holdings_shared_maps();
		bad = self->rank ? borrow(self, device) : lend(self);
	}
	if (!bad && (holdings_fds() != fds || holdings_shared_maps() != maps))
		bad = harness_fail(self, "it leaves %d descriptors more, %d mappings",
				   holdings_fds() - fds, holdings_shared_maps() - maps);
	return bad;
}

/* Processes of one device, and of two. */
int main(int argc, char **argv)
{
	int bad = 0;
	(void)argc;
	setenv("RING_FAKE_CUDA_DEVICES", "2", 1);
	setenv("RING_FAKE_CUDA_LEFT", "1", 1);
	cuda_use_fake(argv);
	if (!cuda_open() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	printf("1..2\n");
	for (int device = 0; device < 2; device++) {
		struct harness team = {
			.world = &harness_worlds[1], .size = 2, .body = use, .context = &device};
		snprintf(team.label, sizeof(team.label), "devices 0 and %d", device);
		bad |= harness_report(team.label, harness_run(&team));
	}
	return bad != 0;
}
