/* SPDX-License-Identifier: MIT */
/*
 * A table of signals. Signals that are not in it act on the launcher as on any program; if it dies,
 * the kernel ends the ranks.
 */
#include "signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const struct {
	int number;
	enum signal_effect effect;
} heard[] = {
	{SIGHUP, SIGNAL_ENDS},    {SIGINT, SIGNAL_ENDS},    {SIGQUIT, SIGNAL_ENDS},
	{SIGTERM, SIGNAL_ENDS},   {SIGUSR1, SIGNAL_PASSES}, {SIGUSR2, SIGNAL_PASSES},
	{SIGCONT, SIGNAL_PASSES}, {SIGTSTP, SIGNAL_STOPS},
};
#define HEARD (sizeof(heard) / sizeof(heard[0]))

static bool is_ignored(int signal)
{
	struct sigaction action;
	return sigaction(signal, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
	       action.sa_handler == SIG_IGN;
}

enum signal_effect signal_effect(int signal)
{
	for (size_t i = 0; i < HEARD; i++)
		if (heard[i].number == signal)
			return heard[i].effect;
	return SIGNAL_PASSES;
}

int signals_open(struct signals *signals)
{
	sigset_t watched;
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigprocmask(SIG_SETMASK, NULL, &signals->before);
	for (size_t i = 0; i < HEARD; i++)
		if (!is_ignored(heard[i].number) && !sigismember(&signals->before, heard[i].number))
			sigaddset(&watched, heard[i].number);
	signals->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return errno;
	signals->child_ignored = is_ignored(SIGCHLD);
	if (signals->child_ignored)
		signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &watched, NULL);
	return 0;
}

void signals_stop_self(void)
{
	sigset_t stop;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

void signals_restore(const struct signals *signals)
{
	if (signals->child_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

void signals_close(struct signals *signals)
{
	close(signals->fd);
	signals_restore(signals);
}
