/* SPDX-License-Identifier: MIT */
/*
 * ring_run starts the ranks of a job on this machine. This file reads the command line; launcher.c
 * does the work. For several hosts, use a launcher that they already have.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/finish.h"
#include "tools/options.h"
#include "tools/standard_files.h"
#include "launcher.h"

#define MAX_RANKS 1024

/*
 * Sets a variable. Without a value, only checks that it is set: all variables are passed on anyway.
 */
static bool set_variable(const struct option_given *given, void *options)
{
	(void)options;
	const char *equals = strchr(given->text, '=');
	if (equals == given->text || !given->text[0])
		return option_refuse(given, "NAME=VALUE or NAME");
	if (!equals && !getenv(given->text))
		return option_complain(given->table, "%s %s: it is not set in the environment",
				       given->name, given->text);
	if (!equals)
		return true;
	char *name = strndup(given->text, (size_t)(equals - given->text));
	bool set = name && setenv(name, equals + 1, 1) == 0;
	free(name);
	return set || option_complain(given->table, "cannot set a variable: out of memory");
}

#define AT(field) offsetof(struct launch, field)

static const struct option_row rows[] = {
	{OPTION_INT, 'n', "ranks", "RANKS", AT(ranks), 1, MAX_RANKS,
	 .help = "number of ranks, 1 to 1024"},
	{OPTION_INT, 0, "np", "RANKS", AT(ranks), 1, MAX_RANKS,
	 .help = NULL}, /* as mpirun calls it; see main */
	{OPTION_FLAG, 't', "tag", NULL, AT(tag),
	 .help = "put \"[rank] \" before every line of output"},
	{OPTION_OWN, 'x', "env", "NAME=VALUE", .read = set_variable,
	 .help = "set a variable for the ranks; may be repeated"},
	{OPTION_NOTE, .value = "-x, --env NAME",
	 .help = "refuse to start unless it is set: others can read a VALUE above"},
	{OPTION_UNFLAG, 0, "no-bind", NULL, AT(bind),
	 .help = "as many ranks as CPUs, or more, are bound to them in turn; do not"},
	{OPTION_ABOVE, 0, "timeout", "SECONDS", AT(timeout_s), 0, 1e9,
	 .help = "end the job if it takes longer"},
	{OPTION_INT, 0, "grace", "MS", AT(grace_ms), 0, 3600000,
	 .help = "time for the others to report once a rank has failed; 200"},
	{OPTION_INT, 0, "signal-grace", "MS", AT(signal_grace_ms), 0, 3600000,
	 .help = "time for ranks to end after SIGINT, SIGTERM, SIGHUP; 10000"},
	{OPTION_QUIET, 0, "quiet", .help = "do not say how the job ended"},
	{OPTION_HELP, 'h', "help", .help = "show this and exit"},
	{OPTION_VERSION, 0, "version", .help = "show the version and exit"},
};

static const struct option_table table = {
	.program = "ring_run",
	.usage =
		"usage: ring_run -n RANKS [options] PROGRAM [ARGUMENT...]\n"
		"Starts RANKS copies of PROGRAM on this machine, as the ranks of one job, and ends "
		"them together.\n",
	.ending = "The exit status is that of the first rank that fails, 128 + signal if it was "
		  "killed.",
	.examples = "  ring_run -n 4 --tag ./train\n"
		    "  ring_run -n 4 -x RING_TRANSPORT=tcp --timeout 60 ./train\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.takes_words = true,
	.ends_at_word = true, /* what follows is the program's */
};

int main(int argc, char **argv)
{
	struct launch launch = {.name = "ring_run",
				.capture = true,
				.tells = true,
				.bind = true,
				.grace_ms = 200,
				.signal_grace_ms = LAUNCH_SIGNAL_GRACE_MS};
	struct option_found found = {0};
	int status;

	standard_files_open();
	if (argc > 1 && strcmp(argv[1], "-np") == 0)
		argv[1] = "--np";
	int index = options_read(&table, &launch, &found, argc, argv, &status);
	if (index < 0)
		return finish_output("ring_run", status);
	if (launch.ranks == 0)
		option_complain(&table, "how many ranks? Give -n");
	else if (index == argc)
		option_complain(&table, "which program?");
	if (launch.ranks == 0 || index == argc)
		return STATUS_USAGE;
	launch.quiet = found.quiet;
	launch.argv = argv + index;
	launch.path = argv[index];
	return launch_ranks(&launch);
}
