/* SPDX-License-Identifier: MIT */
/* Walks devices, ports and GIDs, and keeps the best; see choice.h. */
#include "choice.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "transport/transport.h"

#define GIDS_MAX 256
#define LINE 128
#define DEVICE_TEXT 255 /* of characters */

/* How good a GID is, and how far a port came that has none. Larger is better. */
enum rank_of_gid {
	NOT_USABLE,
	LINK_LOCAL,
	ROUTABLE_V6,
	ROUTABLE_V4,
	OF_CONNECTION,
};

/* What a port lacks, the most promising last. */
enum lack { NO_DEVICE, NO_PORT, NO_VERBS, NO_CARRIER, NO_GID };

struct search {
	const char *folder;
	const struct ring_verbs_wish *wish;
	unsigned char wanted[16]; /* the connection's address as a GID; all zero: none */
	struct ring_verbs_choice *best;
	struct ring_verbs_choice fastest; /* of all that can be used */
	enum rank_of_gid rank;            /* of `best` */
	enum lack lack;                   /* of the most promising port, as `why` says */
	char *why;
};

__attribute__((format(printf, 3, 4))) static void reject(struct search *search, enum lack lack,
							 const char *format, ...)
{
	va_list args;
	if (lack < search->lack)
		return;
	search->lack = lack;
	va_start(args, format);
	vsnprintf(search->why, RING_ABSENT_TEXT, format, args);
	va_end(args);
}

/* ---- the environment ---- */

/* "mlx5_0" or "mlx5_0:1"; false: it is neither, and *wish is as it was. */
static bool read_device(const char *text, struct ring_verbs_wish *wish)
{
	size_t length = strcspn(text, ":");
	char *end = "";
	long port = text[length] ? strtol(text + length + 1, &end, 10) : 0;
	if (length == 0 || length >= sizeof(wish->device) || memchr(text, '/', length) || *end ||
	    port < 0 || port > 255 || (text[length] && port == 0))
		return false;
	memcpy(wish->device, text, length);
	wish->device[length] = '\0';
	wish->port = (int)port;
	return true;
}

static bool device_is_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	struct ring_verbs_wish wish;
	snprintf(allowed, RING_ALLOWED_TEXT, "a device, or a device and a port, such as mlx5_0:1");
	return read_device(text, &wish);
}

static bool mtu_is_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	long bytes = strtol(text, NULL, 10);
	snprintf(allowed, RING_ALLOWED_TEXT, "256, 512, 1024, 2048 or 4096");
	return (bytes & (bytes - 1)) == 0;
}

#define NUMBER(variable, name, least, most, fallback, valid)                                       \
	{                                                                                          \
		RING_SETTING_NUMBER, variable, offsetof(struct ring_verbs_wish, name), least,      \
			most, fallback, valid                                                      \
	}

const struct ring_setting ring_verbs_settings[] = {
	{RING_SETTING_TEXT, "RING_VERBS_DEVICE", 0, 0, DEVICE_TEXT, 0, device_is_valid},
	NUMBER("RING_VERBS_GID", gid, 0, GIDS_MAX - 1, -1, NULL),
	NUMBER("RING_VERBS_MTU", mtu, 256, 4096, 0, mtu_is_valid),
	NUMBER("RING_VERBS_TC", traffic_class, 0, 255, 0, NULL),
	NUMBER("RING_VERBS_SL", service_level, 0, 15, 0, NULL),
	NUMBER("RING_VERBS_PKEY", pkey, 0, 65535, 0, NULL),
	{.variable = NULL},
};

static void store(const struct ring_setting *setting, const struct ring_setting_value *value,
		  struct ring_verbs_wish *wish)
{
	if (setting->kind == RING_SETTING_NUMBER)
		*(int *)((char *)wish + setting->offset) = (int)value->number;
	else if (value->text)
		read_device(value->text, wish);
}

/* Creation has refused what is wrong, but a program may have set a variable since. */
bool ring_verbs_wish_read(struct ring_verbs_wish *wish, char *why)
{
	struct ring_failure failure = {0};
	*wish = (struct ring_verbs_wish){0};
	for (const struct ring_setting *setting = ring_verbs_settings; setting->variable; setting++) {
		struct ring_setting_value value = {.number = setting->fallback};
		if (ring_setting_read(setting, &value, &failure)) {
			snprintf(why, RING_ABSENT_TEXT, "%.255s", failure.text);
			return false;
		}
		store(setting, &value, wish);
	}
	return true;
}

