/* SPDX-License-Identifier: MIT */
#include "unknown.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "transport/transport.h"
#include "base/log.h"
#include "base/text/spelling.h"
#include "option_rows.h"

#define PREFIX "RING_"
#define PREFIX_LETTERS 5

extern char **environ;

/* Those that are no options: of messages, of launchers, of ring_run for its ranks, of trial. */
static const char *const others[] = {
	"RING_LOG",        "RING_LOG_FILE",   "RING_RANK",        "RING_SIZE",
	"RING_ID",         "RING_SECRET",     "RING_SECRET_FILE", "RING_ROOT_PORT",
	"RING_LOCAL_RANK", "RING_LOCAL_SIZE", "RING_CUDA_ENGINE", "RING_NOTES",
};

/* What the project's tests have for themselves; they count warnings. */
static bool is_of_tests(const char *variable)
{
	return strncmp(variable, "RING_TEST_", 10) == 0 || strncmp(variable, "RING_FAKE_", 10) == 0;
}

/* Looks at the letters behind the prefix, which is right. */
static void look_at(struct ring_spelling *spelling, const char *known)
{
	ring_spelling_try(spelling, known + PREFIX_LETTERS);
}

static struct ring_spelling look_up(const char *variable)
{
	struct ring_spelling spelling = {.wrong = variable + PREFIX_LETTERS};
	for (int i = 0; i < ring_option_row_count; i++)
		look_at(&spelling, ring_option_rows[i].setting.variable);
	for (int i = 0; i < ring_transport_count; i++) {
		const struct ring_setting *setting = ring_transports[i]->settings;
		for (; setting && setting->variable; setting++)
			look_at(&spelling, setting->variable);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		look_at(&spelling, others[i]);
	return spelling;
}

bool ring_variable_is_unknown(const char *variable, char sentence[RING_UNKNOWN_TEXT])
{
	struct ring_spelling spelling = look_up(variable);
	if ((spelling.best && spelling.changes == 0) || is_of_tests(variable))
		return false;
	int length = snprintf(sentence, RING_UNKNOWN_TEXT, "the variable %.64s is not known",
			      variable);
	if (spelling.best)
		snprintf(sentence + length, RING_UNKNOWN_TEXT - (size_t)length,
			 "; did you mean " PREFIX "%s?", spelling.best);
	return true;
}

static void tell(void)
{
	char variable[80], sentence[RING_UNKNOWN_TEXT];
	for (char **entry = environ; entry && *entry; entry++) {
		int letters = (int)strcspn(*entry, "=");
		if (strncmp(*entry, PREFIX, PREFIX_LETTERS) != 0)
			continue;
		snprintf(variable, sizeof(variable), "%.*s", letters, *entry);
		if (ring_variable_is_unknown(variable, sentence))
			ring_log(RING_WARN, "%s", sentence);
	}
}

void ring_unknown_variables_tell(void)
{
	static pthread_once_t told = PTHREAD_ONCE_INIT;
	pthread_once(&told, tell);
}
