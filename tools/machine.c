/* SPDX-License-Identifier: MIT */
/* Asks the kernel: proc(5) has the formats. */
#include "machine.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/text/text.h"
#include "options.h"
#include "ringccl.h"

static void read_cpu_model(char *model, size_t bytes)
{
	char line[256];
	FILE *file = fopen("/proc/cpuinfo", "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) == 0 && colon) {
			colon[1 + strcspn(colon + 1, "\n")] = '\0';
			snprintf(model, bytes, "%.*s", (int)bytes - 1,
				 colon + 1 + strspn(colon + 1, " "));
			break;
		}
	}
	if (file)
		fclose(file);
}

static double read_load(void)
{
	double load = NAN;
	FILE *file = fopen("/proc/loadavg", "re");
	if (file && fscanf(file, "%lf", &load) != 1)
		load = NAN;
	if (file)
		fclose(file);
	return load;
}

void machine_describe(struct machine *machine)
{
	cpu_set_t usable;
	*machine = (struct machine){.host = "unknown", .cpu = "unknown", .cpus = 1, .online = 1};
	gethostname(machine->host, sizeof(machine->host) - 1);
	read_cpu_model(machine->cpu, sizeof(machine->cpu));
	if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
		machine->cpus = CPU_COUNT(&usable);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 0)
		machine->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	machine->load = read_load();
}

void machine_clean(struct machine *machine)
{
	machine->host[sizeof(machine->host) - 1] = '\0';
	machine->cpu[sizeof(machine->cpu) - 1] = '\0';
	ring_text_clean(machine->host);
	ring_text_clean(machine->cpu);
}

const char *machine_link(void)
{
	const char *link = getenv("RING_LINK");
	return link ? link : "";
}

bool machine_read_link(const struct option_given *given, void *options)
{
	const char *pace = given->text;
	struct ring_options library;
	(void)options;
	if (setenv("RING_LINK", pace, 1) != 0)
		return false;
	ring_options_init(&library); /* leaves out what is wrong */
	if (!*pace || (library.link && strcmp(library.link, pace) == 0))
		return true;
	return option_refuse(given, "RATE[,LATENCY] (such as 1GB/s,20us)");
}

/*
 * CPU seconds of all programs. Steal, taken by other machines on the same host, counts; interrupts
 * do not.
 */
static double read_all(void)
{
	double user, nice, system, idle, iowait, irq, softirq, steal, seconds = NAN;
	FILE *file = fopen("/proc/stat", "re");
	if (file && fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system,
			   &idle, &iowait, &irq, &softirq, &steal) == 8)
		seconds = (user + nice + system + steal) / (double)sysconf(_SC_CLK_TCK);
	if (file)
		fclose(file);
	return seconds;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

struct machine_use machine_use_now(void)
{
	struct timespec now;
	struct rusage usage;
	clock_gettime(CLOCK_MONOTONIC, &now);
	getrusage(RUSAGE_SELF, &usage);
	return (struct machine_use){
		.at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec,
		.all = read_all(),
		.own = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
	};
}
