/* SPDX-License-Identifier: MIT */
/*
 * One process of a job whose hosts are network namespaces; the scripts beside this start it there.
 *
 *	rank id           prints an id in hex and serves its meeting until it is killed
 *	rank counters [N] runs every collective and compares its bytes with the interface's counters;
 *	                  a host has N ranks, or one
 *	rank loop         calls until a call fails, then says when and why; at SIGUSR1 its queue pairs stop
 *	rank idle         calls nothing, until the communicator fails; then likewise
 *	rank receive      rank 2 receives from rank 0, which sends nothing; then likewise
 *	rank small FILE   sums of one number, until one fails, then likewise, or until there is such a file
 *	rank exchange FILE   the same with all-to-alls between them
 *	rank keep FILE    the same with one such and pauses between them, in which nothing is sent
 *	rank give         rank 0 gives the others something and leaves; likewise
 *	rank twice        adds its rank up with the others', then again over a second communicator
 *	rank thrice       likewise, and over one that is split off
 *	rank mesh         rank 1 may lock no more memory; then ranks exchange what needs links between all
 *	rank later        likewise, but rank 0 comes to the second one when the others have long come
 *	rank once         creates a communicator, and no more
 *	rank forks        a child of it may not create another one through the launcher's connection
 *	rank fail         likewise adds once, then rank 1 ends with status 7
 *
 * All but id find their place in what their launcher has set.
 */
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ringccl.h"

#define COUNT ((size_t)3 << 20) /* floats of the largest buffer; divisible by 2, 3 and 4 ranks */

static int complain(const char *what, int err)
{
	printf("%s: %s: %s\n", what, ring_strerror(err), ring_comm_error(NULL));
	return 1;
}

static int serve(void)
{
	struct ring_unique_id id;
	int err = ring_unique_id_create(&id);
	if (err)
		return complain("ring_unique_id_create", err);
	for (size_t i = 0; i < sizeof(id.bytes); i++)
		printf("%02x", id.bytes[i]);
	printf("\n");
	fflush(stdout);
	for (;;)
		pause();
}

/* ---- counters ----------------------------------------------------------------------------- */

/* What a rank sends and receives in one call, told by the formulas alone. */
struct row {
	const char *name;
	double sent, received;
};

static double interface_bytes(void)
{
	double bytes = -1;
	FILE *file = fopen("/sys/class/net/eth0/statistics/tx_bytes", "r");
	if (file) {
		if (fscanf(file, "%lf", &bytes) != 1)
			bytes = -1;
		fclose(file);
	}
	return bytes;
}

static double counted_bytes(const struct ring_comm *comm)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	return ring_comm_stats(comm, &stats) ? -1 : (double)stats.sent_bytes;
}

static int call(struct ring_comm *comm, int which, float *send, float *recv)
{
	size_t part = COUNT / (size_t)ring_comm_size(comm);
	switch (which) {
	case 0:
		return ring_all_reduce(comm, send, recv, COUNT, RING_FLOAT32, RING_SUM, NULL);
	case 1:
		return ring_reduce_scatter(comm, send, recv, part, RING_FLOAT32, RING_SUM, NULL);
	case 2:
		return ring_all_gather(comm, send, recv, part, RING_FLOAT32, NULL);
	case 3:
		return ring_broadcast(comm, send, recv, COUNT, RING_FLOAT32, 0, NULL);
	default:
		return ring_barrier(comm, NULL);
	}
}

/*
 * The counter lies between the payload and what headers may add: 66 bytes to a full segment of
 * 1448, as much for each acknowledgment of one or two, and a little for barriers and signs of life.
 * Segmentation offload makes it less: the counter then sees one header for up to 64 KiB.
 */
static int check(int rank, const struct row *own, const struct row *host, double counted,
		 double wire)
{
	double most = 1.08 * host->sent + 0.05 * host->received + 20000;
	bool right = counted == own->sent && wire >= host->sent && wire <= most;
	printf("%s rank %d: %-14s payload %9.0f, counted %9.0f, its host's %9.0f, on the wire "
	       "%9.0f (%+.2f %%)\n",
	       right ? "    " : "BAD ", rank, own->name, own->sent, counted, host->sent, wire,
	       host->sent > 0 ? 100 * (wire / host->sent - 1) : 0);
	return !right;
}

