/* SPDX-License-Identifier: MIT */
/*
 * Which port of which RDMA device is used, and under which of its addresses (GIDs). It reads what
 * the kernel shows in /sys/class/infiniband and opens no device, so it costs little and can be
 * tried on any machine's tree.
 *
 * Among ports that are up it takes the one that has the address of the connection that the link
 * grows from, so that RING_INTERFACE chooses for both; else the first. RoCE is version 2 only.
 */
#ifndef RING_VERBS_CHOICE_H
#define RING_VERBS_CHOICE_H

#include <stdbool.h>
#include <sys/socket.h>

#define RING_VERBS_DEVICES "/sys/class/infiniband"
#define RING_VERBS_NAME 64

/* What the environment asks for. */
struct ring_verbs_wish {
	char device[RING_VERBS_NAME]; /* RING_VERBS_DEVICE: "mlx5_0" or "mlx5_0:1"; empty: any */
	int port;                     /* ... 0: any */
	int gid;                      /* RING_VERBS_GID: index, -1: any */
	int mtu;                      /* RING_VERBS_MTU: 256..4096 bytes; 0: the port's */
	int traffic_class;            /* RING_VERBS_TC: 0..255, of RoCE's packets */
	int service_level;            /* RING_VERBS_SL: 0..15 */
	int pkey;                     /* RING_VERBS_PKEY: index of the partition's key */
};

struct ring_verbs_choice {
	char device[RING_VERBS_NAME];
	int port;
	int gid_index;
	unsigned char gid[16];
	bool ethernet;      /* RoCE v2; else InfiniBand */
	bool of_connection; /* it has the address that was asked for */
	double rate;        /* Gbit/s, as the kernel says; 0: unknown */
	/* "mlx5_1:1": the fastest port that could be used, if that is faster; else empty */
	char faster[RING_VERBS_NAME + 8];
	double faster_rate;
};

/* Reads the environment. False: why, of RING_ABSENT_TEXT, says which variable is wrong. */
bool ring_verbs_wish_read(struct ring_verbs_wish *wish, char *why);

/*
 * folder is RING_VERBS_DEVICES, or a test's. address: of this end's connection, or NULL. False:
 * there is no such port, and why says what the most promising one lacks.
 */
bool ring_verbs_choose(const char *folder, const struct ring_verbs_wish *wish,
		       const struct sockaddr_storage *address, struct ring_verbs_choice *choice,
		       char *why);

#endif
