/* SPDX-License-Identifier: MIT */
#include "tests/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int real_stderr, listened;

void listen_begin(void)
{
	fflush(stderr);
	real_stderr = dup(STDERR_FILENO);
	listened = memfd_create("stderr", MFD_CLOEXEC);
	if (real_stderr < 0 || listened < 0 || dup2(listened, STDERR_FILENO) < 0)
		abort();
}

char *listen_end(void)
{
	char *text = calloc(1, 4096);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	if (!text || pread(listened, text, 4095, 0) < 0)
		abort();
	close(listened);
	return text;
}
