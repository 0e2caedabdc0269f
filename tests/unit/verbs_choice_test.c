/* SPDX-License-Identifier: MIT */
/*
 * Which RDMA port and address are chosen, over trees such as the kernel shows in
 * /sys/class/infiniband; and the sentence where there is none.
 */
#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/transport.h"
#include "transport/verbs/choice.h"

#define V4 "0000:0000:0000:0000:0000:ffff:0a4d:0001" /* 10.77.0.1 */
#define OTHER_V4 "0000:0000:0000:0000:0000:ffff:0a4e:0001"
#define LOCAL "fe80:0000:0000:0000:a076:d1ff:fe7f:0aef"
#define NONE "0000:0000:0000:0000:0000:0000:0000:0000"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/verbs_choice.XXXXXX");
	unsetenv("RING_VERBS_DEVICE");
	unsetenv("RING_VERBS_GID");
	unsetenv("RING_VERBS_MTU");
	unsetenv("RING_VERBS_TC");
	unsetenv("RING_VERBS_SL");
	unsetenv("RING_VERBS_PKEY");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *where)
{
	(void)stat;
	(void)kind;
	(void)where;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a line to a file of the tree, and makes the folders on its way. */
static void put(const char *device, const char *name, const char *line)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s/%s", folder, device, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", line);
	fclose(file);
}

static void remove_file(const char *device, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s/%s", folder, device, name);
	assert_int_equal(remove(path), 0);
}

static void put_port(const char *device, int port, const char *state, const char *layer)
{
	char name[64];
	put(device, "node_type", "1: CA");
	snprintf(name, sizeof(name), "ports/%d/state", port);
	put(device, name, state);
	snprintf(name, sizeof(name), "ports/%d/link_layer", port);
	put(device, name, layer);
}

static void put_gid(const char *device, int port, int index, const char *gid, const char *type)
{
	char name[64];
	snprintf(name, sizeof(name), "ports/%d/gids/%d", port, index);
	put(device, name, gid);
	snprintf(name, sizeof(name), "ports/%d/gid_attrs/types/%d", port, index);
	if (type)
		put(device, name, type);
}

/* "device:port/gid", or why there is none. */
static const char *chosen_for(const char *address)
{
	static char text[RING_ABSENT_TEXT];
	struct ring_verbs_wish wish;
	struct ring_verbs_choice choice;
	struct sockaddr_storage own = {.ss_family = AF_INET};
	if (address)
		inet_pton(AF_INET, address, &((struct sockaddr_in *)&own)->sin_addr);
	if (ring_verbs_wish_read(&wish, text) &&
	    ring_verbs_choose(folder, &wish, address ? &own : NULL, &choice, text))
		snprintf(text, sizeof(text), "%s:%d/%d", choice.device, choice.port,
			 choice.gid_index);
	return text;
}

static void put_rate(const char *device, const char *rate)
{
	put(device, "ports/1/rate", rate);
}

/* "device:port rate", and behind a comma the port that is faster. */
static const char *rates_for(const char *address)
{
	static char text[RING_ABSENT_TEXT];
	struct ring_verbs_wish wish;
	struct ring_verbs_choice choice;
	struct sockaddr_storage own = {.ss_family = AF_INET};
	inet_pton(AF_INET, address, &((struct sockaddr_in *)&own)->sin_addr);
	if (ring_verbs_wish_read(&wish, text) &&
	    ring_verbs_choose(folder, &wish, &own, &choice, text) && choice.faster[0])
		snprintf(text, sizeof(text), "%s:%d %g, %s %g", choice.device, choice.port,
			 choice.rate, choice.faster, choice.faster_rate);
	else
		snprintf(text, sizeof(text), "%s:%d %g", choice.device, choice.port, choice.rate);
	return text;
}

static void put_roce(const char *device, const char *gid)
{
	put_port(device, 1, "4: ACTIVE", "Ethernet");
	put_gid(device, 1, 0, LOCAL, "IB/RoCE v1");
	put_gid(device, 1, 1, LOCAL, "RoCE v2");
	put_gid(device, 1, 2, NONE, NULL);
	put_gid(device, 1, 3, gid, "RoCE v2");
}

