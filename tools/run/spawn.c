/* SPDX-License-Identifier: MIT */
/*
 * One rank as a child process: its environment, its pipes, and the report of a failed exec.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Variables of every rank; they replace those of our own environment. */
static const char *const rank_variables[] = {
	"RING_RANK", "RING_SIZE", "RING_ID", "RING_LOCAL_RANK", "RING_LOCAL_SIZE",
};

enum { RANK_VARIABLES = sizeof(rank_variables) / sizeof(rank_variables[0]) };

/*
 * By these a launcher that started us tells its own ranks apart: MPI in a rank would take itself
 * for that one rank of its job.
 */
static const char *const left_variables[] = {
	"PMI_FD",
	"PMI_RANK",
	"PMI_SIZE",
	"PMI_ID",
	"PMIX_RANK",
	"PMIX_NAMESPACE",
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
};

/* People also set WORLD_SIZE, and mean it; but no two ranks have one RANK. */
static const char *const torch_variables[] = {
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID",
};

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

static bool is_among(const char *entry, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);
		if (strncmp(entry, names[i], length) == 0 && entry[length] == '=')
			return true;
	}
	return false;
}

static bool is_passed_on(const char *entry)
{
	bool is_torch = getenv("RANK") && is_among(entry, torch_variables, LENGTH(torch_variables));
	return !is_torch && !is_among(entry, rank_variables, LENGTH(rank_variables)) &&
	       !is_among(entry, left_variables, LENGTH(left_variables));
}

/* The strings of an environment: first our own RANK_VARIABLES, then those of the launcher. */
static void environment_free(char **environment)
{
	if (!environment)
		return;
	for (int i = 0; i < RANK_VARIABLES; i++)
		free(environment[i]);
	free(environment);
}

static char **environment_of_rank(const struct spawn *spawn, int rank)
{
	size_t inherited = 0;
	while (environ[inherited])
		inherited++;
	char **environment = calloc(RANK_VARIABLES + inherited + 1, sizeof(*environment));
	if (!environment)
		return NULL;

	const int numbers[RANK_VARIABLES] = {rank, spawn->size, 0, rank, spawn->size};
	for (int i = 0; i < RANK_VARIABLES; i++) {
		bool is_id = strcmp(rank_variables[i], "RING_ID") == 0;
		char number[16];
		snprintf(number, sizeof(number), "%d", numbers[i]);
		if (asprintf(&environment[i], "%s=%s", rank_variables[i],
			     is_id ? spawn->id : number) < 0) {
			environment[i] = NULL;
			environment_free(environment);
			return NULL;
		}
	}
	size_t used = RANK_VARIABLES;
	for (size_t i = 0; i < inherited; i++) {
		if (is_passed_on(environ[i]))
			environment[used++] = environ[i];
	}
	return environment;
}

/*
 * The CPU that a rank is bound to; -1: none. If ranks mostly wait for one another, the kernel is
 * slow to see that one CPU has more of them than another. (8 B over TCP on 2 ranks and 2 CPUs: in 2
 * of 60 launches both ranks stayed on one CPU, and a call took 28 us, not 5.)
 */
static int cpu_of_rank(const struct spawn *spawn, int rank)
{
	cpu_set_t cpus;
	if (!spawn->bind || sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ||
	    spawn->size < CPU_COUNT(&cpus))
		return -1;
	int cpu = -1;
	for (int left = rank % CPU_COUNT(&cpus); left >= 0; left -= CPU_ISSET(cpu, &cpus) != 0)
		cpu++;
	return cpu;
}

static void bind_to(int cpu)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* In the child, between fork and exec: only calls that are safe in a copy of a threaded process. */
static _Noreturn void become_program(const struct spawn *spawn, char **environment, int cpu,
				     pid_t launcher, const int write_ends[2], int failure)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher) /* it died before the line above */
		_exit(1);
	setpgid(0, 0);

	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (spawn->capture) {
		dup2(write_ends[0], STDOUT_FILENO);
		dup2(write_ends[1], STDERR_FILENO);
	}
	if (cpu >= 0)
		bind_to(cpu);
	setrlimit(RLIMIT_NOFILE, spawn->files);
	signals_restore(spawn->signals);
	execvpe(spawn->path, spawn->argv, environment);

	int err = errno;
	ssize_t ignored = write(failure, &err, sizeof(err));
	(void)ignored;
	_exit(127);
}

/* The errno with which exec failed in the child; 0: exec worked, and closed the other end. */
static int read_exec_failure(int fd)
{
	int err = 0;
	ssize_t got;
	do {
		got = read(fd, &err, sizeof(err));
	} while (got < 0 && errno == EINTR);
	return got == sizeof(err) ? err : 0;
}

static void close_pair(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static int open_output(const struct spawn *spawn, int read_ends[2], int write_ends[2])
{
	for (int i = 0; i < 2 && spawn->capture; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0)
			return errno;
		read_ends[i] = ends[0];
		write_ends[i] = ends[1];
		fcntl(read_ends[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

static int fork_and_exec(const struct spawn *spawn, char **environment, int cpu,
			 const int write_ends[2], pid_t *pid)
{
	int failure[2];
	if (pipe2(failure, O_CLOEXEC) < 0)
		return errno;

	pid_t launcher = getpid();
	pid_t forked = fork();
	if (forked == 0)
		become_program(spawn, environment, cpu, launcher, write_ends, failure[1]);
	int err = forked < 0 ? errno : 0;
	close(failure[1]);
	if (!err) {
		setpgid(forked, forked); /* the child also does it: either may be first */
		err = read_exec_failure(failure[0]);
		if (err)
			waitpid(forked, NULL, 0);
	}
	close(failure[0]);
	if (!err)
		*pid = forked;
	return err;
}

int spawn_rank(const struct spawn *spawn, int rank, struct spawned *child)
{
	int read_ends[2] = {-1, -1};
	int write_ends[2] = {-1, -1};
	pid_t pid = 0;
	char **environment = environment_of_rank(spawn, rank);
	int err = environment ? open_output(spawn, read_ends, write_ends) : ENOMEM;
	if (!err)
		err = fork_and_exec(spawn, environment, cpu_of_rank(spawn, rank), write_ends, &pid);
	close_pair(write_ends);
	environment_free(environment);
	if (err) {
		close_pair(read_ends);
		return err;
	}
	*child = (struct spawned){.pid = pid, .output = {read_ends[0], read_ends[1]}};
	return 0;
}
