/* SPDX-License-Identifier: MIT */
/* A seccomp filter of a few lines for each call; see forbid.h. */
#include "forbid.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINES_PER_CALL 5 /* at most */

/* Arguments are 64 bits wide; their lower half comes first on the machines that there are. */
static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static size_t add(struct sock_filter *line, const struct forbidden_call *forbidden)
{
	const struct sock_filter *begin = line;
	bool looks = forbidden->bits || forbidden->is_equal;
	uint32_t how = forbidden->is_equal ? BPF_JEQ : BPF_JSET;
	*line++ = load(offsetof(struct seccomp_data, nr));
	*line++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)forbidden->call,
					       0, looks ? 3 : 1);
	if (looks) {
		size_t wide = sizeof(uint64_t) * (size_t)forbidden->argument;
		*line++ = load(offsetof(struct seccomp_data, args) + wide);
		*line++ = (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, forbidden->bits, 0, 1);
	}
	*line++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					       SECCOMP_RET_ERRNO | (uint32_t)forbidden->error);
	return (size_t)(line - begin);
}

bool forbid(const struct forbidden_call *calls, int count)
{
	struct sock_filter lines[FORBID_MAX * LINES_PER_CALL + 1];
	size_t used = 0;
	for (int i = 0; i < count && i < FORBID_MAX && calls[i].call; i++)
		used += add(lines + used, &calls[i]);
	lines[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = (unsigned short)used, .filter = lines};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
		       0;
}
