/* SPDX-License-Identifier: MIT */
/* Cross-memory attach: the two system calls, and the proof that they reach the right process. */
#include "attach.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/log.h"
#include "base/status.h"
#include "base/waits.h"

/*
 * Pids are given out in turn: before a dead process's pid is used again, thousands of processes
 * must begin, which takes longer than this.
 */

void ring_attach_init(struct ring_attach *attach, int self, int peer, int socket,
		      const struct ring_offer *theirs)
{
	struct ucred credentials = {0};
	socklen_t bytes = sizeof(credentials);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) < 0)
		credentials.pid = 0;
	*attach = (struct ring_attach){
		.self = self, .peer = peer, .pid = credentials.pid, .token_at = theirs->token_at};
	memcpy(attach->token, theirs->token, sizeof(attach->token));
}

/* A failure before the first proof means that it never works; later it is the other end's. */
static int fail(struct ring_attach *attach, const char *why)
{
	attach->denied = !attach->proved_ms;
	ring_log(attach->denied ? RING_INFO : RING_WARN, "rank %d with %d: memory of process %d: %s",
		 attach->self, attach->peer, attach->pid, why);
	return attach->denied ? RING_ENOTSUP : RING_EPEER;
}

static int fail_with(struct ring_attach *attach, int error)
{
	return error == ENOMEM ? RING_ENOMEM : fail(attach, strerror(error));
}

static void *remote(uint64_t address)
{
	return (void *)(uintptr_t)address; /* a value to the kernel, which checks it */
}

/* Reads the token where the other end said it lies. returns 0; or the error */
static int prove_anew(struct ring_attach *attach)
{
	unsigned char token[RING_TOKEN_BYTES] = {0};
	struct iovec here = {token, sizeof(token)};
	struct iovec there = {remote(attach->token_at), sizeof(token)};
	if (attach->denied)
		return RING_ENOTSUP;
	ssize_t got = process_vm_readv(attach->pid, &here, 1, &there, 1, 0);
	if (got < 0)
		return fail_with(attach, errno);
	if ((size_t)got < sizeof(token) || memcmp(token, attach->token, sizeof(token)) != 0)
		return fail(attach, "it is another process");
	attach->proved_ms = ring_clock_ms();
	return 0;
}

/*
 * A filter of system calls may let us read but not write: tries to write nothing, before the first
 * proof.
 */
static int prove_writing(struct ring_attach *attach)
{
	bool asks = attach->gate && !attach->proved_ms && !attach->denied;
	bool may = !asks || process_vm_writev(attach->pid, NULL, 0, NULL, 0, 0) == 0;
	return may ? 0 : fail_with(attach, errno);
}

static int prove(struct ring_attach *attach)
{
	if (prove_writing(attach))
		return RING_ENOTSUP;
	if (attach->proved_ms && ring_clock_ms() - attach->proved_ms <= RING_PROOF_HOLDS_MS)
		return 0;
	return prove_anew(attach);
}

/*
 * The kernel pins 4 MiB at a time, and its notes of each page have left the second-level cache when
 * it unpins them. So this much is asked for in smaller pieces. (256 MiB to all of 2 ranks: 37.2 ->
 * 35.9 ms.)
 */
#define MUCH_BYTES ((size_t)32 << 20)
#define PIECE_BYTES ((size_t)1 << 20)

typedef ssize_t (*ring_attach_mover)(pid_t pid, const struct iovec *here, unsigned long heres,
				     const struct iovec *there, unsigned long theres,
				     unsigned long flags);

/* Moves all, as much as goes at once each time. returns 0; or the error */
static int move(struct ring_attach *attach, ring_attach_mover mover, uint64_t address, void *local,
		size_t bytes)
{
	const size_t most = bytes < MUCH_BYTES ? bytes : PIECE_BYTES;
	for (;;) {
		int err = prove(attach);
		if (err || !bytes)
			return err;
		if (attach->gate && ring_gate_was_revoked(attach->gate))
			/* this process was stopped, and its peers have given up */
			return RING_EPEER;
		size_t piece = bytes < most ? bytes : most;
		struct iovec here = {local, piece};
		struct iovec there = {remote(address), piece};
		ssize_t moved = mover(attach->pid, &here, 1, &there, 1, 0);
		if (moved <= 0)
			return fail_with(attach, moved < 0 ? errno : EFAULT);
		address += (size_t)moved;
		local = (char *)local + moved;
		bytes -= (size_t)moved;
	}
}

/*
 * Where the system would copy slowly (copy.h), it copies to or from a room aligned like its own
 * side, and we copy the rest of the way (4 MiB: 3 -> 9 GB/s).
 */
#define ROOM_BYTES ((size_t)32 << 10)

struct room {
	char bytes[ROOM_BYTES + RING_COPY_PAGE];
};

static char *lay_as(struct room *room, uint64_t address)
{
	return room->bytes + (address - (uintptr_t)room->bytes) % RING_COPY_PAGE;
}

static int get_indirectly(struct ring_attach *attach, uint64_t address, char *local, size_t bytes)
{
	struct room room;
	int err = 0;
	for (size_t done = 0, piece; done < bytes && !err; done += piece) {
		char *here = lay_as(&room, address + done);
		piece = bytes - done < ROOM_BYTES ? bytes - done : ROOM_BYTES;
		err = move(attach, process_vm_readv, address + done, here, piece);
		if (!err)
			ring_copy(local + done, here, piece);
	}
	return err;
}

static int put_indirectly(struct ring_attach *attach, uint64_t address, const char *local,
			  size_t bytes)
{
	struct room room;
	int err = 0;
	for (size_t done = 0, piece; done < bytes && !err; done += piece) {
		char *here = lay_as(&room, address + done);
		piece = bytes - done < ROOM_BYTES ? bytes - done : ROOM_BYTES;
		ring_copy(here, local + done, piece);
		err = move(attach, process_vm_writev, address + done, here, piece);
	}
	return err;
}

int ring_attach_get(struct ring_attach *attach, uint64_t address, void *local, size_t bytes)
{
	if (ring_copies_slowly((uintptr_t)local, address, bytes))
		return get_indirectly(attach, address, local, bytes);
	return move(attach, process_vm_readv, address, local, bytes);
}

int ring_attach_put(struct ring_attach *attach, uint64_t address, const void *local, size_t bytes)
{
	if (ring_copies_slowly(address, (uintptr_t)local, bytes))
		return put_indirectly(attach, address, local, bytes);
	return move(attach, process_vm_writev, address, (void *)local, bytes);
}
