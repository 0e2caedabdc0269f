/* SPDX-License-Identifier: MIT */
/*
 * The life of a job: start the ranks, pass on output and signals, notice the first failure, end
 * the rest, tell it in one line. One thread and one poll loop; ranks are children of it.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "relay.h"
#include "ringccl.h"
#include "spawn.h"

#define KILL_AFTER_MS 1000

/* How far the job has been driven towards its end; only grows. */
enum stage {
	RUNNING,    /* nothing has failed                                       */
	GRACE,      /* something failed: the others may still say why, and end  */
	TERMINATED, /* SIGTERM has been sent                                    */
	KILLED,     /* SIGKILL has been sent                                    */
};

struct rank {
	pid_t pid; /* 0 once reaped */
	struct relay output[2];
};

struct job {
	const struct launch *launch;
	struct rank *ranks;
	int started, running;
	int signals; /* signalfd */
	enum stage stage;
	int64_t stage_ends_ms; /* when the next stage begins; INT64_MAX: never */
	int64_t times_out_ms;
	char cause[160]; /* the first failure in words; "" while there is none */
	int status;      /* what the job exits with */
	bool by_rank;    /* it was a rank that failed, not the whole job */
	int others;      /* ranks that were running then, beside it */
	int ended;       /* those of them that had to be ended */
};

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void signal_ranks(struct job *job, int signal)
{
	for (int i = 0; i < job->started; i++) {
		if (job->ranks[i].pid > 0)
			kill(-job->ranks[i].pid, signal);
	}
}

/* Notes the first failure; later ones follow from it. */
static void fail(struct job *job, int status, int others, int grace_ms, const char *cause)
{
	if (job->stage != RUNNING)
		return;
	snprintf(job->cause, sizeof(job->cause), "%s", cause);
	job->status = status;
	job->others = others;
	job->stage = GRACE;
	job->stage_ends_ms = now_ms() + grace_ms;
}

static void enter_next_stage(struct job *job)
{
	if (job->stage == GRACE) {
		job->ended = job->running;
		signal_ranks(job, SIGTERM);
		signal_ranks(job, SIGCONT); /* a stopped rank would not hear it */
		job->stage = TERMINATED;
		job->stage_ends_ms = now_ms() + KILL_AFTER_MS;
	} else {
		signal_ranks(job, SIGKILL);
		job->stage = KILLED;
		job->stage_ends_ms = INT64_MAX;
	}
}

/*
 * Reaps a rank that has ended. Its process group goes first, while the unreaped leader still keeps
 * the number from being given to somebody else: nothing that a rank started outlives it.
 */
