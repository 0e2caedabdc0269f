/* SPDX-License-Identifier: MIT */
/* Errors: the library's as NCCL's numbers, and the last one's sentence. */
#ifndef NCCL_ERROR_H
#define NCCL_ERROR_H

#include "abi.h"
#include "ringccl.h"

#define NCCL_SENTENCE_BYTES 1024

/* Keeps the sentence as the thread's last, which must not be among its arguments. returns result */
__attribute__((format(printf, 2, 3))) int nccl_refuse(int result, const char *format, ...);

/* What a call of the library returned, whose sentence is kept. comm may be NULL */
int nccl_result_of(int err, const struct ring_comm *comm);

/* The same number, and no more. */
int nccl_result_of_code(int err);

/* The calling thread's last; of one that has had none the process's. Until its next error. */
const char *nccl_last_sentence(void);

#endif
