/* SPDX-License-Identifier: MIT */
/*
 * One table holds every setting: its variable, its field, its default and what is allowed. A bad
 * variable leaves the default in place, as ring_options_init() cannot fail; resolving reads the
 * variables again and reports it, even if the program has overruled it.
 */
#include "options.h"

#include <limits.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/pace.h"
#include "transport/transport.h"
#include "base/number.h"
#include "tuning_table.h"

#define ALLOWED_TEXT 160

enum kind { TEXT, NUMBER, BYTES };

struct value {
	const char *text; /* TEXT; NULL is the default */
	long long number; /* NUMBER, BYTES */
};

struct setting {
	enum kind kind;
	const char *variable, *field;
	size_t offset;         /* in struct ring_options */
	long long least, most; /* TEXT: of its characters */
	long long fallback;    /* the default, allowed too */

	/* TEXT, optional: checks it, and says what is allowed */
	bool (*valid)(const char *text, char allowed[ALLOWED_TEXT]);
};

static bool read_ports(const char *text, int *first, int *last)
{
	char rest;
	return sscanf(text, "%5d-%5d%c", first, last, &rest) == 2 && 1 <= *first &&
	       *first <= *last && *last <= 65535;
}

static bool ports_are_valid(const char *text, char allowed[ALLOWED_TEXT])
{
	int first, last;
	snprintf(allowed, ALLOWED_TEXT, "lo-hi, where 1 <= lo <= hi <= 65535");
	return read_ports(text, &first, &last);
}

static bool transports_are_valid(const char *text, char allowed[ALLOWED_TEXT])
{
	char unknown[32];
	int length = snprintf(allowed, ALLOWED_TEXT, "a comma-separated list of");
	for (int i = 0; i < ring_transport_count && length < ALLOWED_TEXT; i++)
		length += snprintf(allowed + length, (size_t)(ALLOWED_TEXT - length), " %s",
				   ring_transports[i]->name);
	return ring_transport_names_valid(text, unknown);
}

static bool link_is_valid(const char *text, char allowed[ALLOWED_TEXT])
{
	struct ring_pace_speed speed;
	snprintf(allowed, ALLOWED_TEXT,
		 "a bandwidth from 1B/s to 1000GB/s and perhaps a latency up to 10000ms, "
		 "like \"1GB/s,20us\" or \"2.5Gbit/s\"");
	return ring_pace_read(text, &speed);
}

static bool algorithm_is_valid(const char *text, char allowed[ALLOWED_TEXT])
{
	int length = snprintf(allowed, ALLOWED_TEXT, "one of");
	for (int i = 0; i < RING_ALGORITHMS && length < ALLOWED_TEXT; i++)
		if (ring_algorithm_is_choice((enum ring_algorithm)i))
			length += snprintf(allowed + length, (size_t)(ALLOWED_TEXT - length), " %s",
					   ring_algorithm_name((enum ring_algorithm)i));
	return ring_algorithm_find(text) >= 0;
}

#define FIELD(name) #name, offsetof(struct ring_options, name)
#define ROOM(name) (sizeof(((struct ring_config *)0)->name) - 1)

