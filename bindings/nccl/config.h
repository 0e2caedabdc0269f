/* SPDX-License-Identifier: MIT */
/* Configurations of programs that were compiled with older or newer headers. */
#ifndef NCCL_CONFIG_H
#define NCCL_CONFIG_H

#include "abi.h"

/*
 * Reads what `given` says, which may be shorter or longer than ours; NULL says nothing. Only
 * `blocking` is followed, the rest is hints. Sets *blocking where it says so.
 * returns NCCL_SUCCESS; NCCL_INVALID_ARGUMENT naming the field
 */
int nccl_config_read(const struct nccl_config *given, const char *call, bool *blocking);

#endif