/* ---- the kernel's tree ---- */

/* The first line of a file below the device's folder. False: there is none, and line is empty. */
static bool read_line(const struct search *search, const char *device, const char *name,
		      char line[LINE])
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s/%s", search->folder, device, name);
	FILE *file = ring_fd_file(path);
	bool read = file && fgets(line, LINE, file);
	if (file)
		fclose(file);
	line[read ? strcspn(line, "\n") : 0] = '\0';
	return read;
}

static bool read_gid(const struct search *search, const struct ring_verbs_choice *choice,
		     unsigned char gid[16])
{
	char name[64], line[LINE];
	snprintf(name, sizeof(name), "ports/%d/gids/%d", choice->port, choice->gid_index);
	if (!read_line(search, choice->device, name, line) || strlen(line) != 39)
		return false;
	for (int i = 0; i < 16; i++) {
		unsigned byte;
		if (sscanf(line + 2 * i + i / 2, "%2x", &byte) != 1)
			return false;
		gid[i] = (unsigned char)byte;
	}
	return true;
}

static const unsigned char nothing[16], mapped_v4[12] = {[10] = 0xff, [11] = 0xff};

static enum rank_of_gid rank_gid(const struct search *search, const unsigned char gid[16])
{
	if (memcmp(gid, nothing, 16) == 0)
		return NOT_USABLE;
	if (memcmp(gid, search->wanted, 16) == 0)
		return OF_CONNECTION;
	if (memcmp(gid, mapped_v4, sizeof(mapped_v4)) == 0)
		return ROUTABLE_V4;
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80 ? LINK_LOCAL : ROUTABLE_V6;
}

static bool is_version_2(const struct search *search, const struct ring_verbs_choice *choice)
{
	char name[64], line[LINE];
	snprintf(name, sizeof(name), "ports/%d/gid_attrs/types/%d", choice->port, choice->gid_index);
	return read_line(search, choice->device, name, line) && strcmp(line, "RoCE v2") == 0;
}

/* ---- the search ---- */

static void look_at_gid(struct search *search, struct ring_verbs_choice *choice)
{
	if (!read_gid(search, choice, choice->gid) ||
	    (choice->ethernet && !is_version_2(search, choice)))
		return;
	enum rank_of_gid rank = rank_gid(search, choice->gid);
	if (rank > NOT_USABLE && choice->rate > search->fastest.rate)
		search->fastest = *choice;
	if (rank > search->rank) {
		search->rank = rank;
		*search->best = *choice;
		search->best->of_connection = rank == OF_CONNECTION;
	}
}

/* Whether none can be better: each look at a GID opens two files, and there are hundreds. */
static bool is_found(const struct search *search)
{
	bool known = memcmp(search->wanted, nothing, sizeof(nothing)) != 0;
	return search->rank == (known ? OF_CONNECTION : ROUTABLE_V4);
}

/* "100 Gb/sec (4X EDR)" */
static double read_rate(const struct search *search, const char *device, int port)
{
	char name[64], line[LINE];
	snprintf(name, sizeof(name), "ports/%d/rate", port);
	return read_line(search, device, name, line) ? strtod(line, NULL) : 0;
}

/* Behind the best, a faster port's are looked at until one can be used. */
static void look_at_gids(struct search *search, struct ring_verbs_choice *choice)
{
	const int wanted = search->wish->gid;
	const int last = wanted >= 0 ? wanted : choice->ethernet ? GIDS_MAX - 1 : 0;
	for (choice->gid_index = wanted >= 0 ? wanted : 0;
	     choice->gid_index <= last && (!is_found(search) || choice->rate > search->fastest.rate);
	     choice->gid_index++)
		look_at_gid(search, choice);
}

