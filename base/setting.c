/* SPDX-License-Identifier: MIT */
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/number.h"

static bool text_is_allowed(const struct ring_setting *setting, const char *text,
			    char allowed[RING_ALLOWED_TEXT])
{
	snprintf(allowed, RING_ALLOWED_TEXT, "at most %lld characters", setting->most);
	if (!text || !text[0])
		return true;
	return strlen(text) <= (size_t)setting->most &&
	       (!setting->valid || setting->valid(text, allowed));
}

bool ring_setting_allows(const struct ring_setting *setting, struct ring_setting_value value,
			 char allowed[RING_ALLOWED_TEXT])
{
	if (setting->kind == RING_SETTING_TEXT)
		return text_is_allowed(setting, value.text, allowed);
	bool usual = setting->least <= value.number && value.number <= setting->most;
	int length = snprintf(allowed, RING_ALLOWED_TEXT, "%lld to %lld%s", setting->least,
			      setting->most,
			      setting->kind == RING_SETTING_BYTES ? " bytes, like 64K, 2M or 1G"
								  : "");
	if (setting->fallback < setting->least)
		snprintf(allowed + length, RING_ALLOWED_TEXT - (size_t)length,
			 ", or %lld to choose", setting->fallback);
	if (usual && value.text && setting->valid)
		usual = setting->valid(value.text, allowed);
	return usual || value.number == setting->fallback;
}

int ring_setting_read(const struct ring_setting *setting, struct ring_setting_value *value,
		      struct ring_failure *failure)
{
	const char *text = getenv(setting->variable);
	if (!text || !text[0])
		return 0;

	struct ring_setting_value wanted = {.text = text};
	bool readable = setting->kind == RING_SETTING_TEXT ||
			ring_number_read(text, setting->kind == RING_SETTING_BYTES, &wanted.number);
	char allowed[RING_ALLOWED_TEXT];
	if (!ring_setting_allows(setting, wanted, allowed) || !readable)
		return ring_fail(failure, RING_EINVAL,
				 "the variable %s is \"%.200s\", but must be %s", setting->variable,
				 text, allowed);
	*value = wanted;
	return 0;
}
