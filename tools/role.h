/* SPDX-License-Identifier: MIT */
/* Whether a process is a rank that a launcher started, or starts ranks itself. */
#ifndef TOOLS_ROLE_H
#define TOOLS_ROLE_H

enum role {
	ROLE_STARTS,  /* starts its own ranks here           */
	ROLE_RANK,    /* joins the job that it was started in */
	ROLE_REFUSED, /* a complaint is on stderr             */
};

/*
 * ranks     asked for on the command line, which decides where a launcher started nothing or a single rank;
 *           0: not said, the environment decides alone
 * rank      as the launcher numbered it; 0 without one
 */
enum role role_find(const char *program, int ranks, int *rank);

#endif
