/* SPDX-License-Identifier: MIT */
#include "gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "whole_file.h"

void gnuplot_write_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		bool is_plain = isalnum((unsigned char)*name) || strchr("/._-+=,: ", *name);
		fprintf(out, is_plain ? "%c" : "\\%03o", (unsigned char)*name);
	}
}

void gnuplot_begin(FILE *out, const char *prefix, const char *what)
{
	fputs("reset\nset terminal svg size 900,540 font 'sans,14' background 'white'\n"
	      "set output \"",
	      out);
	gnuplot_write_name(out, prefix);
	fprintf(out, "-%s.svg\"\nset grid ytics\n", what);
}

static bool run(const char *program, char *script)
{
	char *const argv[] = {"gnuplot", script, NULL};
	pid_t child;
	int status, err = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);
	if (err == ENOENT) {
		fprintf(stderr, "%s: gnuplot is not installed; it can draw from %s\n", program,
			script);
		return true;
	}
	if (err || waitpid(child, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "%s: gnuplot %s failed%s%s\n", program, script, err ? ": " : "",
			err ? strerror(err) : "");
		return false;
	}
	return true;
}

/* "PREFIX" and "-steps.svg"; NULL with a complaint */
static char *name_file(const char *program, const char *prefix, const char *ending)
{
	char *name = malloc(strlen(prefix) + strlen(ending) + 1);
	if (!name)
		fprintf(stderr, "%s: out of memory\n", program);
	return name ? strcat(strcpy(name, prefix), ending) : NULL;
}

bool gnuplot_draw(const char *program, const char *prefix, void (*write)(void *context, FILE *out),
		  void *context)
{
	char *script = name_file(program, prefix, ".gp");
	bool ok = script && whole_file_write(program, script, write, context) &&
		  run(program, script);
	free(script);
	return ok;
}

bool gnuplot_check(const char *program, const char *prefix, const char *what)
{
	char ending[32];
	snprintf(ending, sizeof(ending), "-%s.svg", what);
	char *script = prefix ? name_file(program, prefix, ".gp") : NULL;
	char *plot = prefix ? name_file(program, prefix, ending) : NULL;
	bool ok = !prefix || (script && plot && whole_file_check(program, script) &&
			      whole_file_check(program, plot));
	free(script);
	free(plot);
	return ok;
}
