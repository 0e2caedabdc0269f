/* SPDX-License-Identifier: MIT */
/*
 * Strangers at every door of a job, while it is made and while it works: more of them than may come
 * in at once, who say nothing, rubbish, too little, or nearly the right thing. The job must not
 * notice, and must not spend descriptors on them without bound.
 */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "door/greeting.h"
#include "meet/rendezvous.h"
#include "scene.h"
#include "base/wire.h"

#define SIZE 4
#define CREATE_S 5.0    /* with a crowd at the doors */
#define FDS_MAX 160     /* of a rank: its own and those of strangers not yet shown out */
#define AT_ONE_DOOR 120 /* strangers at a time */
#define DOORS_MAX 64
#define PATIENCE_MAX 300
#define HELLO_BYTES 60
#define PROOF_BYTES 32

enum manner { SILENT, RUBBISH, SLOW, HTTP, TLS, VERSION, JOB, SECRET, HELLO_ONLY, RESET, MANNERS };

/* Somebody's listener. */
struct door {
	struct sockaddr_storage address;
	socklen_t length;
};

struct stranger {
	int fd; /* -1: not connected */
	enum manner manner;
	const struct door *door;
	unsigned char words[512];
	size_t count, said;
	int patience; /* looks before it leaves by itself */
};

struct crowd {
	const struct ring_unique_id *id;
	struct door doors[DOORS_MAX];
	struct stranger strangers[DOORS_MAX * AT_ONE_DOOR];
	int door_count, count;
	long visits;
	uint64_t seed;
};

/* ---- what they say ------------------------------------------------------------------------ */

/* The first message of the protocol, as greeting.h describes it, with its mistakes. */
static size_t say_hello(struct crowd *crowd, enum manner manner, unsigned char *words)
{
	uint32_t version = RING_WIRE_VERSION + (manner == VERSION);
	uint64_t job = ring_unique_id_job(crowd->id) + (manner == JOB);
	uint32_t role = RING_ROLE_JOIN + (uint32_t)scene_random(&crowd->seed, 3), attempt = 0;
	int from = (int)scene_random(&crowd->seed, SIZE), channel = 0;
	int to = role == RING_ROLE_JOIN ? RING_RANK_ROOT : (from + 1) % SIZE;
	uint32_t offered = 0, required = 0;
	unsigned char nonce[16] = "not very random";
	struct ring_wire wire = ring_wire_writer(words, HELLO_BYTES);
	ring_wire_bytes(&wire, (void *)"ring", 4);
	ring_wire_u32(&wire, &version);
	ring_wire_u64(&wire, &job);
	ring_wire_u32(&wire, &role);
	ring_wire_int(&wire, &from);
	ring_wire_int(&wire, &to);
	ring_wire_int(&wire, &channel);
	ring_wire_u32(&wire, &attempt);
	ring_wire_u32(&wire, &offered);
	ring_wire_u32(&wire, &required);
	ring_wire_bytes(&wire, nonce, sizeof(nonce));
	return wire.at;
}

static void rehearse(struct crowd *crowd, struct stranger *stranger)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: ring\r\n\r\n";
	static const unsigned char tls[] = {0x16, 3, 1, 0, 0xc8, 1, 0, 0, 0xc4, 3, 3};
	unsigned char *words = stranger->words;
	stranger->said = 0;
	stranger->count = 0;
	switch (stranger->manner) {
	case RUBBISH:
		stranger->count = 1 + (size_t)scene_random(&crowd->seed, sizeof(stranger->words));
		for (size_t i = 0; i < stranger->count; i++)
			words[i] = (unsigned char)harness_random(&crowd->seed);
		break;
	case HTTP:
		stranger->count = sizeof(http) - 1;
		memcpy(words, http, stranger->count);
		break;
	case TLS:
		stranger->count = sizeof(stranger->words);
		memset(words, 7, stranger->count);
		memcpy(words, tls, sizeof(tls));
		break;
	case SECRET: /* the hello, and a proof that is none */
		stranger->count = say_hello(crowd, SECRET, words) + PROOF_BYTES;
		memset(words + HELLO_BYTES, 0x55, PROOF_BYTES);
		break;
	case SLOW:
	case VERSION:
	case JOB:
	case HELLO_ONLY:
		stranger->count = say_hello(crowd, stranger->manner, words);
		break;
	default:
		break;
	}
}

