/* SPDX-License-Identifier: MIT */
/* Decides whether a process is a rank that a launcher started, or starts ranks itself. */
#ifndef TOOLS_ROLE_H
#define TOOLS_ROLE_H

enum role {
	ROLE_STARTS,  /* starts its own ranks here           */
	ROLE_RANK,    /* joins the job that it was started in */
	ROLE_REFUSED, /* a complaint is on stderr             */
};

/*
 * ranks     from the command line: this many are started here, unless a launcher has started as
 *           many. 0: not given, the environment decides alone
 * rank      out: the launcher's number for it; 0 without a launcher
 */
enum role role_find(const char *program, int ranks, int *rank);

#endif
