/* SPDX-License-Identifier: MIT */
/*
 * Lists this host's addresses, asks the kernel which one it would use, and chooses: the list comes
 * from the system, the choice is a pure function of it.
 */
#include "interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/fd.h"

/* ---- addresses ------------------------------------------------------------------------------- */

socklen_t ring_address_length(const struct sockaddr_storage *address)
{
	switch (address->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return sizeof(*address);
	}
}

bool ring_address_is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;
	if (address->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (address->ss_family == AF_UNIX)
		return true;
	return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* The address's bytes in network order; NULL if it is of another family. */
static const unsigned char *address_bytes(const struct sockaddr_storage *address)
{
	switch (address->ss_family) {
	case AF_INET:
		return (const unsigned char *)&((const struct sockaddr_in *)address)->sin_addr;
	case AF_INET6:
		return (const unsigned char *)&((const struct sockaddr_in6 *)address)->sin6_addr;
	default:
		return NULL;
	}
}

static bool is_link_local(const struct sockaddr_storage *address)
{
	const unsigned char *bytes = address_bytes(address);
	if (address->ss_family == AF_INET6)
		return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
	return bytes[0] == 169 && bytes[1] == 254;
}

static uint32_t scope_of(const struct sockaddr_storage *address)
{
	if (address->ss_family != AF_INET6)
		return 0;
	return ((const struct sockaddr_in6 *)address)->sin6_scope_id;
}

/* "fe80::1%2", without port. */
static const char *format_host(const struct sockaddr_storage *address, char text[RING_ADDRESS_TEXT])
{
	if (!inet_ntop(address->ss_family, address_bytes(address), text, RING_ADDRESS_TEXT))
		return strcpy(text, "?");
	size_t length = strlen(text);
	if (scope_of(address))
		snprintf(text + length, RING_ADDRESS_TEXT - length, "%%%u", scope_of(address));
	return text;
}

const char *ring_address_format(const struct sockaddr_storage *address, char *text)
{
	char host[RING_ADDRESS_TEXT];
	switch (address->ss_family) {
	case AF_INET:
		snprintf(text, RING_ADDRESS_TEXT, "%s:%u", format_host(address, host),
			 ntohs(((const struct sockaddr_in *)address)->sin_port));
		return text;
	case AF_INET6:
		snprintf(text, RING_ADDRESS_TEXT, "[%.53s]:%u", format_host(address, host),
			 ntohs(((const struct sockaddr_in6 *)address)->sin6_port));
		return text;
	case AF_UNIX:
		snprintf(text, RING_ADDRESS_TEXT, "@%.60s", ring_address_local(address));
		return text;
	default:
		return strcpy(text, "?");
	}
}

const char *ring_address_local(const struct sockaddr_storage *address)
{
	return ((const struct sockaddr_un *)address)->sun_path + 1;
}

void ring_address_set_local(struct sockaddr_storage *address, const char *name)
{
	struct sockaddr_un *local = (struct sockaddr_un *)address;
	*address = (struct sockaddr_storage){.ss_family = AF_UNIX};
	snprintf(local->sun_path + 1, sizeof(local->sun_path) - 1, "%s", name);
}

/* ---- what a spec says ------------------------------------------------------------------------ */

#define ENTRY_TEXT 64
#define ENTRIES_MAX 64

/* One entry: a network if it has a family, else a name. */
struct entry {
	bool excludes, exact;
	char name[ENTRY_TEXT];
	int family;
	unsigned char network[16];
	int bits; /* of network that count */
};

/* "10.0.0.0/8"; an address alone is a network of one. */
static bool read_network(const char *text, struct entry *entry)
{
	char host[ENTRY_TEXT], *end;
	size_t length = strcspn(text, "/");
	memcpy(host, text, length);
	host[length] = '\0';

	int family = strchr(host, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(family, host, entry->network) != 1)
		return false;
	long most = family == AF_INET6 ? 128 : 32, bits = most;
	if (text[length] == '/') {
		bits = strtol(text + length + 1, &end, 10);
		if (end == text + length + 1 || *end || bits < 0 || bits > most)
			return false;
	}
	entry->family = family;
	entry->bits = (int)bits;
	return true;
}

static bool read_entry(const char *text, struct entry *entry)
{
	*entry = (struct entry){0};
	text += strspn(text, " ");
	entry->excludes = *text == '^';
	text += entry->excludes;
	entry->exact = *text == '=';
	text += entry->exact;
	if (!*text || strlen(text) >= ENTRY_TEXT)
		return false;
	strcpy(entry->name, text);
	return entry->exact || read_network(text, entry) || !strchr(text, '/');
}

/* Returns how many entries there are, or an error. */
static int read_spec(const char *spec, struct entry entries[ENTRIES_MAX],
		     struct ring_failure *failure)
{
	char *copy = strdup(spec), *rest = copy, *text;
	if (!copy)
		return ring_fail(failure, RING_ENOMEM, "out of memory");
	int count = 0, err = 0;
	while (!err && (text = strsep(&rest, ","))) {
		if (count == ENTRIES_MAX || !read_entry(text, &entries[count++]))
			err = ring_fail(failure, RING_EINVAL,
					"\"%.64s\" in the interface \"%.128s\" (RING_INTERFACE) is "
					"neither a name, like eth0, nor a network, like 10.0.0.0/8",
					text, spec);
	}
	free(copy);
	return err ? err : count;
}

static bool is_in_network(const struct sockaddr_storage *address, const struct entry *entry)
{
	const unsigned char *bytes = address_bytes(address);
	int whole = entry->bits / 8, rest = entry->bits % 8;
	if (address->ss_family != entry->family || memcmp(bytes, entry->network, (size_t)whole))
		return false;
	return rest == 0 || (bytes[whole] ^ entry->network[whole]) >> (8 - rest) == 0;
}

static bool matches(const struct entry *entry, const struct ring_interface *interface)
{
	if (entry->family)
		return is_in_network(&interface->address, entry);
	return strncmp(interface->name, entry->name, strlen(entry->name)) == 0 &&
	       (!entry->exact || strlen(interface->name) == strlen(entry->name));
}

/* ---- the choice ------------------------------------------------------------------------------ */

static bool is_container_bridge(const char *name)
{
	static const char *const prefixes[] = {"docker", "veth", "br-", "virbr", "cni"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* How little reason there is to choose an address; below REASONS. */
#define REASONS 10
static int reluctance(const struct ring_interface *interface, int family)
{
	if (interface->routed)
		return 0;
	int other_family = interface->address.ss_family != family;
	if (interface->loopback)
		return 7 + other_family;
	if (is_container_bridge(interface->name))
		return 5 + other_family;
	return (is_link_local(&interface->address) ? 3 : 1) + other_family;
}

/* The first entry that names it; 0 if entries only exclude; -1 if it is excluded or not named. */
static int find_wish(const struct entry *entries, int count, const struct ring_interface *interface)
{
	int wish = -1;
	bool choosy = false;
	for (int i = 0; i < count; i++) {
		bool match = matches(&entries[i], interface);
		if (match && entries[i].excludes)
			return -1;
		if (match && wish < 0)
			wish = i;
		choosy = choosy || !entries[i].excludes;
	}
	return choosy ? wish : 0;
}

/* "there are lo 127.0.0.1, eth0 10.0.0.1", as far as there is room. */
static int fail_with_list(const char *spec, const struct ring_interface *interfaces, int n,
			  struct ring_failure *failure)
{
	char list[RING_FAILURE_TEXT - 200], address[RING_ADDRESS_TEXT];
	if (n == 0)
		return ring_fail(failure, RING_EINVAL, "no network interface of this host is up");
	size_t length = 0;
	for (int i = 0; i < n && length < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s %s",
					   i ? ", " : "there are ", interfaces[i].name,
					   format_host(&interfaces[i].address, address));
	return ring_fail(
		failure, RING_EINVAL,
		"the interface \"%.128s\" (RING_INTERFACE) matches no address of this host; %s",
		spec, list);
}

int ring_interface_select(const char *spec, const struct ring_interface *interfaces, int n,
			  int family, struct ring_failure *failure)
{
	struct entry entries[ENTRIES_MAX];
	int count = spec[0] ? read_spec(spec, entries, failure) : 0;
	if (count < 0)
		return count;

	int best = -1, best_rank = 0;
	for (int i = 0; i < n; i++) {
		int wish = find_wish(entries, count, &interfaces[i]);
		int rank = wish * REASONS +
			   reluctance(&interfaces[i], family == AF_UNSPEC ? AF_INET : family);
		if (wish >= 0 && (best < 0 || rank < best_rank)) {
			best = i;
			best_rank = rank;
		}
	}
	return best >= 0 ? best : fail_with_list(spec, interfaces, n, failure);
}

/* ---- what the system says -------------------------------------------------------------------- */

/* The address that the kernel would send from. Connecting a datagram socket sends nothing. */
static bool ask_route(const struct sockaddr_storage *to, struct sockaddr_storage *from)
{
	int fd = ring_fd_socket(to->ss_family, SOCK_DGRAM, 0);
	if (fd < 0)
		return false;
	socklen_t length = sizeof(*from);
	bool known = connect(fd, (const struct sockaddr *)to, ring_address_length(to)) == 0 &&
		     getsockname(fd, (struct sockaddr *)from, &length) == 0;
	ring_fd_close(fd);
	return known;
}

/* Asks for the way to addresses that only documents use: it is the default route. */
static bool ask_default_route(struct sockaddr_storage *from)
{
	struct sockaddr_storage to = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&to;
	v4->sin_family = AF_INET;
	v4->sin_port = htons(9);
	inet_pton(AF_INET, "203.0.113.1", &v4->sin_addr);
	if (ask_route(&to, from))
		return true;

	to = (struct sockaddr_storage){0};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&to;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(9);
	inet_pton(AF_INET6, "2001:db8::1", &v6->sin6_addr);
	return ask_route(&to, from);
}

/* Equal except for the port. */
static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	size_t bytes = a->ss_family == AF_INET6 ? 16 : 4;
	return memcmp(address_bytes(a), address_bytes(b), bytes) == 0 && scope_of(a) == scope_of(b);
}

static bool is_usable(const struct ifaddrs *entry)
{
	if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
		return false;
	int family = entry->ifa_addr->sa_family;
	return family == AF_INET || family == AF_INET6;
}

static struct ring_interface read_interface(const struct ifaddrs *entry,
					    const struct sockaddr_storage *routed)
{
	struct ring_interface interface = {.loopback = entry->ifa_flags & IFF_LOOPBACK};
	snprintf(interface.name, sizeof(interface.name), "%s", entry->ifa_name);
	if (entry->ifa_addr->sa_family == AF_INET)
		memcpy(&interface.address, entry->ifa_addr, sizeof(struct sockaddr_in));
	else
		memcpy(&interface.address, entry->ifa_addr, sizeof(struct sockaddr_in6));
	interface.routed = is_same_address(&interface.address, routed);
	return interface;
}

/* Returns how many there are, or an error; interfaces is to be freed. */
static int list_interfaces(const struct sockaddr_storage *routed,
			   struct ring_interface **interfaces, struct ring_failure *failure)
{
	struct ifaddrs *list;
	if (getifaddrs(&list))
		return ring_fail(failure, RING_ESYSTEM, "cannot list this host's addresses: %m");
	size_t room = 1;
	for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
		room++;

	int n = 0;
	*interfaces = calloc(room, sizeof(**interfaces));
	for (const struct ifaddrs *entry = list; *interfaces && entry; entry = entry->ifa_next) {
		if (is_usable(entry))
			(*interfaces)[n++] = read_interface(entry, routed);
	}
	freeifaddrs(list);
	if (!*interfaces)
		return ring_fail(failure, RING_ENOMEM, "no memory for a list of addresses");
	return n;
}

int ring_interface_choose(const char *spec, const struct sockaddr_storage *towards,
			  struct sockaddr_storage *address, struct ring_failure *failure)
{
	struct sockaddr_storage routed = {0};
	if (towards && towards->ss_family == AF_UNIX)
		towards = NULL;
	if (towards)
		ask_route(towards, &routed);
	else
		ask_default_route(&routed);

	struct ring_interface *interfaces = NULL;
	int n = list_interfaces(&routed, &interfaces, failure);
	if (n < 0)
		return n;
	if (n == 0 && (!spec[0] || strcmp(spec, "lo") == 0)) {
		ring_address_set_local(address, "");
		free(interfaces);
		return 0;
	}
	int chosen = ring_interface_select(spec, interfaces, n,
					   towards ? towards->ss_family : AF_UNSPEC, failure);
	if (chosen >= 0)
		*address = interfaces[chosen].address;
	free(interfaces);
	return chosen < 0 ? chosen : 0;
}