/* ---- how they come and go ----------------------------------------------------------------- */

static void leave(struct stranger *stranger)
{
	const struct linger at_once = {.l_onoff = 1};
	if (stranger->manner == RESET)
		setsockopt(stranger->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(stranger->fd);
	stranger->fd = -1;
}

static void arrive(struct crowd *crowd, struct stranger *stranger)
{
	const struct door *door = stranger->door;
	stranger->manner = (enum manner)(crowd->visits++ % MANNERS);
	stranger->patience = 1 + (int)scene_random(&crowd->seed, PATIENCE_MAX);
	rehearse(crowd, stranger);
	stranger->fd = socket(door->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			      0);
	if (stranger->fd < 0)
		return;
	if (connect(stranger->fd, (const struct sockaddr *)&door->address, door->length) &&
	    errno != EINPROGRESS)
		leave(stranger);
}

/* One more word, and a look whether it has been shown out. */
static void go_on(struct stranger *stranger)
{
	char answer[256];
	size_t left = stranger->count - stranger->said;
	size_t bytes = stranger->manner == SLOW && left ? 1 : left;
	ssize_t said = bytes ? send(stranger->fd, stranger->words + stranger->said, bytes,
				    MSG_NOSIGNAL)
			     : 0;
	if (said > 0)
		stranger->said += (size_t)said;
	ssize_t heard = recv(stranger->fd, answer, sizeof(answer), 0);
	bool is_out = heard == 0 || (heard < 0 && errno != EAGAIN && errno != ENOTCONN);
	if (is_out || stranger->manner == RESET || --stranger->patience == 0)
		leave(stranger);
}

static void press(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++) {
		if (crowd->strangers[i].fd < 0)
			arrive(crowd, &crowd->strangers[i]);
		else
			go_on(&crowd->strangers[i]);
	}
}

static void disperse(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++)
		if (crowd->strangers[i].fd >= 0)
			leave(&crowd->strangers[i]);
}

/* ---- where the doors are ------------------------------------------------------------------ */

static void add_door(struct crowd *crowd, const void *address, socklen_t length)
{
	for (int d = 0; d < crowd->door_count; d++)
		if (crowd->doors[d].length == length &&
		    memcmp(&crowd->doors[d].address, address, length) == 0)
			return;
	if (crowd->door_count == DOORS_MAX)
		return;
	struct door *door = &crowd->doors[crowd->door_count++];
	memcpy(&door->address, address, length);
	door->length = length;
	for (int i = 0; i < AT_ONE_DOOR; i++)
		crowd->strangers[crowd->count++] = (struct stranger){.fd = -1, .door = door};
}

/* Which sockets a process has open: inode numbers. returns how many descriptors it has */
static int list_sockets(pid_t pid, unsigned long *inodes, int room, int *found)
{
	char path[64], link[64];
	int fds = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	*found = 0;
	for (struct dirent *entry; dir && (entry = readdir(dir)); fds++) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		link[length < 0 ? 0 : length] = '\0';
		if (*found < room && sscanf(link, "socket:[%lu]", &inodes[*found]) == 1)
			++*found;
	}
	if (dir)
		closedir(dir);
	return fds;
}

static bool is_among(unsigned long inode, const unsigned long *inodes, int count)
{
	for (int i = 0; i < count; i++)
		if (inodes[i] == inode)
			return true;
	return false;
}

static void find_tcp_doors(struct crowd *crowd, const unsigned long *inodes, int count)
{
	char line[512];
	FILE *file = fopen("/proc/net/tcp", "r");
	while (file && fgets(line, sizeof(line), file)) {
		unsigned address, port, state;
		unsigned long inode;
		if (sscanf(line, "%*d: %x:%x %*s %x %*s %*s %*s %*s %*s %lu", &address, &port,
			   &state, &inode) != 4 ||
		    state != 0x0a || !is_among(inode, inodes, count))
			continue;
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
		in.sin_addr.s_addr = address;
		add_door(crowd, &in, sizeof(in));
	}
	if (file)
		fclose(file);
}