static void the_best_address_is_chosen(void **state)
{
	(void)state;
	put_roce("mlx5_0", V4);
	assert_string_equal(chosen_for(NULL), "mlx5_0:1/3");
	put_gid("mlx5_0", 1, 3, V4, "IB/RoCE v1");
	assert_string_equal(chosen_for(NULL), "mlx5_0:1/1");
	put_gid("mlx5_0", 1, 9, "2001:0db8:0000:0000:0000:0000:0000:0001", "RoCE v2");
	assert_string_equal(chosen_for(NULL), "mlx5_0:1/9");
}

static void the_port_of_the_connection_is_chosen(void **state)
{
	(void)state;
	put_roce("mlx5_0", V4);
	put_roce("mlx5_1", OTHER_V4);
	assert_string_equal(chosen_for(NULL), "mlx5_0:1/3");
	assert_string_equal(chosen_for("10.77.0.1"), "mlx5_0:1/3");
	assert_string_equal(chosen_for("10.78.0.1"), "mlx5_1:1/3");
	assert_string_equal(chosen_for("127.0.0.1"), "mlx5_0:1/3");
}

/* The management's card has the address of the meeting, and those for data have not. */
static void a_faster_port_that_is_left_aside_is_named(void **state)
{
	(void)state;
	put_roce("mlx5_0", V4);
	put_roce("mlx5_1", OTHER_V4);
	put_roce("mlx5_2", OTHER_V4);
	put_rate("mlx5_0", "25 Gb/sec (1X EDR)");
	put_rate("mlx5_1", "400 Gb/sec (4X NDR)");
	put_rate("mlx5_2", "2.5 Gb/sec (1X SDR)");
	assert_string_equal(rates_for("10.77.0.1"), "mlx5_0:1 25, mlx5_1:1 400");
	assert_string_equal(rates_for("10.78.0.1"), "mlx5_1:1 400");
	put_rate("mlx5_0", "800 Gb/sec (8X NDR)");
	assert_string_equal(rates_for("10.78.0.1"), "mlx5_1:1 400, mlx5_0:1 800");
	setenv("RING_VERBS_DEVICE", "mlx5_1", 1);
	assert_string_equal(rates_for("10.78.0.1"), "mlx5_1:1 400"); /* the user's choice */
	unsetenv("RING_VERBS_DEVICE");
	for (int i = 0; i < 4; i++)
		put_gid("mlx5_0", 1, i, NONE, "RoCE v2");
	assert_string_equal(rates_for("10.78.0.1"), "mlx5_1:1 400"); /* the other cannot be used */
	remove_file("mlx5_1", "ports/1/rate");
	assert_string_equal(rates_for("10.78.0.1"), "mlx5_1:1 0, mlx5_2:1 2.5");
}

/* A port may have hundreds of addresses, and every link searches: behind the best none is read. */
static void the_search_ends_with_the_best_address(void **state)
{
	char later[256];
	(void)state;
	put_roce("mlx5_0", V4);
	snprintf(later, sizeof(later), "%s/mlx5_0/ports/1/gids/4", folder);
	assert_int_equal(mkfifo(later, 0600), 0); /* whoever opens it stays there */
	alarm(60);
	assert_string_equal(chosen_for(NULL), "mlx5_0:1/3");
	assert_string_equal(chosen_for("10.77.0.1"), "mlx5_0:1/3");
	assert_string_equal(chosen_for("127.0.0.1"), "mlx5_0:1/3");
	alarm(0);
}

static void the_environment_is_obeyed(void **state)
{
	(void)state;
	put_roce("mlx5_0", V4);
	put_roce("mlx5_1", OTHER_V4);
	put_port("mlx5_1", 2, "4: ACTIVE", "InfiniBand");
	put_gid("mlx5_1", 2, 0, LOCAL, NULL);
	setenv("RING_VERBS_DEVICE", "mlx5_1", 1);
	assert_string_equal(chosen_for("10.77.0.1"), "mlx5_1:1/3");
	setenv("RING_VERBS_DEVICE", "mlx5_1:2", 1);
	assert_string_equal(chosen_for("10.77.0.1"), "mlx5_1:2/0");
	setenv("RING_VERBS_DEVICE", "mlx5_0:1", 1);
	setenv("RING_VERBS_GID", "1", 1);
	assert_string_equal(chosen_for("10.77.0.1"), "mlx5_0:1/1");
}

