/* SPDX-License-Identifier: MIT */
/*
 * ring_model predicts the times of collectives and training steps from a few measured numbers. This
 * file chooses the command; each has its own file.
 */
#include <stdio.h>
#include <string.h>

#include "tools/finish.h"
#include "commands.h"
#include "options.h"
#include "ringccl.h"
#include "tools/standard_files.h"

static const struct {
	const char *name, *purpose;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"fit", "latency, bandwidth, reduction rate and overhead from records of ring_perf",
	 model_fit_command},
	{"predict", "the time of a collective, in closed forms", model_predict_command},
	{"simulate", "the time of a collective, by simulating up to thousands of ranks",
	 model_simulate_command},
	{"choose", "the library's choice for a collective, and the times that it predicts",
	 model_choose_command},
	{"ddp", "the time of a step of data-parallel training, by number of ranks",
	 model_ddp_command},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void show_usage(FILE *out)
{
	fputs("usage: ring_model COMMAND [options] [FILE...]\n\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].purpose);
	fputs("\nring_model COMMAND --help lists its options; ring_model --version the version.\n",
	      out);
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (strcmp(name, "--version") == 0) {
		printf("ring_model %d.%d.%d\n", RING_VERSION_MAJOR, RING_VERSION_MINOR,
		       RING_VERSION_PATCH);
		return STATUS_OK;
	}
	bool asked = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
	show_usage(asked ? stdout : stderr);
	return asked ? STATUS_OK : STATUS_USAGE;
}

int main(int argc, char **argv)
{
	standard_files_open();
	return finish_output("ring_model", run(argc, argv));
}
