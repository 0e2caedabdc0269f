/* SPDX-License-Identifier: MIT */
/*
 * The life of a job: starts the ranks, passes on output and signals, notices the first failure,
 * ends the rest, and reports it in one line. One thread with one poll loop; ranks are its children.
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
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "one_trace.h"
#include "outlet.h"
#include "relay.h"
#include "ringccl.h"
#include "signals.h"
#include "spawn.h"
#include "notes.h"

#define KILL_AFTER_MS 1000
#define READER_PATIENCE_MS                                                                         \
	2000 /* of a failed job, once its ranks are gone, with a reader that takes nothing */

/* How far the job has been driven towards its end; only grows. */
enum stage {
	RUNNING,    /* nothing has failed                                       */
	GRACE,      /* something failed: the others may say why, and end        */
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
	pid_t guard; /* 0: none */
	struct signals *signals;
	struct outlet *outlets[2]; /* our stdout and stderr; one for both if equal */
	int room;                  /* eventfd of the outlets */
	int places;                /* notes.h; -1: not known */
	int turn;                  /* the rank whose output is passed on first; it rotates */
	uint64_t written;          /* bytes, at the last look */
	int64_t patience_ends_ms;  /* when an idle reader is given up; INT64_MAX: never */
	enum stage stage;
	int64_t stage_ends_ms; /* when the next stage begins; INT64_MAX: never */
	int64_t times_out_ms;
	char cause[160]; /* the first failure in words; "" while there is none */
	int status;      /* what the job exits with */
	bool by_rank;    /* a rank failed, not the whole job */
	int others;      /* other ranks that were running then */
	int ended;       /* how many of them had to be ended */
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

/* Notes the first failure; later ones are its consequences. */
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
		signal_ranks(job, SIGCONT); /* a stopped rank would not notice SIGTERM */
		job->stage = TERMINATED;
		job->stage_ends_ms = now_ms() + KILL_AFTER_MS;
	} else {
		signal_ranks(job, SIGKILL);
		job->stage = KILLED;
		job->stage_ends_ms = INT64_MAX;
	}
}

/*
 * Reaps a rank that has ended. Kills its process group first, so that nothing that a rank started
 * outlives it: until the leader is reaped, its number cannot become another group's.
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
		exit_status = STATUS_SIGNAL + WTERMSIG(status);
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
 * Connections of a killed process close before its end is known, so another rank may report it and
 * exit first. The launcher kills nobody so early.
 */
static bool is_earlier_cause(const struct job *job, int status)
{
	return job->stage == GRACE && job->by_rank && job->status < STATUS_SIGNAL &&
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/*
 * Reaps ranks that have ended. If several ended since the last look, a killed one counts as the
 * first failure, because the others' errors follow from its death.
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
	int others = were_running - 1;
	if (failed >= 0 && is_earlier_cause(job, failed_status)) {
		others = job->others;
		job->stage = RUNNING;
	}
	if (failed >= 0 && job->stage == RUNNING)
		fail_because_of_rank(job, failed, failed_pid, failed_status, others);
}

static bool is_rank(const struct job *job, pid_t pid)
{
	for (int i = 0; i < job->started; i++)
		if (job->ranks[i].pid == pid)
			return true;
	return false;
}

/*
 * Reaps children that we did not start: orphans, if we are process 1, and those of a program that
 * became us by exec(). Stops at a rank that has ended meanwhile, which the next look reaps.
 */
static void reap_others(struct job *job)
{
	siginfo_t info = {0};
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
	       !is_rank(job, info.si_pid)) {
		waitpid(info.si_pid, NULL, 0);
		if (info.si_pid == job->guard)
			job->guard = 0;
		info.si_pid = 0;
	}
}

/* Before ranks that hang are ended: who waits for whom. */
static void tell_where_ranks_wait(const struct job *job)
{
	pid_t *pids = calloc((size_t)job->started, sizeof(*pids));
	for (int i = 0; pids && i < job->started; i++)
		pids[i] = job->ranks[i].pid;
	if (pids && job->launch->tells && !job->launch->quiet)
		notes_tell(job->places, job->launch->name, pids, job->started, job->outlets[1]);
	free(pids);
}

/* A second such signal ends the job at once, and drops its output. */
static void end_by_signal(struct job *job, int signal)
{
	if (job->stage != RUNNING) {
		job->stage_ends_ms = now_ms();
		if (job->running == 0)
			job->patience_ends_ms = now_ms();
		return;
	}
	char cause[sizeof(job->cause)];
	snprintf(cause, sizeof(cause), "got signal %d (%s)", signal, strsignal(signal));
	fail(job, STATUS_SIGNAL + signal, job->running, job->launch->signal_grace_ms, cause);
}