/* What the sentence must hold. */
static void assert_refused(const char *words)
{
	const char *why = chosen_for(NULL);
	if (!strstr(why, words))
		fail_msg("\"%s\" where \"%s\" was due", why, words);
}

static void whatever_is_missing_is_named(void **state)
{
	(void)state;
	assert_refused("this system has no RDMA device");
	put_port("siw0", 1, "4: ACTIVE", "Ethernet");
	put("siw0", "node_type", "4: RNIC");
	assert_refused("siw0 is an iWARP device");
	put_roce("mlx5_0", V4);
	put("mlx5_0", "ports/1/state", "1: DOWN");
	assert_refused("port 1 of mlx5_0 is not active (1: DOWN)");
	remove_file("mlx5_0", "ports/1/state");
	assert_refused("port 1 of mlx5_0 is not active (its state cannot be read)");
	put("mlx5_0", "ports/1/state", "4: ACTIVE");
	setenv("RING_VERBS_DEVICE", "mlx5_7", 1);
	assert_refused("there is no RDMA device mlx5_7 (RING_VERBS_DEVICE)");
	setenv("RING_VERBS_DEVICE", "mlx5_0:3", 1);
	assert_refused("no RDMA device has a port 3 (RING_VERBS_DEVICE)");
	setenv("RING_VERBS_DEVICE", "mlx5_0", 1);
	setenv("RING_VERBS_GID", "7", 1);
	assert_refused("RING_VERBS_GID=7 is not among the RoCE v2 addresses of port 1 of mlx5_0");
	unsetenv("RING_VERBS_GID");
	for (int i = 0; i < 4; i++)
		put_gid("mlx5_0", 1, i, NONE, "RoCE v2");
	assert_refused("port 1 of mlx5_0 has no RoCE v2 address");
}

/* Part of the tree is hidden, as in some containers. */
static void a_device_without_ports_is_named(void **state)
{
	(void)state;
	put("mlx5_0", "node_type", "1: CA");
	assert_refused("mlx5_0 has no port");
	setenv("RING_VERBS_DEVICE", "mlx5_0:2", 1);
	assert_refused("no RDMA device has a port 2 (RING_VERBS_DEVICE)");
}

static void nonsense_is_refused(void **state)
{
	static const struct {
		const char *variable, *value;
	} rows[] = {
		{"RING_VERBS_DEVICE", "../../etc"},
		{"RING_VERBS_DEVICE", "mlx5_0:"},
		{"RING_VERBS_DEVICE", "mlx5_0:x"},
		{"RING_VERBS_DEVICE", "mlx5_0:300"},
		{"RING_VERBS_GID", "one"},
		{"RING_VERBS_GID", "-2"},
		{"RING_VERBS_GID", "256"},
		{"RING_VERBS_MTU", "1500"},
		{"RING_VERBS_MTU", "8192"},
		{"RING_VERBS_TC", "256"},
		{"RING_VERBS_SL", "16"},
		{"RING_VERBS_PKEY", "first"},
	};
	(void)state;
	put_roce("mlx5_0", V4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char said[64];
		setenv(rows[i].variable, rows[i].value, 1);
		snprintf(said, sizeof(said), "%s is \"%s\", but must be ", rows[i].variable,
			 rows[i].value);
		assert_refused(said);
		unsetenv(rows[i].variable);
	}
	assert_string_equal(chosen_for(NULL), "mlx5_0:1/3");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(the_best_address_is_chosen),
		TEST(the_port_of_the_connection_is_chosen),
		TEST(a_faster_port_that_is_left_aside_is_named),
		TEST(the_search_ends_with_the_best_address),
		TEST(the_environment_is_obeyed),
		TEST(whatever_is_missing_is_named),
		TEST(a_device_without_ports_is_named),
		TEST(nonsense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