static const struct setting settings[] = {
	{TEXT, "RING_TRANSPORT", FIELD(transport), 0, ROOM(transport), 0, transports_are_valid},
	{TEXT, "RING_INTERFACE", FIELD(interface), 0, ROOM(interface), 0, NULL},
	{TEXT, "RING_PORT_RANGE", FIELD(port_range), 0, INT_MAX, 0, ports_are_valid},
	{TEXT, "RING_HOST", FIELD(host), 0, ROOM(host), 0, NULL},
	{TEXT, "RING_CONGESTION", FIELD(congestion), 0, ROOM(congestion), 0, NULL},
	{TEXT, "RING_TRACE", FIELD(trace), 0, ROOM(trace), 0, NULL},
	{NUMBER, "RING_CREATE_TIMEOUT_MS", FIELD(create_timeout_ms), 1, INT_MAX, 60000, NULL},
	{NUMBER, "RING_CALL_TIMEOUT_MS", FIELD(call_timeout_ms), 0, INT_MAX, 600000, NULL},
	{NUMBER, "RING_PEER_LOST_MS", FIELD(peer_lost_ms), 1, INT_MAX, 5000, NULL},
	{BYTES, "RING_CHUNK_BYTES", FIELD(chunk_bytes), 8, 1 << 30, 0, NULL},
	{NUMBER, "RING_DEPTH", FIELD(depth), 1, RING_DEPTH_MAX, 0, NULL},
	{NUMBER, "RING_CHUNKS_PER_ROUND", FIELD(chunks_per_round), 1, 64, 0, NULL},
	{NUMBER, "RING_CHANNELS", FIELD(channels), 1, 8, 0, NULL},
	{NUMBER, "RING_SPINS", FIELD(spins), 0, INT_MAX, -1, NULL},
	{NUMBER, "RING_YIELDS", FIELD(yields), 0, INT_MAX, -1, NULL},
	{TEXT, "RING_LINK", FIELD(link), 0, ROOM(link), 0, link_is_valid},
	{TEXT, "RING_ALGORITHM", FIELD(algorithm), 0, ROOM(algorithm), 0, algorithm_is_valid},
	{TEXT, "RING_TUNING", FIELD(tuning), 0, ROOM(tuning), 0, NULL},
	{TEXT, "RING_DEVICE", FIELD(device), 0, ROOM(device), 0, NULL},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static struct value load(const struct setting *setting, const struct ring_options *options)
{
	const void *field = (const char *)options + setting->offset;
	switch (setting->kind) {
	case TEXT:
		return (struct value){.text = *(const char *const *)field};
	case NUMBER:
		return (struct value){.number = *(const int *)field};
	case BYTES:
		return (struct value){.number = (long long)*(const size_t *)field};
	}
	return (struct value){0};
}

static void store(const struct setting *setting, struct ring_options *options, struct value value)
{
	void *field = (char *)options + setting->offset;
	switch (setting->kind) {
	case TEXT:
		*(const char **)field = value.text;
		break;
	case NUMBER:
		*(int *)field = (int)value.number;
		break;
	case BYTES:
		*(size_t *)field = (size_t)value.number;
		break;
	}
}

/* Checks a value, and says what it should be. */
static bool is_allowed(const struct setting *setting, struct value value, char allowed[ALLOWED_TEXT])
{
	if (setting->kind == TEXT) {
		snprintf(allowed, ALLOWED_TEXT, "at most %lld characters", setting->most);
		if (!value.text || !value.text[0])
			return true;
		return strlen(value.text) <= (size_t)setting->most &&
		       (!setting->valid || setting->valid(value.text, allowed));
	}
	bool usual = setting->least <= value.number && value.number <= setting->most;
	int length = snprintf(allowed, ALLOWED_TEXT, "%lld to %lld%s", setting->least, setting->most,
			      setting->kind == BYTES ? " bytes, like 64K, 2M or 1G" : "");
	if (setting->fallback < setting->least)
		snprintf(allowed + length, ALLOWED_TEXT - (size_t)length, ", or %lld to choose",
			 setting->fallback);
	return usual || value.number == setting->fallback;
}

/* Sets *value if the setting's variable is set and not empty. */
static int read_variable(const struct setting *setting, struct value *value,
			 struct ring_failure *failure)
{
	const char *text = getenv(setting->variable);
	if (!text || !text[0])
		return 0;

	struct value wanted = {.text = text};
	bool readable = setting->kind == TEXT ||
			ring_number_read(text, setting->kind == BYTES, &wanted.number);
	char allowed[ALLOWED_TEXT];
	if (!is_allowed(setting, wanted, allowed) || !readable)
		return ring_fail(failure, RING_EINVAL,
				 "the variable %s is \"%.200s\", but must be %s", setting->variable,
				 text, allowed);
	*value = wanted;
	return 0;
}

/* Texts are the environment's own; creation copies them. */
void ring_options_init_size(struct ring_options *options, size_t size)
{
	struct ring_options all = {.size = size};
	for (const struct setting *setting = settings; setting < settings + SETTINGS; setting++) {
		struct value value = {.number = setting->fallback};
		read_variable(setting, &value, NULL);
		store(setting, &all, value);
	}
	memset(options, 0, size);
	memcpy(options, &all, size < sizeof(all) ? size : sizeof(all));
}

void(ring_options_init)(struct ring_options *options)
{
	ring_options_init_size(options,
			       offsetof(struct ring_options, device) + sizeof(options->device));
}

static int check_variables(struct ring_failure *failure)
{
	struct value ignored;
	int err = 0;
	for (size_t i = 0; !err && i < SETTINGS; i++)
		err = read_variable(&settings[i], &ignored, failure);
	return err;
}

static int check_field(const struct setting *setting, const struct ring_options *options,
		       struct ring_failure *failure)
{
	struct value value = load(setting, options);
	char allowed[ALLOWED_TEXT];
	if (is_allowed(setting, value, allowed))
		return 0;
	if (setting->kind == TEXT)
		return ring_fail(failure, RING_EINVAL, "options.%s is \"%.200s\", but must be %s",
				 setting->field, value.text, allowed);
	return ring_fail(failure, RING_EINVAL, "options.%s is %lld, but must be %s", setting->field,
			 value.number, allowed);
}

/*
 * A program that was built with an older header has a shorter struct: fields behind its end keep
 * what ring_options_init() says. A longer one asks for what this library cannot do.
 */
static int take_fields(struct ring_options *all, const struct ring_options *options,
		       struct ring_failure *failure)
{
	size_t size = options->size;
	if (size <= sizeof(options->size) || size > sizeof(*all) ||
	    size % alignof(struct ring_options))
		return ring_fail(failure, RING_EINVAL,
				 "options.size is %zu, but must be at most %zu and set by "
				 "ring_options_init()",
				 size, sizeof(*all));
	memcpy(all, options, size);

	int err = 0;
	for (size_t i = 0; !err && i < SETTINGS; i++)
		err = check_field(&settings[i], all, failure);
	return err;
}

static void copy_text(char *copy, const char *text)
{
	strcpy(copy, text ? text : ""); /* is_allowed() knows that it fits */
}

static void fill(struct ring_config *config, const struct ring_options *options)
{
	*config = (struct ring_config){
		.create_timeout_ms = options->create_timeout_ms,
		.call_timeout_ms = options->call_timeout_ms,
		.peer_lost_ms = options->peer_lost_ms,
		.chunk_bytes = options->chunk_bytes,
		.depth = options->depth,
		.chunks_per_round = options->chunks_per_round,
		.channels = options->channels,
		.spins = options->spins,
		.yields = options->yields,
	};
	copy_text(config->transport, options->transport);
	copy_text(config->interface, options->interface);
	copy_text(config->host, options->host);
	copy_text(config->congestion, options->congestion);
	copy_text(config->trace, options->trace);
	copy_text(config->link, options->link);
	copy_text(config->algorithm, options->algorithm);
	copy_text(config->tuning, options->tuning);
	copy_text(config->device, options->device);
	if (options->port_range && options->port_range[0])
		read_ports(options->port_range, &config->port_first, &config->port_last);
}

int ring_config_resolve(struct ring_config *config, const struct ring_options *options,
			struct ring_failure *failure)
{
	int err = check_variables(failure);
	if (err)
		return err;

	struct ring_options all;
	ring_options_init(&all);
	if (options)
		err = take_fields(&all, options, failure);
	if (!err)
		fill(config, &all);
	return err;
}

void ring_config_options(const struct ring_config *config, char port_range[RING_PORT_RANGE_TEXT],
			 struct ring_options *options)
{
	snprintf(port_range, RING_PORT_RANGE_TEXT, "%d-%d", config->port_first, config->port_last);
	*options = (struct ring_options){
		.size = sizeof(*options),
		.transport = config->transport,
		.interface = config->interface,
		.port_range = config->port_first ? port_range : "",
		.host = config->host,
		.congestion = config->congestion,
		.trace = "",
		.create_timeout_ms = config->create_timeout_ms,
		.call_timeout_ms = config->call_timeout_ms,
		.peer_lost_ms = config->peer_lost_ms,
		.chunk_bytes = config->chunk_bytes,
		.depth = config->depth,
		.chunks_per_round = config->chunks_per_round,
		.channels = config->channels,
		.spins = config->spins,
		.yields = config->yields,
		.link = config->link,
		.algorithm = config->algorithm,
		.tuning = config->tuning,
		.device = config->device,
	};
}
