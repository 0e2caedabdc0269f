/* SPDX-License-Identifier: MIT */
/* Which address is chosen among made-up interfaces, and what this host says. */
#include "door/interface.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct sockaddr_storage address_of(const char *text, int port)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
	}
	return address;
}

/* A host as getifaddrs() lists it. */
static const struct {
	const char *name, *address;
} host[] = {
	{"lo", "127.0.0.1"},      {"docker0", "172.17.0.1"}, {"eth0", "fe80::1"},
	{"eth0", "192.168.1.7"},  {"eth0", "fd00::7"},       {"eth1", "10.1.2.3"},
	{"eth10", "10.129.2.3"},  {"ib0", "10.2.0.1"},       {"lo", "::1"},
	{"veth12ab", "10.3.0.1"},
};

/* Index in host[] of what is chosen; -1 if nothing is. routed: index, -1 none. */
static int choice(const char *spec, int routed, int family, struct ring_failure *failure)
{
	struct ring_interface interfaces[LENGTH(host)] = {0};
	for (size_t i = 0; i < LENGTH(host); i++) {
		strcpy(interfaces[i].name, host[i].name);
		interfaces[i].address = address_of(host[i].address, 0);
		interfaces[i].loopback = strcmp(host[i].name, "lo") == 0;
		interfaces[i].routed = (int)i == routed;
	}
	return ring_interface_select(spec, interfaces, LENGTH(host), family, failure);
}

static void assert_chosen(const char *spec, int routed, int family, const char *name,
			  const char *address)
{
	struct ring_failure failure = {0};
	int chosen = choice(spec, routed, family, &failure);
	if (chosen < 0)
		fail_msg("\"%s\": %s", spec, failure.text);
	if (strcmp(host[chosen].name, name) || strcmp(host[chosen].address, address))
		fail_msg("\"%s\": %s %s", spec, host[chosen].name, host[chosen].address);
}

static void assert_nothing(const char *spec, const char *words)
{
	struct ring_failure failure = {0};
	assert_int_equal(choice(spec, -1, AF_UNSPEC, &failure), RING_EINVAL);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\": %s", spec, failure.text);
}

static void without_a_spec(void **state)
{
	(void)state;
	assert_chosen("", -1, AF_UNSPEC, "eth0", "192.168.1.7");
	assert_chosen("", -1, AF_INET6, "eth0", "fd00::7");
	assert_chosen("", 7, AF_UNSPEC, "ib0", "10.2.0.1");
	assert_chosen("", 0, AF_INET, "lo", "127.0.0.1");
	assert_chosen("", 1, AF_INET, "docker0", "172.17.0.1");
}

static void names(void **state)
{
	(void)state;
	assert_chosen("eth1", -1, AF_UNSPEC, "eth1", "10.1.2.3");
	assert_chosen("=eth10", -1, AF_UNSPEC, "eth10", "10.129.2.3");
	assert_chosen("eth", -1, AF_UNSPEC, "eth0", "192.168.1.7");
	assert_chosen("eth0", -1, AF_INET6, "eth0", "fd00::7");
	assert_chosen("eth", 6, AF_UNSPEC, "eth10", "10.129.2.3");
	assert_chosen("lo", 3, AF_UNSPEC, "lo", "127.0.0.1");
	assert_chosen("veth", -1, AF_UNSPEC, "veth12ab", "10.3.0.1");
}

static void networks(void **state)
{
	(void)state;
	assert_chosen("10.2.0.0/16", -1, AF_UNSPEC, "ib0", "10.2.0.1");
	assert_chosen("10.128.0.0/9", -1, AF_UNSPEC, "eth10", "10.129.2.3");
	assert_chosen("192.168.1.7", -1, AF_UNSPEC, "eth0", "192.168.1.7");
	assert_chosen("fd00::/8", -1, AF_UNSPEC, "eth0", "fd00::7");
	assert_chosen("fe80::/10", -1, AF_UNSPEC, "eth0", "fe80::1");
	assert_chosen("::/0", -1, AF_UNSPEC, "eth0", "fd00::7");
	assert_chosen("0.0.0.0/0", -1, AF_UNSPEC, "eth0", "192.168.1.7");
}