static bool reap(struct rank *rank, int *status)
{
	siginfo_t info = {0};
	if (rank->pid <= 0 ||
	    waitid(P_PID, (id_t)rank->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == 0)
		return false;
	kill(-rank->pid, SIGKILL);
	return waitpid(rank->pid, status, 0) == rank->pid;
}

static void fail_because_of_rank(struct job *job, int rank, pid_t pid, int status, int others)
{
	char cause[sizeof(job->cause)];
	int exit_status = WEXITSTATUS(status);
	if (WIFSIGNALED(status)) {
		exit_status = 128 + WTERMSIG(status);
		snprintf(cause, sizeof(cause), "rank %d (pid %d) was killed by signal %d (%s)",
			 rank, (int)pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	} else {
		snprintf(cause, sizeof(cause), "rank %d (pid %d) exited with status %d", rank,
			 (int)pid, exit_status);
	}
	job->by_rank = true;
	fail(job, exit_status, others, job->launch->grace_ms, cause);
}

/*
 * Reaps whatever has ended. Of several that ended since the last look, a killed one is taken for
 * the first failure: the others' errors tell of its death.
 */
static void reap_ranks(struct job *job)
{
	int were_running = job->running;
	int failed = -1, failed_status = 0;
	pid_t failed_pid = 0;
	for (int i = 0; i < job->started; i++) {
		int status;
		if (!reap(&job->ranks[i], &status))
			continue;
		job->running--;
		if (status != 0 &&
		    (failed < 0 || (WIFSIGNALED(status) && !WIFSIGNALED(failed_status)))) {
			failed = i;
			failed_pid = job->ranks[i].pid;
			failed_status = status;
		}
		job->ranks[i].pid = 0;
	}
	if (failed >= 0 && job->stage == RUNNING)
		fail_because_of_rank(job, failed, failed_pid, failed_status, were_running - 1);
}

/* Passes a signal for us on to the ranks; a second one ends them at once. */
static void pass_signal(struct job *job, int signal)
{
	if (job->stage != RUNNING) {
		job->stage_ends_ms = now_ms();
		return;
	}
	char cause[sizeof(job->cause)];
	snprintf(cause, sizeof(cause), "got signal %d (%s)", signal, strsignal(signal));
	signal_ranks(job, signal);
	fail(job, 128 + signal, job->running, KILL_AFTER_MS, cause);
}

static void read_signals(struct job *job)
{
	struct signalfd_siginfo info;
	while (read(job->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			pass_signal(job, (int)info.ssi_signo);
	}
	reap_ranks(job);
}

static void check_deadlines(struct job *job)
{
	int64_t now = now_ms();
	if (job->stage == RUNNING && now >= job->times_out_ms) {
		char cause[sizeof(job->cause)];
		snprintf(cause, sizeof(cause), "timed out after %g s", job->launch->timeout_s);
		fail(job, LAUNCH_TIMED_OUT, job->running, 0, cause);
	}
	if (now >= job->stage_ends_ms)
		enter_next_stage(job);
}

static void forward_output(struct job *job)
{
	for (int i = 0; i < 2 * job->started; i++) {
		struct relay *relay = &job->ranks[i / 2].output[i % 2];
		int err = relay_forward(relay);
		if (err) {
			char cause[sizeof(job->cause)];
			snprintf(cause, sizeof(cause), "cannot write output: %s", strerror(err));
			relay->used = 0;
			relay_close(relay);
			fail(job, LAUNCH_FAILED, job->running, 0, cause);
		}
	}
}

/* How long the loop may sleep: until the next deadline, -1 without one. */
static int sleep_ms(const struct job *job)
{
	int64_t until = job->stage_ends_ms;
	if (job->stage == RUNNING && job->times_out_ms < until)
		until = job->times_out_ms;
	if (until == INT64_MAX)
		return -1;
	int64_t left = until - now_ms();
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void supervise(struct job *job, struct pollfd *fds)
{
	while (job->running > 0) {
		nfds_t count = 0;
		fds[count++] = (struct pollfd){.fd = job->signals, .events = POLLIN};
		for (int i = 0; i < 2 * job->started; i++) {
			int from = job->ranks[i / 2].output[i % 2].from;
			fds[count++] = (struct pollfd){.fd = from, .events = POLLIN};
		}
		poll(fds, count, sleep_ms(job));
		forward_output(job);
		read_signals(job);
		check_deadlines(job);
	}
	forward_output(job); /* what was still in the pipes */
	for (int i = 0; i < 2 * job->started; i++)
		relay_close(&job->ranks[i / 2].output[i % 2]);
}

static void report(const struct job *job)
{
	if (job->stage == RUNNING)
		return;
	char they[32], rest[96] = "";
	const char *other = job->by_rank ? "other " : "";
	if (job->others == 1)
		snprintf(they, sizeof(they), "the %srank", other);
	else
		snprintf(they, sizeof(they), "the %s%d ranks", other, job->others);
	if (job->others > 0 && job->ended == job->others)
		snprintf(rest, sizeof(rest), "; ended %s", they);
	else if (job->ended > 0)
		snprintf(rest, sizeof(rest), "; ended %d of %s", job->ended, they);
	else if (job->others > 0)
		snprintf(rest, sizeof(rest), "; %s ended by %s", they,
			 job->others == 1 ? "itself" : "themselves");
	fprintf(stderr, "%s: %s%s\n", job->launch->name, job->cause, rest);
}

/*
 * A rank dies with us by the kernel's hand, but not what it has started. A second process waits for
 * the end of a pipe that only we hold open, and then kills the ranks' process groups.
 */
static pid_t start_guard(struct job *job, int *lifeline)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t guard = fork();
	if (guard == 0) {
		char byte;
		setpgid(0, 0);
		close(ends[1]);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			;
		signal_ranks(job, SIGKILL);
		_exit(0);
	}
	close(ends[0]);
	*lifeline = ends[1];
	return guard;
}

/* Ends it before it can see the lifeline end: the groups' numbers are no longer ours. */
static void end_guard(pid_t guard, int lifeline)
{
	if (guard > 0) {
		kill(guard, SIGKILL);
		waitpid(guard, NULL, 0);
	}
	if (lifeline >= 0)
		close(lifeline);
}

static void start_ranks(struct job *job, const struct spawn *spawn)
{
	for (int i = 0; i < job->launch->ranks && job->stage == RUNNING; i++) {
		struct spawned child;
		int err = spawn_rank(spawn, i, &child);
		if (err) {
			char cause[sizeof(job->cause)];
			snprintf(cause, sizeof(cause), "cannot start rank %d: %.60s: %s", i,
				 spawn->path, strerror(err));
			fail(job,
			     err == ENOENT   ? LAUNCH_NOT_FOUND
			     : err == EACCES ? LAUNCH_CANNOT_EXECUTE
					     : LAUNCH_FAILED,
			     job->running, 0, cause);
			return;
		}
		char tag[16] = "";
		if (job->launch->tag)
			snprintf(tag, sizeof(tag), "[%d] ", i);
		struct rank *rank = &job->ranks[i];
		rank->pid = child.pid;
		relay_open(&rank->output[0], child.output[0], STDOUT_FILENO, tag);
		relay_open(&rank->output[1], child.output[1], STDERR_FILENO, tag);
		job->started++;
		job->running++;
	}
}

/* Makes the id in hex. This process serves the meeting from now on. */
static int make_id(const struct launch *launch, char hex[257])
{
	setenv("RING_INTERFACE", "lo", 0);
	struct ring_unique_id id;
	int err = ring_unique_id_create(&id);
	if (err) {
		fprintf(stderr, "%s: cannot make an id for the job: %s\n", launch->name,
			*ring_comm_error(NULL) ? ring_comm_error(NULL) : ring_strerror(err));
		return err;
	}
	for (size_t i = 0; i < sizeof(id.bytes); i++)
		sprintf(hex + 2 * i, "%02x", id.bytes[i]);
	return 0;
}

/* The signals the job hears through its signalfd. */
static void watched_signals(sigset_t *set)
{
	const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(set, signals[i]);
}

static int run_job(struct job *job, const struct spawn *spawn)
{
	struct pollfd *fds = calloc(1 + 2 * (size_t)job->launch->ranks, sizeof(*fds));
	job->ranks = calloc((size_t)job->launch->ranks, sizeof(*job->ranks));
	if (fds && job->ranks) {
		int lifeline = -1;
		start_ranks(job, spawn);
		pid_t guard = start_guard(job, &lifeline);
		supervise(job, fds);
		end_guard(guard, lifeline);
		report(job);
	} else {
		fprintf(stderr, "%s: out of memory\n", job->launch->name);
		job->status = LAUNCH_FAILED;
	}
	free(job->ranks);
	free(fds);
	return job->status;
}

int launch_ranks(const struct launch *launch)
{
	struct job job = {.launch = launch, .stage_ends_ms = INT64_MAX, .times_out_ms = INT64_MAX};
	if (launch->timeout_s > 0)
		job.times_out_ms = now_ms() + 1 + (int64_t)(launch->timeout_s * 1000);

	/* Blocked before the id is made, so that the meeting's thread leaves them to us. */
	sigset_t watched, before;
	watched_signals(&watched);
	sigprocmask(SIG_BLOCK, &watched, &before);
	signal(SIGPIPE, SIG_IGN);

	char id[257];
	if (make_id(launch, id))
		return LAUNCH_FAILED;
	job.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (job.signals < 0) {
		fprintf(stderr, "%s: signalfd: %s\n", launch->name, strerror(errno));
		return LAUNCH_FAILED;
	}
	const struct spawn spawn = {
		.path = launch->path,
		.argv = launch->argv,
		.id = id,
		.size = launch->ranks,
		.capture = launch->capture,
		.bind = launch->bind,
		.mask = &before,
	};
	int status = run_job(&job, &spawn);
	close(job.signals);
	return status;
}