static void pass_signal(struct job *job, int signal)
{
	enum signal_effect effect = signal_effect(signal);
	if (effect == SIGNAL_ENDS && job->stage == RUNNING)
		tell_where_ranks_wait(job);
	if (effect != SIGNAL_ENDS || job->stage == RUNNING)
		signal_ranks(job, signal);
	if (effect == SIGNAL_ENDS) {
		end_by_signal(job, signal);
	} else if (effect == SIGNAL_STOPS) {
		signals_stop_self();
		signal_ranks(job, SIGCONT);
	}
}

static void read_signals(struct job *job)
{
	struct signalfd_siginfo info;
	while (read(job->signals->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			pass_signal(job, (int)info.ssi_signo);
	}
	reap_ranks(job);
	reap_others(job);
}

static void check_deadlines(struct job *job)
{
	int64_t now = now_ms();
	if (job->stage == RUNNING && now >= job->times_out_ms) {
		char cause[sizeof(job->cause)];
		snprintf(cause, sizeof(cause), "timed out after %g s", job->launch->timeout_s);
		tell_where_ranks_wait(job);
		fail(job, STATUS_TIMED_OUT, job->running, 0, cause);
	}
	if (now >= job->stage_ends_ms)
		enter_next_stage(job);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Whether nothing is left to read from ranks, or to write. */
static bool output_is_over(const struct job *job)
{
	for (int i = 0; i < 2 * job->started; i++)
		if (job->ranks[i / 2].output[i % 2].from >= 0)
			return false;
	return outlet_left(job->outlets[0]) == 0 && outlet_left(job->outlets[1]) == 0;
}

static void forward_output(struct job *job)
{
	int relays = 2 * job->started;
	for (int i = 0; i < relays; i++) {
		int at = (job->turn + i) % relays;
		struct relay *relay = &job->ranks[at / 2].output[at % 2];
		relay->finishing = job->running == 0;
		relay_forward(relay);
	}
	job->turn = relays > 0 ? (job->turn + 1) % relays : 0;
	for (int i = 0; i < 2; i++) {
		int err = outlet_error(job->outlets[i]);
		char cause[sizeof(job->cause)];
		snprintf(cause, sizeof(cause), "cannot write output: %s", strerror(err));
		if (err)
			fail(job, STATUS_SYSTEM, job->running, 0, cause);
	}
}

/* Whether the reader of a failed job's output has taken nothing of it for too long. */
static bool reader_is_given_up(struct job *job)
{
	if (job->stage == RUNNING || job->running > 0)
		return false;
	uint64_t written = outlet_written(job->outlets[0]) + outlet_written(job->outlets[1]);
	if (job->patience_ends_ms == INT64_MAX || written != job->written)
		job->patience_ends_ms = now_ms() + READER_PATIENCE_MS;
	job->written = written;
	return now_ms() >= job->patience_ends_ms;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* How long the loop may sleep: until the next deadline; -1: no deadline */
static int sleep_ms(const struct job *job)
{
	int64_t until = job->running > 0 ? job->stage_ends_ms : job->patience_ends_ms;
	if (job->stage == RUNNING && job->times_out_ms < until)
		until = job->times_out_ms;
	if (until == INT64_MAX)
		return -1;
	int64_t left = until - now_ms();
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void wait_for_event(struct job *job, struct pollfd *fds)
{
	nfds_t count = 0;
	fds[count++] = (struct pollfd){.fd = job->signals->fd, .events = POLLIN};
	fds[count++] = (struct pollfd){.fd = job->room, .events = POLLIN};
	for (int i = 0; i < 2 * job->started; i++) {
		int from = relay_source(&job->ranks[i / 2].output[i % 2]);
		fds[count++] = (struct pollfd){.fd = from, .events = POLLIN};
	}
	poll(fds, count, sleep_ms(job));
	eventfd_t told;
	eventfd_read(job->room, &told);
}

static void supervise(struct job *job, struct pollfd *fds)
{
	for (;;) {
		forward_output(job);
		if (job->running == 0 && (output_is_over(job) || reader_is_given_up(job)))
			break;
		wait_for_event(job, fds);
		read_signals(job);
		check_deadlines(job);
	}
	for (int i = 0; i < 2 * job->started; i++)
		relay_close(&job->ranks[i / 2].output[i % 2]);
}

static void report(struct job *job)
{
	if (job->stage == RUNNING || job->launch->quiet ||
	    job->status == STATUS_UNREAD) /* a reader had enough */
		return;
	char line[sizeof(job->cause) + 256], they[32], rest[96] = "";
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
	bool dropped = !outlet_error(job->outlets[0]) && outlet_left(job->outlets[0]) > 0;
	snprintf(line, sizeof(line), "%s: %s%s%s\n", job->launch->name, job->cause, rest,
		 dropped ? "; dropped output that was not read" : "");
	outlet_put(job->outlets[1], line, strlen(line));
	outlet_wait(job->outlets[1], READER_PATIENCE_MS);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/*
 * The kernel kills ranks when we die, but not what they have started. So a guard process waits for
 * the end of a pipe that only we hold open, and then kills the ranks' process groups.
 */
static pid_t start_guard(struct job *job, int *lifeline)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
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
	return guard > 0 ? guard : 0;
}

/*
 * Ends the guard before it can see the lifeline end: the groups' numbers may belong to others now.
 */
static void end_guard(pid_t guard, int lifeline)
{
	if (guard > 0) {
		kill(guard, SIGKILL);
		waitpid(guard, NULL, 0);
	}
	if (lifeline >= 0)
		close(lifeline);
}

static void fail_to_start(struct job *job, const struct spawn *spawn, int rank, int err)
{
	char cause[sizeof(job->cause)];
	struct rlimit files;
	if (err == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0)
		snprintf(cause, sizeof(cause),
			 "cannot start rank %d: its output needs more open files than %ju, the "
			 "limit (ulimit -Hn)",
			 rank, (uintmax_t)files.rlim_cur);
	else
		snprintf(cause, sizeof(cause), "cannot start rank %d: %.60s: %s", rank, spawn->path,
			 strerror(err));
	fail(job,
	     err == ENOENT   ? STATUS_NOT_THERE
	     : err == EACCES ? STATUS_CANNOT_RUN
			     : STATUS_SYSTEM,
	     job->running, 0, cause);
}

static void start_ranks(struct job *job, const struct spawn *spawn)
{
	for (int i = 0; i < job->launch->ranks && job->stage == RUNNING; i++) {
		struct spawned child;
		int err = spawn_rank(spawn, i, &child);
		if (err) {
			fail_to_start(job, spawn, i, err);
			return;
		}
		char tag[16] = "";
		if (job->launch->tag)
			snprintf(tag, sizeof(tag), "[%d] ", i);
		struct rank *rank = &job->ranks[i];
		rank->pid = child.pid;
		relay_open(&rank->output[0], child.output[0], job->outlets[0], tag);
		relay_open(&rank->output[1], child.output[1], job->outlets[1], tag);
		job->started++;
		job->running++;
	}
}

/* Makes the id, in hex. From now on this process serves the meeting. */
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

/* Raises the limit of open files, for a pipe per output of each rank; ranks get the old limit. */
static void raise_limit_of_files(struct rlimit *before)
{
	if (getrlimit(RLIMIT_NOFILE, before) < 0) {
		*before = (struct rlimit){.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
		return;
	}
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){before->rlim_max, before->rlim_max});
}

static void run_job(struct job *job, const struct spawn *spawn)
{
	struct pollfd *fds = calloc(2 + 2 * (size_t)job->launch->ranks, sizeof(*fds));
	job->ranks = calloc((size_t)job->launch->ranks, sizeof(*job->ranks));
	job->room = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (outlets_open(job->outlets, job->room) && fds && job->ranks) {
		int lifeline = -1;
		start_ranks(job, spawn);
		job->guard = start_guard(job, &lifeline);
		supervise(job, fds);
		end_guard(job->guard, lifeline);
		report(job);
	} else {
		fprintf(stderr, "%s: out of memory or threads\n", job->launch->name);
		job->status = STATUS_SYSTEM;
	}
	outlets_close(job->outlets);
	if (job->room >= 0)
		close(job->room);
	free(job->ranks);
	free(fds);
}

static void make_id_and_run(struct job *job, const struct rlimit *files)
{
	char id[257];
	const struct spawn spawn = {
		.path = job->launch->path,
		.argv = job->launch->argv,
		.id = id,
		.size = job->launch->ranks,
		.capture = job->launch->capture,
		.bind = job->launch->bind,
		.signals = job->signals,
		.files = files,
	};
	job->places = notes_open(job->launch->ranks);
	if (make_id(job->launch, id))
		job->status = STATUS_SYSTEM;
	else
		run_job(job, &spawn);
	notes_close(job->places);
}

int launch_ranks(const struct launch *launch)
{
	struct signals signals;
	struct one_trace trace;
	struct rlimit files;
	struct job job = {
		.launch = launch,
		.signals = &signals,
		.stage_ends_ms = INT64_MAX,
		.patience_ends_ms = INT64_MAX,
		.times_out_ms = INT64_MAX,
	};
	if (launch->timeout_s > 0)
		job.times_out_ms = now_ms() + 1 + (int64_t)(launch->timeout_s * 1000);
	if (!one_trace_begin(&trace, launch->name))
		return STATUS_SYSTEM;

	/*
	 * Comes before the id, so that the meeting's thread inherits the mask and takes no signals.
	 */
	int err = signals_open(&signals);
	if (err) {
		fprintf(stderr, "%s: signalfd: %s\n", launch->name, strerror(err));
		return STATUS_SYSTEM;
	}
	raise_limit_of_files(&files);
	make_id_and_run(&job, &files);
	setrlimit(RLIMIT_NOFILE, &files);
	signals_close(&signals);
	bool whole = one_trace_end(&trace, launch->name);
	return job.status || whole ? job.status : STATUS_SYSTEM;
}