static void first_entry_that_matches_wins(void **state)
{
	(void)state;
	assert_chosen("ib,eth", 3, AF_UNSPEC, "ib0", "10.2.0.1");
	assert_chosen("wlan,10.1.0.0/16,eth0", 3, AF_UNSPEC, "eth1", "10.1.2.3");
	assert_chosen("wlan, lo", -1, AF_UNSPEC, "lo", "127.0.0.1");
}

static void exclusions(void **state)
{
	(void)state;
	assert_chosen("^eth0", -1, AF_UNSPEC, "eth1", "10.1.2.3");
	assert_chosen("^eth0", 3, AF_UNSPEC, "eth1", "10.1.2.3");
	assert_chosen("^eth,^ib", -1, AF_UNSPEC, "docker0", "172.17.0.1");
	assert_chosen("^eth,^ib,^docker,^veth", -1, AF_UNSPEC, "lo", "127.0.0.1");
	assert_chosen("eth,^=eth0,^10.1.0.0/16", -1, AF_UNSPEC, "eth10", "10.129.2.3");
	assert_chosen("^192.168.0.0/16,^10.0.0.0/8", -1, AF_UNSPEC, "eth0", "fd00::7");
}

static void what_matches_nothing(void **state)
{
	(void)state;
	assert_nothing("wlan", "eth0 192.168.1.7");
	assert_nothing("=eth", "there are lo 127.0.0.1, docker0 172.17.0.1");
	assert_nothing("^0.0.0.0/0,^::/0", "there are");
	assert_nothing("eth0,^eth", "there are");
	assert_nothing("10.0.0/8", "\"10.0.0/8\"");
	assert_nothing("10.0.0.0/33", "10.0.0.0/8");
	assert_nothing("10.0.0.0/", "\"10.0.0.0/\"");
	assert_nothing("10.0.0.0/8x", "\"10.0.0.0/8x\"");
	assert_nothing("eth0,", "\"\"");
	assert_nothing("^", "\"^\"");

	struct ring_failure failure = {0};
	assert_int_equal(ring_interface_select("", NULL, 0, AF_UNSPEC, &failure), RING_EINVAL);
}

static void formats(void **state)
{
	(void)state;
	char text[RING_ADDRESS_TEXT];
	struct sockaddr_storage address = address_of("10.0.0.1", 4711);
	assert_string_equal(ring_address_format(&address, text), "10.0.0.1:4711");
	assert_int_equal(ring_address_length(&address), sizeof(struct sockaddr_in));

	address = address_of("fd00::1", 4711);
	assert_string_equal(ring_address_format(&address, text), "[fd00::1]:4711");
	assert_int_equal(ring_address_length(&address), sizeof(struct sockaddr_in6));

	address = address_of("fe80:1111:2222:3333:4444:5555:6666:7777", 65535);
	((struct sockaddr_in6 *)&address)->sin6_scope_id = UINT32_MAX;
	assert_string_equal(ring_address_format(&address, text),
			    "[fe80:1111:2222:3333:4444:5555:6666:7777%4294967295]:65535");
	ring_address_set_local(&address, "ringccl-1");
	assert_string_equal(ring_address_format(&address, text), "@ringccl-1");
	assert_string_equal(ring_address_local(&address), "ringccl-1");
	assert_true(ring_address_is_loopback(&address));
	address.ss_family = AF_UNSPEC;
	assert_string_equal(ring_address_format(&address, text), "?");
}

static void this_host(void **state)
{
	(void)state;
	struct ring_failure failure = {0};
	struct sockaddr_storage address, towards = address_of("127.0.0.1", 9);
	char text[RING_ADDRESS_TEXT];
	assert_int_equal(ring_interface_choose("", &towards, &address, &failure), 0);
	assert_string_equal(ring_address_format(&address, text), "127.0.0.1:0");
	assert_int_equal(ring_interface_choose("", NULL, &address, &failure), 0);
	assert_int_equal(ring_interface_choose("=no-such", NULL, &address, &failure), RING_EINVAL);
	assert_non_null(strstr(failure.text, "127.0.0.1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_spec), cmocka_unit_test(names),
		cmocka_unit_test(networks),       cmocka_unit_test(first_entry_that_matches_wins),
		cmocka_unit_test(exclusions),     cmocka_unit_test(what_matches_nothing),
		cmocka_unit_test(formats),        cmocka_unit_test(this_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
