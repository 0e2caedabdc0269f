/* SPDX-License-Identifier: MIT */
/*
 * The exit statuses of all programs, ring_lab among them. Each page lists those of its program in
 * these words, and may add more; check-man compares them. Those from 124 on are the shell's and
 * timeout(1)'s.
 */
#ifndef TOOLS_STATUSES_H
#define TOOLS_STATUSES_H

enum exit_status {
	STATUS_OK = 0,            /* All went well. */
	STATUS_SYSTEM = 1,        /* A file, memory or a thread could not be had. */
	STATUS_USAGE = 2,         /* The command line is wrong. */
	STATUS_FAILED = 3,        /* A call of the library, or a program, failed. */
	STATUS_TIMEOUT = 4,       /* A call did not end in time. */
	STATUS_FOUND = 7,         /* A check found something. */
	STATUS_TIMED_OUT = 124,   /* The job did not end in time. */
	STATUS_CANNOT_RUN = 126,  /* The program cannot be executed. */
	STATUS_NOT_THERE = 127,   /* The program does not exist. */
	STATUS_SIGNAL = 128,      /* A signal ended it, whose number is added. */
	STATUS_UNREAD = 128 + 13, /* nobody reads the table: as by SIGPIPE */
};

#endif