#define ROWS 5

/*
 * What one rank sends, and another one receives. The ring is in rank order, and a broadcast's chain
 * ends before its root.
 */
static void make_rows(int size, int sender, int receiver, struct row rows[ROWS])
{
	double all = sizeof(float) * (double)COUNT, most = all * (size - 1) / size;
	const struct row made[ROWS] = {
		{"all_reduce", 2 * most, 2 * most},
		{"reduce_scatter", most, most},
		{"all_gather", most, most},
		{"broadcast", sender < size - 1 ? all : 0, receiver > 0 ? all : 0},
		{"barrier", 0, 0},
	};
	memcpy(rows, made, sizeof(made));
}

/* Of a host's ranks only the last one sends through its interface; only the first one receives. */
static int compare_counters(struct ring_comm *comm, int per_host)
{
	int size = ring_comm_size(comm), rank = ring_comm_rank(comm), wrong = 0;
	int first = rank / per_host * per_host;
	struct row own[ROWS], host[ROWS];
	make_rows(size, rank, rank, own);
	make_rows(size, first + per_host - 1, first, host);
	float *send = calloc(COUNT, sizeof(*send)), *recv = calloc(COUNT, sizeof(*recv));
	int err = send && recv ? ring_barrier(comm, NULL) : RING_ENOMEM;
	for (int which = 0; which < ROWS && !err; which++) {
		double wire = interface_bytes(), counted = counted_bytes(comm);
		err = ring_barrier(comm, NULL); /* all ranks of the host have looked */
		if (!err)
			err = call(comm, which, send, recv);
		if (!err)
			err = ring_barrier(comm, NULL); /* all bytes have left */
		wrong += check(rank, &own[which], &host[which], counted_bytes(comm) - counted,
			       interface_bytes() - wire);
	}
	if (err)
		printf("rank %d: %s\n", rank, ring_comm_error(comm));
	free(send);
	free(recv);
	return err || wrong;
}

/* ---- until the end ------------------------------------------------------------------------ */

/* Says when, in seconds since the machine started, as /proc/uptime does. */
static void say_end(const struct ring_comm *comm, int err)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	printf("%.3f %d %s\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, err,
	       err ? ring_comm_error(comm) : "went on to the end");
}

#define PART_BYTES ((size_t)1 << 20) /* to each rank: more than a socket's buffers hold at first */

/* Begins once there is a file of that name and "-go". All see the file itself in the same sum. */
static int wait_for_file(struct ring_comm *comm, const char *task, const char *path)
{
	char go[512];
	size_t bytes = PART_BYTES * (size_t)ring_comm_size(comm);
	char *send = calloc(1, bytes), *recv = calloc(1, bytes);
	int err = send && recv ? 0 : RING_ENOMEM, found = 0;
	bool exchanges = strcmp(task, "exchange") == 0;
	printf("created\n");
	snprintf(go, sizeof(go), "%s-go", path);
	while (access(go, F_OK) != 0)
		usleep(1000);
	while (!err && !found) {
		found = access(path, F_OK) == 0;
		if (exchanges)
			err = ring_all_to_all(comm, send, recv, PART_BYTES, RING_INT8, NULL);
		if (!err)
			err = ring_all_reduce(comm, &found, &found, 1, RING_INT32, RING_MAX, NULL);
		if (strcmp(task, "keep") == 0)
			usleep(found ? 0 : 7000000);
		else
			usleep(exchanges ? 20000 : 1000);
	}
	say_end(comm, err);
	free(send);
	free(recv);
	return 0;
}

#define DESCRIPTORS 256 /* among the first are those of devices, ... */
#define HANDLES 256     /* ... and what they have made has small numbers */

