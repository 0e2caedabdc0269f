/* SPDX-License-Identifier: MIT */
/*
 * gnuplot reads the data from the script itself, so that one file can be kept, changed and drawn again.
 */
#include "plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tools/whole_file.h"

struct drawing {
	const char *prefix;
	const struct train_summary *runs;
	int count;
	const double *predicted;
};

/* The parts of a step from the bottom up, each with its title. */
static const struct {
	enum train_metric metric;
	const char *title;
} parts[] = {
	{TRAIN_FORWARD, "forward"},
	{TRAIN_BACKWARD, "backward"},
	{TRAIN_EXPOSED, "exposed communication"},
	{TRAIN_WAITING, "waiting for others"},
	{TRAIN_OPTIMIZER, "optimizer"},
	{TRAIN_AGREE, "agreement"},
	{TRAIN_DATA, "data"},
	{TRAIN_HOST, "host"},
};
#define PARTS (int)(sizeof(parts) / sizeof(parts[0]))

static double known(double value)
{
	return isfinite(value) ? value : 0;
}

/* In a string of gnuplot whatever is no plain part of a name is an octal number: it could end the string, or run. */
static void write_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		bool is_plain = isalnum((unsigned char)*name) || strchr("/._-+=,: ", *name);
		fprintf(out, is_plain ? "%c" : "\\%03o", (unsigned char)*name);
	}
}

static void begin_plot(FILE *out, const struct drawing *drawing, const char *what)
{
	fputs("reset\nset terminal svg size 900,540 font 'sans,14' background 'white'\n"
	      "set output \"",
	      out);
	write_name(out, drawing->prefix);
	fprintf(out, "-%s.svg\"\nset grid ytics\n", what);
}

static void draw_steps(FILE *out, const struct drawing *drawing)
{
	const struct train_facts *facts = &drawing->runs[0].facts;
	fputs("$steps << END\n", out);
	for (int i = 0; i < drawing->count; i++) {
		const struct train_summary *run = &drawing->runs[i];
		if (run->facts.ranks != facts->ranks)
			continue;
		fprintf(out, "\"%s\"", run->facts.mode);
		for (int part = 0; part < PARTS; part++)
			fprintf(out, " %g", known(run->values[parts[part].metric]));
		fputc('\n', out);
	}
	fputs("END\n", out);
	begin_plot(out, drawing, "steps");
	fprintf(out,
		"set title '%s, %d ranks, global batch %d: mean over steps and ranks'\n"
		"set ylabel 'ms of a step'\nset key outside\nset yrange [0:*]\n"
		"set style data histograms\nset style histogram rowstacked\n"
		"set style fill solid 0.8 border -1\nset boxwidth 0.6\nplot",
		facts->preset, facts->ranks, facts->global_batch);
	for (int part = 0; part < PARTS; part++)
		fprintf(out, "%s $steps using %d:xtic(1) title '%s'", part > 0 ? "," : "", part + 2,
			parts[part].title);
	fputs("\n\n", out);
}

/* A run of one rank is what the others are measured by. */
static double efficiency_of(const struct train_summary *run, enum train_metric metric)
{
	return run->facts.ranks == 1 ? 1 : run->values[metric];
}

static bool has_efficiency(const struct train_summary *run)
{
	return run->facts.ranks > 1 &&
	       (isfinite(run->values[TRAIN_WEAK]) || isfinite(run->values[TRAIN_STRONG]));
}

static void draw_efficiency(FILE *out, const struct drawing *drawing)
{
	bool any = false;
	for (int i = 0; i < drawing->count; i++)
		any = any || has_efficiency(&drawing->runs[i]);
	if (!any)
		return;
	fputs("$efficiency << END\n", out);
	for (int i = 0; i < drawing->count; i++) {
		const struct train_summary *run = &drawing->runs[i];
		fprintf(out, "%d %g %g %g\n", run->facts.ranks, efficiency_of(run, TRAIN_WEAK),
			efficiency_of(run, TRAIN_STRONG), efficiency_of(run, TRAIN_CORES));
	}
	fputs("END\n", out);
	begin_plot(out, drawing, "efficiency");
	fputs("set title 'efficiency over ranks'\nset xlabel 'ranks'\nset yrange [0:1.1]\n"
	      "set xtics 1\nset key bottom left\nset datafile missing 'nan'\n"
	      "set style data points\nset pointsize 1.5\n"
	      "set xrange [0.5:*]\n"
	      "plot $efficiency using 1:2 title 'weak', $efficiency using 1:3 title 'strong', "
	      "$efficiency using 1:4 title 'limited by cores'\n\n",
	      out);
}

/* Times only: what they are measured in is the same. */
static bool is_time(int metric)
{
	const char *name = train_metric_names[metric];
	size_t length = strlen(name);
	return length > 3 && strcmp(name + length - 3, "_ms") == 0;
}

static void draw_predicted(FILE *out, const struct drawing *drawing)
{
	int points = 0;
	fputs("$predicted << END\n", out);
	for (int i = 0; drawing->predicted && i < TRAIN_METRICS; i++) {
		double measured = drawing->runs[0].values[i];
		if (!is_time(i) || !(drawing->predicted[i] > 0) || !(measured > 0))
			continue;
		fprintf(out, "%g %g \"%s\"\n", measured, drawing->predicted[i],
			train_metric_names[i]);
		points++;
	}
	fputs("END\n", out);
	if (points == 0)
		return;
	begin_plot(out, drawing, "predicted");
	fputs("set title 'predicted over measured; the band is 10 %'\nset xlabel 'measured, ms'\n"
	      "set ylabel 'predicted, ms'\nset logscale xy\nset key off\n"
	      "plot x with lines lc 'black', 0.9*x with lines dt 2 lc 'gray', "
	      "1.1*x with lines dt 2 lc 'gray', $predicted using 1:2 with points ps 1.5, "
	      "$predicted using 1:2:3 with labels left offset 1\n",
	      out);
}

static void write_script(void *context, FILE *out)
{
	const struct drawing *drawing = context;
	draw_steps(out, drawing);
	draw_efficiency(out, drawing);
	draw_predicted(out, drawing);
}

static int run_gnuplot(char *script)
{
	char *const argv[] = {"gnuplot", script, NULL};
	pid_t child;
	int status, err = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);
	if (err == ENOENT) {
		fprintf(stderr, "ring_train: gnuplot is not installed; %s waits for it\n", script);
		return 0;
	}
	if (err || waitpid(child, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "ring_train: gnuplot %s failed%s%s\n", script, err ? ": " : "",
			err ? strerror(err) : "");
		return -1;
	}
	return 0;
}

int train_plot(const char *prefix, const struct train_summary *runs, int count,
	       const double *predicted)
{
	struct drawing drawing = {prefix, runs, count, predicted};
	char *script;
	if (asprintf(&script, "%s.gp", prefix) < 0) {
		fputs("ring_train: out of memory\n", stderr);
		return -1;
	}
	int err = whole_file_write("ring_train", script, write_script, &drawing) ? 0 : -1;
	if (!err)
		err = run_gnuplot(script);
	free(script);
	return err;
}

int train_plot_check(const char *prefix)
{
	static const char *const names[] = {".gp", "-steps.svg"};
	int err = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++) {
		char *path;
		if (asprintf(&path, "%s%s", prefix, names[i]) < 0) {
			fputs("ring_train: out of memory\n", stderr);
			return -1;
		}
		err = whole_file_check("ring_train", path) ? 0 : -1;
		free(path);
	}
	return err;
}
