/* SPDX-License-Identifier: MIT */
/*
 * Cross-memory attach: reading and writing another process's memory by system calls that copy once
 * (process_vm_readv(2)). Whether the system lets us depends on users, namespaces, Yama and seccomp,
 * so it is tried. The other end's offer said where its token lies: a process with the token there
 * is the right one. Reading and writing need such a proof, younger than the time until the pid can
 * be another process's.
 */
#ifndef RING_ATTACH_H
#define RING_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/gate.h"
#include "offer.h"

/* Another process's memory, seen from one end of a link. */
struct ring_attach {
	int self, peer;    /* ranks, for messages */
	int pid;           /* as the socket says; 0: not in this namespace */
	uint64_t token_at; /* there */
	unsigned char token[RING_TOKEN_BYTES];
	const struct ring_gate *gate; /* checked before each write; NULL: no writes */
	uint64_t proved_ms;           /* the last proof; 0: none */
	bool denied;                  /* it is not possible here */
};

/* Takes pid and token from a connection and the offer that came over it. */
void ring_attach_init(struct ring_attach *attach, int self, int peer, int socket,
		      const struct ring_offer *theirs);

/* As get and put of transport.h. */
int ring_attach_get(struct ring_attach *attach, uint64_t address, void *local, size_t bytes);
int ring_attach_put(struct ring_attach *attach, uint64_t address, const void *local, size_t bytes);

#endif
