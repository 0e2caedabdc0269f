/* SPDX-License-Identifier: MIT */
/* Reading configurations; see config.h. */
#include "config.h"

#include <string.h>

#include "error.h"

/* Whole numbers of a configuration, in its order. */
static const struct field {
	const char *name;
	size_t offset;
	uint32_t since; /* version whose header has it first */
	int32_t least, most;
} fields[] = {
#define FIELD(name, member, since, least, most)                                                    \
	{                                                                                          \
		name, offsetof(struct nccl_config, member), since, least, most                     \
	}
	FIELD("blocking", blocking, 21400, 0, 1),
	FIELD("cgaClusterSize", cga_cluster_size, 21700, 0, INT32_MAX),
	FIELD("minCTAs", min_ctas, 21700, 1, INT32_MAX),
	FIELD("maxCTAs", max_ctas, 21700, 1, INT32_MAX),
	FIELD("splitShare", split_share, 21800, 0, 1),
	FIELD("trafficClass", traffic_class, 22600, 0, INT32_MAX),
	FIELD("collnetEnable", collnet_enable, 22700, 0, 1),
	FIELD("CTAPolicy", cta_policy, 22700, 0, 3),
	FIELD("shrinkShare", shrink_share, 22700, 0, 1),
	FIELD("nvlsCTAs", nvls_ctas, 22700, 1, INT32_MAX),
	FIELD("nChannelsPerNetPeer", channels_per_net_peer, 22800, 1, INT32_MAX),
	FIELD("nvlinkCentricSched", nvlink_centric, 22800, 0, 1),
	FIELD("graphUsageMode", graph_usage, 22900, 0, 2),
	FIELD("numRmaCtx", rma_contexts, 22900, 0, INT32_MAX),
	FIELD("maxP2pPeers", p2p_peers, 23003, 0, INT32_MAX),
	FIELD("graphStreamOrdering", graph_ordering, 23007, 0, 1),
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static int32_t *value_of(struct nccl_config *config, const struct field *field)
{
	return (int32_t *)((char *)config + field->offset);
}

/* Fields that the program's header did not have hold whatever lies there. */
static void take(const struct nccl_config *given, struct nccl_config *config)
{
	size_t bytes = given->size < sizeof(*config) ? given->size : sizeof(*config);
	for (size_t i = 0; i < FIELDS; i++)
		*value_of(config, &fields[i]) = NCCL_UNDEFINED;
	memcpy(config, given, bytes);
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].since > config->version)
			*value_of(config, &fields[i]) = NCCL_UNDEFINED;
}

int nccl_config_read(const struct nccl_config *given, const char *call, bool *blocking)
{
	struct nccl_config config = {0};
	if (!given)
		return NCCL_SUCCESS;
	if (given->size < offsetof(struct nccl_config, blocking) ||
	    given->magic != (uint32_t)NCCL_MAGIC)
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "%s: the configuration was not initialized: begin with "
				   "NCCL_CONFIG_INITIALIZER",
				   call);
	take(given, &config);
	for (const struct field *field = fields; field < fields + FIELDS; field++) {
		int32_t value = *value_of(&config, field);
		if (value != NCCL_UNDEFINED && (value < field->least || value > field->most))
			return nccl_refuse(NCCL_INVALID_ARGUMENT,
					   "%s: %s is %d: it can be %d to %d, or left out", call,
					   field->name, value, field->least, field->most);
	}
	if (config.min_ctas != NCCL_UNDEFINED && config.max_ctas != NCCL_UNDEFINED &&
	    config.min_ctas > config.max_ctas)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: minCTAs %d is more than maxCTAs %d",
				   call, config.min_ctas, config.max_ctas);
	if (config.blocking != NCCL_UNDEFINED)
		*blocking = config.blocking;
	return NCCL_SUCCESS;
}
