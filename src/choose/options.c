/* SPDX-License-Identifier: MIT */
/*
 * How the rows of option_rows.c are filled in, read and copied. A bad variable leaves the default
 * in place, as ring_options_init() cannot fail; resolving reads the variables again and reports it,
 * even if the program has overruled it.
 */
#include "options.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "transport/transport.h"
#include "option_rows.h"
#include "question.h"
#include "unknown.h"

static struct ring_setting_value load(const struct ring_setting *setting,
				      const struct ring_options *options)
{
	const void *field = (const char *)options + setting->offset;
	switch (setting->kind) {
	case RING_SETTING_TEXT:
		return (struct ring_setting_value){.text = *(const char *const *)field};
	case RING_SETTING_NUMBER:
		return (struct ring_setting_value){.number = *(const int *)field};
	case RING_SETTING_BYTES:
		return (struct ring_setting_value){.number = (long long)*(const size_t *)field};
	}
	return (struct ring_setting_value){0};
}

static void store(const struct ring_setting *setting, void *field, struct ring_setting_value value)
{
	switch (setting->kind) {
	case RING_SETTING_TEXT:
		*(const char **)field = value.text;
		break;
	case RING_SETTING_NUMBER:
		*(int *)field = (int)value.number;
		break;
	case RING_SETTING_BYTES:
		*(size_t *)field = (size_t)value.number;
		break;
	}
}

/* Texts are the environment's own; creation copies them. */
void ring_options_init_size(struct ring_options *options, size_t size)
{
	struct ring_options all = {.size = size};
	for (int i = 0; i < ring_option_row_count; i++) {
		const struct ring_option_row *row = &ring_option_rows[i];
		struct ring_setting_value value = {.number = row->setting.fallback};
		ring_setting_read(&row->setting, &value, NULL);
		store(&row->setting, (char *)&all + row->setting.offset, value);
	}
	memset(options, 0, size);
	memcpy(options, &all, size < sizeof(all) ? size : sizeof(all));
}

void(ring_options_init)(struct ring_options *options)
{
	ring_options_init_size(options,
			       offsetof(struct ring_options, device) + sizeof(options->device));
}

static int check_transports(struct ring_failure *failure)
{
	struct ring_setting_value ignored;
	int err = 0;
	for (int i = 0; !err && i < ring_transport_count; i++) {
		const struct ring_setting *setting = ring_transports[i]->settings;
		for (; !err && setting && setting->variable; setting++)
			err = ring_setting_read(setting, &ignored, failure);
	}
	return err;
}

static int check_variables(struct ring_failure *failure)
{
	struct ring_setting_value ignored;
	int err = 0;
	for (int i = 0; !err && i < ring_option_row_count; i++)
		err = ring_setting_read(&ring_option_rows[i].setting, &ignored, failure);
	return err ? err : check_transports(failure);
}

static int check_field(const struct ring_option_row *row, const struct ring_options *options,
		       struct ring_failure *failure)
{
	struct ring_setting_value value = load(&row->setting, options);
	char allowed[RING_ALLOWED_TEXT];
	if (ring_setting_allows(&row->setting, value, allowed))
		return 0;
	if (row->setting.kind == RING_SETTING_TEXT)
		return ring_fail(failure, RING_EINVAL, "options.%s is \"%.200s\", but must be %s",
				 row->field, value.text, allowed);
	return ring_fail(failure, RING_EINVAL, "options.%s is %lld, but must be %s", row->field,
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
	for (int i = 0; !err && i < ring_option_row_count; i++)
		err = check_field(&ring_option_rows[i], all, failure);
	return err;
}

static void fill(struct ring_config *config, const struct ring_options *options)
{
	*config = (struct ring_config){0};
	for (int i = 0; i < ring_option_row_count; i++) {
		const struct ring_option_row *row = &ring_option_rows[i];
		struct ring_setting_value value = load(&row->setting, options);
		char *field = (char *)config + row->config_offset;
		if (row->setting.kind == RING_SETTING_TEXT) /* it fits: check_field() */
			strcpy(field, value.text ? value.text : "");
		else
			store(&row->setting, field, value);
	}
	if (config->port_range[0])
		ring_option_ports(config->port_range, &config->port_first, &config->port_last);
}

/* What is forced must be able to add in the order that is asked for. */
static int check_order(const struct ring_config *config, struct ring_failure *failure)
{
	char able[RING_ALLOWED_TEXT] = "";
	int length = 0, algorithm = ring_algorithm_find(config->algorithm);
	if (!config->order[0] || algorithm < 0 ||
	    ring_algorithm_has((enum ring_algorithm)algorithm, RING_ADDS_ALL))
		return 0;
	for (int i = 0; i < RING_ALGORITHMS && length < RING_ALLOWED_TEXT; i++)
		if (ring_algorithm_has((enum ring_algorithm)i, RING_ADDS_ALL))
			length += snprintf(able + length, (size_t)(RING_ALLOWED_TEXT - length),
					   "%s%s", length ? ", " : "",
					   ring_algorithm_name((enum ring_algorithm)i));
	return ring_fail(failure, RING_EINVAL,
			 "RING_ALGORITHM is \"%s\", which does not add in the order of ranks as "
			 "RING_ORDER=rank asks; unset one of them, or take one of %s",
			 config->algorithm, able);
}

int ring_config_resolve(struct ring_config *config, const struct ring_options *options,
			struct ring_failure *failure)
{
	ring_unknown_variables_tell();
	int err = check_variables(failure);
	if (err)
		return err;

	struct ring_options all;
	ring_options_init(&all);
	if (options)
		err = take_fields(&all, options, failure);
	if (err)
		return err;
	fill(config, &all);
	return check_order(config, failure);
}

void ring_config_options(const struct ring_config *config, struct ring_options *options)
{
	*options = (struct ring_options){.size = sizeof(*options)};
	for (int i = 0; i < ring_option_row_count; i++) {
		const struct ring_option_row *row = &ring_option_rows[i];
		char *field = (char *)options + row->setting.offset;
		const char *value = (const char *)config + row->config_offset;
		if (row->setting.kind == RING_SETTING_TEXT)
			*(const char **)field = value;
		else
			memcpy(field, value,
			       row->setting.kind == RING_SETTING_NUMBER ? sizeof(int)
									: sizeof(size_t));
	}
	options->trace = "";
}
