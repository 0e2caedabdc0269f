/* SPDX-License-Identifier: MIT */
/*
 * For the first minutes on a machine with a GPU: what the library assumes of the driver and cannot
 * be known without one. A line for each question, with what was measured; where it is "not ok", a
 * sentence on what that means for the library. All together end within three minutes.
 *
 *	tests/gpu/first [--seconds N] [NUMBER ...]
 *
 * In the folder of a build. Numbers: only these questions; --seconds: that each may take at most,
 * instead of its own deadline.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "gpu.h"

#define LOOK_S 0.002
#define BEGUN_S 10 /* that the driver may take to start */
#define REAPED_S 1 /* after SIGKILL; a driver may keep a process longer */

static const struct check *const checks[] = {
	&check_stopped, &check_queues, &check_fault,    &check_pointers, &check_pinned,
	&check_image,   &check_reset,  &check_blocking, &check_hop,      &check_rates,
	&check_slices,  &check_bits,   &check_lent,     &check_threads,
};
#define CHECKS ((int)(sizeof(checks) / sizeof(*checks)))

static int most_seconds; /* 0: each its own */

int check_room(void)
{
	const char *asked = getenv("RING_TEST_ROOM");
	const int room = asked ? atoi(asked) : 1;
	return room > 1 ? room : 1;
}

/* ---- in the process of a check --------------------------------------------------------------- */

/* One write each, as several processes say something. */
static void say(const char *mark, const char *format, va_list arguments)
{
	char text[1024];
	int length = snprintf(text, sizeof(text), "%s", mark);
	length += vsnprintf(text + length, sizeof(text) - (size_t)length - 1, format, arguments);
	if (length > (int)sizeof(text) - 2)
		length = (int)sizeof(text) - 2;
	text[length++] = '\n';
	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		_exit(99);
}

void check_fact(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say("= ", format, arguments);
	va_end(arguments);
}

void check_note(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say("", format, arguments);
	va_end(arguments);
}

int check_apart(int (*run)(void *context), void *context)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(run(context));
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 99;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- around it ------------------------------------------------------------------------------- */

/* A process group of its own, so that nothing of it is left. */
static pid_t start(const struct check *check, FILE *said)
{
	fflush(stdout);
	pid_t child = fork();
	if (child)
		return child;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	dup2(fileno(said), STDOUT_FILENO);
	dup2(fileno(said), STDERR_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0);
	exit(check->run());
}

static bool reap(pid_t child, int *status, double seconds)
{
	double until = gpu_clock() + seconds;
	pid_t reaped;
	while ((reaped = waitpid(child, status, WNOHANG)) == 0 && gpu_clock() < until)
		gpu_sleep(LOOK_S);
	return reaped == child;
}

/* What became of it, for people; NULL: it ended by itself, with *result. */
static const char *finish(const struct check *check, pid_t child, int *result)
{
	static char text[128];
	const int seconds = most_seconds ? most_seconds : check->seconds * check_room();
	int status = 0;
	bool in_time = reap(child, &status, seconds);
	kill(-child, SIGKILL);
	*result = WEXITSTATUS(status);
	if (!in_time) {
		bool reaped = reap(child, &status, REAPED_S);
		snprintf(text, sizeof(text), "hangs: no end within %d s%s", seconds,
			 reaped ? "" : ", and SIGKILL does not end it");
	} else if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "ended by signal %d", WTERMSIG(status));
	} else if (*result == CHECK_OK || *result == CHECK_NOT_OK || *result == CHECK_SKIP) {
		return NULL;
	} else {
		snprintf(text, sizeof(text), "ended with status %d", *result);
	}
	*result = CHECK_NOT_OK;
	return text;
}

/* And how it ended, if not by itself. */
static void print_facts(FILE *said, const char *end)
{
	char line[1100];
	const char *before = "";
	rewind(said);
	while (fgets(line, sizeof(line), said))
		if (strncmp(line, "= ", 2) == 0) {
			line[strcspn(line, "\n")] = '\0';
			printf("%s%s", before, line + 2);
			before = "; ";
		}
	printf("%s%s\n", end ? before : "", end ? end : "");
}

static void print_notes(FILE *said)
{
	char line[1100];
	rewind(said);
	while (fgets(line, sizeof(line), said))
		if (strncmp(line, "= ", 2) != 0)
			printf("# %s%s", line, strchr(line, '\n') ? "" : "\n");
}

/* returns whether it is not ok */
static bool ask(int number, const struct check *check)
{
	FILE *said = tmpfile();
	int result;
	if (!said || fcntl(fileno(said), F_SETFL, O_APPEND))
		return true;
	const char *end = finish(check, start(check, said), &result);
	printf("%s %d - %s: ", result == CHECK_NOT_OK ? "not ok" : "ok", number, check->name);
	if (result == CHECK_SKIP)
		printf("# SKIP ");
	print_facts(said, end);
	if (result == CHECK_NOT_OK)
		printf("# which %s: %s\n", end ? "may mean" : "means", check->means);
	print_notes(said);
	fflush(stdout);
	fclose(said);
	return result == CHECK_NOT_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Not here: no process that forks may have used the driver. */
static int introduce(void *unused)
{
	const char *why;
	alarm(BEGUN_S * (unsigned)check_room());
	int version = 0, devices = gpu_find(&why);
	char name[128] = "";
	(void)unused;
	if (!devices) {
		printf("%s\n", why);
		return CHECK_SKIP;
	}
	CUDA_MUST(cuda.driver_version(&version));
	CUDA_MUST(cuda.device_name(name, sizeof(name), 0));
	printf("# %d %s: %s; a driver of CUDA %d.%d\n", devices,
	       devices == 1 ? "device" : "devices", name, version / 1000, version % 1000 / 10);
	return 0;
}

/* numbers[]: NULL behind the last; none: all are */
static bool is_wanted(int number, char **numbers)
{
	for (int i = 0; numbers[i]; i++)
		if (atoi(numbers[i]) == number)
			return true;
	return !*numbers;
}

int main(int argc, char **argv)
{
	int wrong = 0, wanted = 0;
	char **numbers = argv + 1;
	if (argc > 2 && strcmp(argv[1], "--seconds") == 0) {
		most_seconds = atoi(argv[2]);
		numbers += 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	int found = check_apart(introduce, NULL);
	if (found == 128 + SIGALRM)
		printf("the driver does not start within %d s\n", BEGUN_S * check_room());
	if (found)
		return found;
	for (int i = 0; i < CHECKS; i++)
		wanted += is_wanted(i + 1, numbers);
	double began = gpu_clock();
	for (int i = 0; i < CHECKS; i++)
		if (is_wanted(i + 1, numbers))
			wrong += ask(i + 1, checks[i]);
	if (wanted == CHECKS)
		printf("1..%d\n", CHECKS);
	printf("# %d of %d are not as the library assumes, in %.1f s\n", wrong, wanted,
	       gpu_clock() - began);
	return wrong ? 1 : 0;
}