/* As a device does that has met an error: has the kernel stop all queue pairs of this process. */
static void stop_queue_pairs(int signal)
{
	struct {
		struct ib_uverbs_cmd_hdr header;
		struct ib_uverbs_modify_qp request;
	} command = {
		.header = {.command = IB_USER_VERBS_CMD_MODIFY_QP, .in_words = sizeof(command) / 4},
		.request = {.attr_mask = 1 /* IBV_QP_STATE */, .qp_state = 6 /* IBV_QPS_ERR */},
	};
	char path[64], device[64];
	(void)signal;
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t length = readlink(path, device, sizeof(device));
		if (length < 0 || !memmem(device, (size_t)length, "uverbs", 6))
			continue;
		for (unsigned handle = 0; handle < HANDLES; handle++) {
			command.request.qp_handle = handle;
			(void)!write(fd, &command, sizeof(command));
		}
	}
}

static int wait_for_failure(struct ring_comm *comm, bool calls)
{
	float *data = calloc(COUNT, sizeof(*data));
	int err = data ? 0 : RING_ENOMEM;
	signal(SIGUSR1, stop_queue_pairs);
	printf("created\n");
	while (!err) {
		if (calls)
			err = ring_all_reduce(comm, data, data, COUNT, RING_FLOAT32, RING_SUM, NULL);
		else
			usleep(1000);
		if (!err)
			err = ring_comm_status(comm);
	}
	say_end(comm, err);
	free(data);
	return 0;
}

static int wait_for_message(struct ring_comm *comm)
{
	char byte;
	int err = 0;
	printf("created\n");
	if (ring_comm_rank(comm) == 2)
		err = ring_recv(comm, &byte, 1, RING_INT8, 0, NULL);
	while (!err) {
		usleep(1000);
		err = ring_comm_status(comm);
	}
	say_end(comm, err);
	return 0;
}

#define GIVEN_BYTES ((size_t)2 << 20)

/* Rank 0 leaves as soon as it has sent all, which may be long before the others have it. */
static int give(struct ring_comm *comm)
{
	char *data = calloc(1, GIVEN_BYTES);
	int err = data ? ring_broadcast(comm, data, data, GIVEN_BYTES, RING_INT8, 0, NULL)
		       : RING_ENOMEM;
	say_end(comm, err);
	free(data);
	return 0;
}

/* ---- two communicators -------------------------------------------------------------------- */

/* Creation fails at once or by its deadline: how long it took is said, too. */
static double seconds_since(const struct timespec *start)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static int add_ranks(struct ring_comm *comm)
{
	int size = ring_comm_size(comm), sum = ring_comm_rank(comm);
	int err = ring_all_reduce(comm, &sum, &sum, 1, RING_INT32, RING_SUM, NULL);
	if (err)
		printf("rank %d: %s\n", ring_comm_rank(comm), ring_comm_error(comm));
	else if (sum != size * (size - 1) / 2)
		printf("rank %d: the sum is %d\n", ring_comm_rank(comm), sum);
	return err || sum != size * (size - 1) / 2;
}

/* The second communicator is made while the first one's meeting may still linger. */
static int add_twice(struct ring_comm *first, unsigned late_seconds)
{
	struct ring_comm *second;
	int wrong = add_ranks(first);
	if (ring_comm_rank(first) == 0)
		sleep(late_seconds);
	int err = ring_comm_create_from_env(&second, NULL);
	if (err)
		return complain("the second one", err);
	wrong += add_ranks(second) + add_ranks(first);
	if (!wrong)
		printf("rank %d of %d: right, twice\n", ring_comm_rank(second),
		       ring_comm_size(second));
	ring_comm_destroy(second);
	return wrong != 0;
}

static int add_thrice(struct ring_comm *first)
{
	struct ring_comm *third;
	int wrong = add_twice(first, 0);
	int err = ring_comm_split(first, 0, 0, &third);
	if (err)
		return complain("the third one", err);
	wrong += add_ranks(third);
	ring_comm_destroy(third);
	return wrong != 0;
}

#define EACH 5000 /* integers to each rank */

/* Whether rank `from` sent what it does to this rank. */
static bool came(const struct ring_comm *comm, const int *part, int from)
{
	bool right = true;
	for (int i = 0; i < EACH; i++)
		right = right && part[i] == from * 1000 + ring_comm_rank(comm) + i;
	return right;
}

