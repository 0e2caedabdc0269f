/* SPDX-License-Identifier: MIT */
/*
 * ring_run starts the ranks of a job on this machine. This file reads the command line; launcher.c
 * does the work. For several hosts, use a launcher that they already have.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/finish.h"
#include "launcher.h"
#include "ringccl.h"
#include "tools/standard_files.h"

#define MAX_RANKS 1024
#define USAGE_ERROR 2

static const char usage[] =
	"usage: ring_run -n RANKS [options] PROGRAM [ARGUMENT...]\n"
	"Starts RANKS copies of PROGRAM on this machine, as the ranks of one job, and ends them "
	"together.\n"
	"\n"
	"  -n, --ranks RANKS      number of ranks, 1 to 1024\n"
	"  -t, --tag              put \"[rank] \" before every line of output\n"
	"  -x, --env NAME=VALUE   set a variable for the ranks; may be repeated\n"
	"  -x, --env NAME         refuse to start unless it is set: others can read a VALUE above\n"
	"      --no-bind          as many ranks as CPUs, or more, are bound to them in turn; do "
	"not\n"
	"      --timeout SECONDS  end the job if it takes longer\n"
	"      --grace MS         time for the others to report once a rank has failed; 200\n"
	"      --signal-grace MS  time for ranks to end after SIGINT, SIGTERM, SIGHUP; 10000\n"
	"  -h, --help             show this and exit\n"
	"      --version          show the version and exit\n"
	"\n"
	"The exit status is that of the first rank that fails, 128 + signal if it was killed.\n";

static _Noreturn void complain(const char *format, const char *what)
{
	char sentence[512]; /* cuts what a user gave, which may have any length */
	snprintf(sentence, sizeof(sentence), format, what);
	fprintf(stderr, "ring_run: %s; see ring_run --help\n", sentence);
	exit(USAGE_ERROR);
}

/* A whole number in [low, high]; complains about anything else. */
static int parse_int(const char *option, const char *text, int low, int high)
{
	char *end;
	long value = strtol(text, &end, 10);
	if (end == text || *end || value < low || value > high) {
		char message[128];
		snprintf(message, sizeof(message), "%s wants a number from %d to %d, not '%%s'",
			 option, low, high);
		complain(message, text);
	}
	return (int)value;
}

static double parse_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);
	if (end == text || *end || !(seconds > 0 && seconds < 1e9))
		complain("--timeout wants seconds above 0, not '%s'", text);
	return seconds;
}

/*
 * Sets a variable. Without a value, only checks that it is set: all variables are passed on anyway.
 */
static void set_variable(const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	if (equals == assignment || !*assignment)
		complain("--env wants NAME=VALUE or NAME, not '%s'", assignment);
	if (!equals && !getenv(assignment))
		complain("--env %s: it is not set in the environment", assignment);
	if (!equals)
		return;
	char *name = strndup(assignment, (size_t)(equals - assignment));
	if (!name || setenv(name, equals + 1, 1) < 0)
		complain("cannot set a variable: %s", "out of memory");
	free(name);
}

int main(int argc, char **argv)
{
	enum { TIMEOUT = 256, GRACE, SIGNAL_GRACE, NO_BIND, VERSION };
	static const struct option options[] = {
		{"ranks", required_argument, NULL, 'n'},
		{"tag", no_argument, NULL, 't'},
		{"env", required_argument, NULL, 'x'},
		{"timeout", required_argument, NULL, TIMEOUT},
		{"grace", required_argument, NULL, GRACE},
		{"signal-grace", required_argument, NULL, SIGNAL_GRACE},
		{"no-bind", no_argument, NULL, NO_BIND},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, VERSION},
		{0},
	};
	struct launch launch = {.name = "ring_run",
				.capture = true,
				.bind = true,
				.grace_ms = 200,
				.signal_grace_ms = LAUNCH_SIGNAL_GRACE_MS};

	standard_files_open();
	int option;
	while ((option = getopt_long(argc, argv, "+n:tx:h", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			launch.ranks = parse_int("-n", optarg, 1, MAX_RANKS);
			break;
		case 't':
			launch.tag = true;
			break;
		case 'x':
			set_variable(optarg);
			break;
		case TIMEOUT:
			launch.timeout_s = parse_seconds(optarg);
			break;
		case GRACE:
			launch.grace_ms = parse_int("--grace", optarg, 0, 3600000);
			break;
		case SIGNAL_GRACE:
			launch.signal_grace_ms = parse_int("--signal-grace", optarg, 0, 3600000);
			break;
		case NO_BIND:
			launch.bind = false;
			break;
		case 'h':
			fputs(usage, stdout);
			return finish_output("ring_run", 0, 1);
		case VERSION:
			printf("ring_run %d.%d.%d\n", RING_VERSION_MAJOR, RING_VERSION_MINOR,
			       RING_VERSION_PATCH);
			return finish_output("ring_run", 0, 1);
		default:
			fputs("ring_run: see ring_run --help\n", stderr);
			return USAGE_ERROR; /* getopt has printed a complaint */
		}
	}
	if (launch.ranks == 0)
		complain("%s", "how many ranks? Give -n");
	if (optind == argc)
		complain("%s", "which program?");
	launch.argv = argv + optind;
	launch.path = argv[optind];
	return launch_ranks(&launch);
}
