/* SPDX-License-Identifier: MIT */
#include "stop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int numbers[TRAIN_STOPS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

static const char said[] =
	"ring_train: ends after this step, as a signal asks; a second one ends it at once\n";

static volatile sig_atomic_t got;
static bool says;

static void note(int number)
{
	if (got) { /* unblocked on return, so it ends the process then */
		signal(number, SIG_DFL);
		raise(number);
	}
	got = number;
	if (says && write(STDERR_FILENO, said, sizeof(said) - 1) < 0)
		says = false;
}

void train_stop_listen(bool speaks)
{
	says = speaks;
	struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART}, before;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < TRAIN_STOPS; i++) {
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

void train_stop_note(double asked[TRAIN_STOPS])
{
	for (int i = 0; i < TRAIN_STOPS; i++)
		asked[i] = got == numbers[i];
}

int train_stop_signal(const double asked[TRAIN_STOPS])
{
	for (int i = 0; i < TRAIN_STOPS; i++)
		if (asked[i] > 0)
			return numbers[i];
	return 0;
}