static int exchange(struct ring_comm *comm, int *send, int *recv, bool pairs)
{
	const int size = ring_comm_size(comm);
	int err = 0;
	if (!pairs)
		return ring_all_to_all(comm, send, recv, EACH, RING_INT32, NULL);
	ring_group_start();
	for (int peer = 0; peer < size && !err; peer++) {
		size_t at = (size_t)peer * EACH;
		err = ring_send(comm, send + at, EACH, RING_INT32, peer, NULL);
		if (!err)
			err = ring_recv(comm, recv + at, EACH, RING_INT32, peer, NULL);
	}
	const int end = ring_group_end();
	return err ? err : end;
}

static int use_mesh(struct ring_comm *comm)
{
	const struct rlimit little = {64 << 10, 64 << 10};
	const int size = ring_comm_size(comm), rank = ring_comm_rank(comm);
	int *send = calloc((size_t)size * EACH, sizeof(*send));
	int *recv = calloc((size_t)size * EACH, sizeof(*recv));
	int err = send && recv ? ring_barrier(comm, NULL) : RING_ENOMEM, wrong = 0;
	if (rank == 1)
		setrlimit(RLIMIT_MEMLOCK, &little);
	for (int i = 0; !err && i < size * EACH; i++)
		send[i] = rank * 1000 + i / EACH + i % EACH;
	for (int round = 0; round < 4 && !err; round++) {
		memset(recv, 0, (size_t)size * EACH * sizeof(*recv));
		err = exchange(comm, send, recv, round % 2);
		for (int from = 0; from < size && !err; from++)
			wrong += !came(comm, recv + (size_t)from * EACH, from);
	}
	if (!err)
		err = add_ranks(comm);
	printf("rank %d: %s\n", rank, err ? ring_comm_error(comm) : wrong ? "WRONG" : "all came");
	free(send);
	free(recv);
	return err || wrong;
}

/* What others see of that is their launcher's business. */
static int fail(struct ring_comm *comm)
{
	int wrong = add_ranks(comm);
	return wrong ? 1 : ring_comm_rank(comm) == 1 ? 7 : 0;
}

/* The child exits as any program does: the parent's connection must outlive that. */
static int fork_once(struct ring_comm *comm)
{
	struct ring_comm *second;
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		int err = ring_comm_create_from_env(&second, NULL);
		exit(err == RING_EINVAL && strstr(ring_comm_error(NULL), "forked") ? 0 : 1);
	}
	waitpid(child, &status, 0);
	if (status != 0)
		printf("rank %d: its child ended with %d\n", ring_comm_rank(comm), status);
	return status != 0 || add_twice(comm, 0);
}

int main(int argc, char **argv)
{
	const char *task = argc >= 2 ? argv[1] : "";
	struct ring_comm *comm;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(task, "id") == 0)
		return serve();
	struct timespec start;
	clock_gettime(CLOCK_MONOTONIC, &start);
	int err = ring_comm_create_from_env(&comm, NULL);
	if (err)
		return printf("after %.1f s: ", seconds_since(&start)), complain("creation", err);
	int result = 2;
	if (strcmp(task, "counters") == 0)
		result = compare_counters(comm, argc == 3 ? atoi(argv[2]) : 1);
	else if (strcmp(task, "loop") == 0 || strcmp(task, "idle") == 0)
		result = wait_for_failure(comm, task[0] == 'l');
	else if (strcmp(task, "receive") == 0)
		result = wait_for_message(comm);
	else if (strcmp(task, "give") == 0)
		result = give(comm);
	else if (argc == 3)
		result = wait_for_file(comm, task, argv[2]);
	else if (strcmp(task, "twice") == 0 || strcmp(task, "later") == 0)
		result = add_twice(comm, task[0] == 'l' ? 3 : 0);
	else if (strcmp(task, "thrice") == 0)
		result = add_thrice(comm);
	else if (strcmp(task, "mesh") == 0)
		result = use_mesh(comm);
	else if (strcmp(task, "forks") == 0)
		result = fork_once(comm);
	else if (strcmp(task, "once") == 0)
		result = 0;
	else if (strcmp(task, "fail") == 0)
		result = fail(comm);
	ring_comm_destroy(comm);
	return result;
}