static void look_at_port(struct search *search, const char *device, int port)
{
	const int wanted = search->wish->gid;
	struct ring_verbs_choice choice = {.port = port};
	char name[64], line[LINE];
	snprintf(choice.device, sizeof(choice.device), "%.63s", device);
	snprintf(name, sizeof(name), "ports/%d/state", port);
	if (!read_line(search, device, name, line) || strncmp(line, "4:", 2) != 0) {
		reject(search, NO_CARRIER,
		       "port %d of %.63s is not active (%.40s): is its cable in, and its "
		       "interface up?",
		       port, device, line[0] ? line : "its state cannot be read");
		return;
	}
	snprintf(name, sizeof(name), "ports/%d/link_layer", port);
	choice.ethernet = read_line(search, device, name, line) && strcmp(line, "Ethernet") == 0;
	choice.rate = read_rate(search, device, port);
	look_at_gids(search, &choice);
	if (wanted >= 0)
		reject(search, NO_GID,
		       "RING_VERBS_GID=%d is not among the %saddresses of port %d of %.63s; "
		       "`ibv_devinfo -v -d %.63s` lists them",
		       wanted, choice.ethernet ? "RoCE v2 " : "", port, device, device);
	else
		reject(search, NO_GID,
		       "port %d of %.63s has no RoCE v2 address: give its interface an IP address",
		       port, device);
}

/* For scandir(3): names in order, so that everybody's first is the same. */
static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void look_at_device(struct search *search, const char *device)
{
	char path[512], line[LINE];
	struct dirent **ports;
	if (read_line(search, device, "node_type", line) && strncmp(line, "4:", 2) == 0) {
		reject(search, NO_VERBS,
		       "%.63s is an iWARP device, which cannot write with immediate data", device);
		return;
	}
	if (search->wish->port > 0)
		reject(search, NO_PORT, "no RDMA device has a port %d (RING_VERBS_DEVICE)",
		       search->wish->port);
	else
		reject(search, NO_PORT, "%.63s has no port", device);
	snprintf(path, sizeof(path), "%s/%s/ports", search->folder, device);
	int count = scandir(path, &ports, is_name, by_number);
	for (int i = 0; i < count; i++) {
		int port = atoi(ports[i]->d_name);
		if (search->wish->port == 0 || port == search->wish->port)
			look_at_port(search, device, port);
		free(ports[i]);
	}
	if (count >= 0)
		free(ports);
}

/* No port has a loopback address: a search for it would look at every GID. */
static void note_wanted(struct search *search, const struct sockaddr_storage *address)
{
	if (address && address->ss_family == AF_INET6)
		memcpy(search->wanted, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
	if (!address || address->ss_family != AF_INET)
		return;
	const struct in_addr *v4 = &((const struct sockaddr_in *)address)->sin_addr;
	if (ntohl(v4->s_addr) >> 24 == IN_LOOPBACKNET)
		return;
	memcpy(search->wanted, mapped_v4, sizeof(mapped_v4));
	memcpy(search->wanted + 12, v4, 4);
}

static void note_faster(struct search *search)
{
	const struct ring_verbs_choice *fastest = &search->fastest;
	if (search->rank == NOT_USABLE || fastest->rate <= search->best->rate)
		return;
	snprintf(search->best->faster, sizeof(search->best->faster), "%.63s:%d", fastest->device,
		 fastest->port);
	search->best->faster_rate = fastest->rate;
}

bool ring_verbs_choose(const char *folder, const struct ring_verbs_wish *wish,
		       const struct sockaddr_storage *address, struct ring_verbs_choice *choice,
		       char *why)
{
	struct search search = {.folder = folder, .wish = wish, .best = choice, .why = why};
	struct dirent **devices;
	note_wanted(&search, address);
	int count = scandir(folder, &devices, is_name, by_number);
	if (count <= 0)
		reject(&search, NO_DEVICE, "this system has no RDMA device (%s)", folder);
	else
		reject(&search, NO_DEVICE, "there is no RDMA device %.63s (RING_VERBS_DEVICE)",
		       wish->device);
	for (int i = 0; i < count; i++) {
		const char *device = devices[i]->d_name;
		if (!wish->device[0] || strcmp(device, wish->device) == 0)
			look_at_device(&search, device);
		free(devices[i]);
	}
	if (count >= 0)
		free(devices);
	note_faster(&search);
	return search.rank != NOT_USABLE;
}
