/* SPDX-License-Identifier: MIT */
/* Who and where this rank is, asked of the kernel; see self.h. */
#include "self.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text/text.h"
#include "topology.h"

/* The running kernel's identity, as text; all zero if /proc does not tell. */
static void read_boot_id(unsigned char boot_id[16])
{
	unsigned int byte;
	FILE *file = ring_fd_file("/proc/sys/kernel/random/boot_id");
	for (int i = 0; file && i < 16; i++) {
		if (fscanf(file, "-%2x", &byte) != 1 && fscanf(file, "%2x", &byte) != 1)
			break;
		boot_id[i] = (unsigned char)byte;
	}
	if (file)
		fclose(file);
}

void ring_self_describe(struct ring_peer *self, int rank, const struct ring_config *config,
			const struct ring_watcher *watcher, const struct sockaddr_storage *address,
			char lacks[RING_ABSENT_TEXT])
{
	struct stat netns;
	*self = (struct ring_peer){
		.rank = rank,
		.pid = getpid(),
		.uid = getuid(),
		.process = ring_watcher_process(watcher),
		.tcp = *address,
	};
	snprintf(self->local, sizeof(self->local), "%s", ring_watcher_local_name(watcher));
	read_boot_id(self->boot_id);
	if (stat("/proc/self/ns/net", &netns) == 0)
		self->netns = netns.st_ino;
	if (config->host[0])
		snprintf(self->host, sizeof(self->host), "%s", config->host);
	else if (gethostname(self->host, sizeof(self->host) - 1))
		snprintf(self->host, sizeof(self->host), "unknown");
	ring_text_clean(self->host); /* as the others will read it */
	self->transports = ring_transports_present(config->transport, lacks);
	ring_topology_describe(self);
}
