/* SPDX-License-Identifier: MIT */
/* Errors; see error.h. */
#include "error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[NCCL_SENTENCE_BYTES]; /* of any thread */
static pthread_key_t key;

static void make_key(void)
{
	pthread_key_create(&key, free);
}

/*
 * The thread's own last sentence, "" at first; NULL without memory. (A thread-local array would be
 * taken from the little that the loader keeps for libraries that a program opens while it runs.)
 */
static char *find_mine(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_key);
	char *mine = pthread_getspecific(key);
	if (mine)
		return mine;
	mine = calloc(1, NCCL_SENTENCE_BYTES);
	pthread_setspecific(key, mine);
	return mine;
}

int nccl_refuse(int result, const char *format, ...)
{
	char sentence[NCCL_SENTENCE_BYTES], *mine = find_mine();
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (mine)
		memcpy(mine, sentence, sizeof(sentence));
	pthread_mutex_lock(&lock);
	memcpy(last, sentence, sizeof(sentence));
	pthread_mutex_unlock(&lock);
	return result;
}

const char *nccl_last_sentence(void)
{
	char *mine = find_mine();
	if (!mine)
		return "no memory";
	if (*mine)
		return mine;
	pthread_mutex_lock(&lock);
	memcpy(mine, last, sizeof(last));
	pthread_mutex_unlock(&lock);
	return mine;
}

int nccl_result_of_code(int err)
{
	switch (err) {
	case 0:
		return NCCL_SUCCESS;
	case RING_EINVAL:
		return NCCL_INVALID_ARGUMENT;
	case RING_ENOTSUP:
	case RING_EMISMATCH:
		return NCCL_INVALID_USAGE;
	case RING_EPEER:
	case RING_ETIMEDOUT:
	case RING_EABORTED:
		return NCCL_REMOTE_ERROR;
	case RING_EAGAIN:
		return NCCL_IN_PROGRESS;
	default:
		return NCCL_SYSTEM_ERROR;
	}
}

int nccl_result_of(int err, const struct ring_comm *comm)
{
	return err ? nccl_refuse(nccl_result_of_code(err), "%s", ring_comm_error(comm))
		   : NCCL_SUCCESS;
}

/* The texts that NCCL has for them: users look for these words. */
NCCL_CALL(const char *, ncclGetErrorString, int result)
{
	static const char *const texts[] = {
		[NCCL_SUCCESS] = "no error",
		[NCCL_CUDA_ERROR] = "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
		[NCCL_SYSTEM_ERROR] =
			"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		[NCCL_INTERNAL_ERROR] =
			"internal error - please report this issue to the NCCL developers",
		[NCCL_INVALID_ARGUMENT] = "invalid argument (run with NCCL_DEBUG=WARN for details)",
		[NCCL_INVALID_USAGE] = "invalid usage (run with NCCL_DEBUG=WARN for details)",
		[NCCL_REMOTE_ERROR] = "remote process exited or there was a network error",
		[NCCL_IN_PROGRESS] = "NCCL operation in progress",
		[NCCL_TIMEOUT] = "timeout",
	};
	bool known = result >= 0 && result < (int)(sizeof(texts) / sizeof(texts[0]));
	return known ? texts[result] : "unknown result code";
}