static void find_local_doors(struct crowd *crowd, const unsigned long *inodes, int count)
{
	char line[512], name[108];
	FILE *file = fopen("/proc/net/unix", "r");
	while (file && fgets(line, sizeof(line), file)) {
		unsigned flags;
		unsigned long inode;
		if (sscanf(line, "%*s %*s %*s %x %*s %*s %lu @%107s", &flags, &inode, name) != 3 ||
		    !(flags & 0x10000) || !is_among(inode, inodes, count))
			continue;
		struct sockaddr_un un = {.sun_family = AF_UNIX};
		memcpy(un.sun_path + 1, name, strlen(name));
		add_door(crowd, &un,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
	}
	if (file)
		fclose(file);
}

/* Adds what is new. returns the most descriptors that one process has */
static int find_doors(struct crowd *crowd, const struct scene *scene)
{
	int most = 0;
	for (int rank = 0; rank < scene->team.children; rank++) {
		unsigned long inodes[1024];
		int count, fds = list_sockets(scene_pid(scene, rank), inodes, 1024, &count);
		most = fds > most ? fds : most;
		find_tcp_doors(crowd, inodes, count);
		find_local_doors(crowd, inodes, count);
	}
	return most;
}

/* ---- the job ------------------------------------------------------------------------------ */

/* Many calls with rests between them, for about a second and a half. */
static int act(struct scene_actor *actor)
{
	int err = 0;
	scene_reach(actor, SCENE_ACTING);
	for (int i = 0; i < 100 && !err; i++) {
		err = scene_all_reduce(actor, 20000, 1);
		scene_sleep(0.015);
	}
	return err;
}

static bool is_over(const struct scene *scene)
{
	for (int rank = 0; rank < scene->size; rank++)
		if (scene->memory->reports[rank].stage != SCENE_OVER)
			return false;
	return true;
}

/* Presses until the job is done. returns the most descriptors a process had */
static int besiege(struct crowd *crowd, struct scene *scene)
{
	double deadline = harness_clock() + scene->seconds;
	int most = 0;
	for (int i = 0; !is_over(scene) && harness_clock() < deadline; i++) {
		int fds = i % 20 == 0 ? find_doors(crowd, scene) : 0;
		most = fds > most ? fds : most;
		press(crowd);
		if (i == 5)
			scene_open_gate(scene); /* the crowd is there before the ranks */
		usleep(2000);
	}
	disperse(crowd);
	return most;
}

static int run(const char *transport, uint64_t seed)
{
	static struct crowd crowd;
	struct scene scene;
	scene_init(&scene, SIZE);
	scene.label = transport;
	scene.server = SIZE;
	scene.gated = true;
	scene.options.transport = transport;
	scene.act = act;
	if (scene_start(&scene))
		return 1;
	crowd = (struct crowd){.id = &scene.memory->id, .seed = seed};
	int wrong = !scene_await_id(&scene, 2000);
	int fds = besiege(&crowd, &scene);
	wrong += scene_wait(&scene);
	double slowest = 0;
	for (int rank = 0; rank < SIZE; rank++) {
		const struct scene_report *report = &scene.memory->reports[rank];
		wrong += scene_check_report(&scene, rank);
		if (report->err || report->calls != 100)
			wrong += scene_fail(&scene, rank, "%s after %d calls: %s",
					    ring_strerror(report->err), report->calls,
					    report->sentence);
		slowest = report->created_s > slowest ? report->created_s : slowest;
	}
	if (slowest > CREATE_S)
		wrong += scene_fail(&scene, -1, "creation took %.0f ms", 1e3 * slowest);
	if (fds > FDS_MAX)
		wrong += scene_fail(&scene, -1, "a rank had %d descriptors", fds);
	if (crowd.door_count < SIZE + 1 || crowd.visits < 1000)
		wrong += scene_fail(&scene, -1, "only %d doors, %ld visits", crowd.door_count,
				    crowd.visits);
	printf("# %d doors, %ld visits, created in %.0f ms, at most %d descriptors\n",
	       crowd.door_count, crowd.visits, 1e3 * slowest, fds);
	scene_end(&scene);
	return wrong;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	uint64_t seed = harness_seed(argc, argv);
	int rounds = harness_is_long(argc, argv) ? 10 : 1;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
	setrlimit(RLIMIT_NOFILE, &files);
	printf("# seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < rounds; round++) {
		scene_case(run("tcp", seed++), "strangers while ranks talk over tcp");
		scene_case(run("shm", seed++), "strangers while ranks talk over shm");
	}
	return scene_cases_end();
}
