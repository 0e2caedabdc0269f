/* SPDX-License-Identifier: MIT */
/* Codes, sentences, names and log lines. */
#include "base/datatype.h"
#include "base/log.h"
#include "base/status.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void every_code_has_a_text(void **state)
{
	(void)state;
	const char *unknown = ring_strerror(-1000);
#define HAS_TEXT(name, value, text) assert_string_equal(ring_strerror(value), text);
	RING_STATUS_LIST(HAS_TEXT)
#undef HAS_TEXT
	assert_string_equal(ring_strerror(0), "success");
	assert_string_equal(ring_strerror(1), unknown);
	assert_int_equal(ring_version(), 10000 * RING_VERSION_MAJOR + 100 * RING_VERSION_MINOR +
						 RING_VERSION_PATCH);
}

static void first_failure_sticks(void **state)
{
	(void)state;
	struct ring_failure failure = {0};
	assert_int_equal(ring_fail(&failure, RING_EPEER, "rank %d is gone", 3), RING_EPEER);
	assert_int_equal(ring_fail(&failure, RING_EINVAL, "later"), RING_EINVAL);
	assert_int_equal(failure.err, RING_EPEER);
	assert_string_equal(failure.text, "rank 3 is gone");
	assert_int_equal(ring_fail(NULL, RING_ENOMEM, "nobody listens"), RING_ENOMEM);
}

/* All ranks of a job whose memory ran out heard nothing but a code. */
static void no_failure_is_without_words(void **state)
{
	(void)state;
	struct ring_failure failure = {0};
	ring_fail(&failure, RING_ENOMEM, "%s", "");
	assert_string_equal(failure.text, ring_strerror(RING_ENOMEM));
}

static void long_sentences_are_cut(void **state)
{
	(void)state;
	struct ring_failure failure = {0};
	ring_fail(&failure, RING_EINVAL, "%01000d", 1);
	assert_int_equal(strlen(failure.text), RING_FAILURE_TEXT - 1);
}

static void *remembers_nothing(void *argument)
{
	(void)argument;
	return ring_failure_remembered()[0] ? "something" : NULL;
}

static void each_thread_remembers_its_own(void **state)
{
	(void)state;
	struct ring_failure failure = {0};
	ring_fail(&failure, RING_EINVAL, "mine");
	ring_failure_remember(&failure);
	failure.text[0] = 'l';
	assert_string_equal(ring_failure_remembered(), "mine");

	pthread_t thread;
	void *other;
	assert_int_equal(pthread_create(&thread, NULL, remembers_nothing, NULL), 0);
	pthread_join(thread, &other);
	assert_null(other);
}

static void names_and_sizes(void **state)
{
	(void)state;
	assert_int_equal(ring_datatype_bytes(RING_FLOAT32), 4);
	assert_int_equal(ring_datatype_bytes(RING_FLOAT64), 8);
	assert_int_equal(ring_datatype_bytes(RING_INT32), 4);
	assert_int_equal(ring_datatype_bytes(RING_BFLOAT16), 2);
	assert_int_equal(ring_datatype_bytes(RING_FLOAT8_E5M2), 1);
	assert_int_equal(ring_datatype_bytes((enum ring_datatype)12), 0);
	assert_int_equal(ring_datatype_bytes((enum ring_datatype) - 1), 0);
	assert_string_equal(ring_datatype_name(RING_FLOAT32), "float");
	assert_string_equal(ring_datatype_name((enum ring_datatype)12), "?");
	assert_string_equal(ring_op_name(RING_AVG), "avg");
	assert_string_equal(ring_op_name(RING_BXOR), "bxor");
	assert_string_equal(ring_op_name((enum ring_op)8), "?");
	assert_true(ring_op_takes(RING_BAND, RING_UINT64) && !ring_op_takes(RING_BAND, RING_FLOAT16));
	assert_true(ring_op_takes(RING_MIN, RING_FLOAT16) && !ring_op_is_of_bits(RING_MIN));
}

static int child_rank = -1;

/* What a child with this RING_LOG writes when it logs once at each level. */
static const char *log_of_child(const char *level, char *output, size_t room)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("RING_LOG", level, 1);
		if (child_rank >= 0)
			ring_log_rank(child_rank);
		dup2(ends[1], STDERR_FILENO);
		errno = ENOENT;
		ring_log(RING_WARN, "w %m");
		ring_log(RING_INFO, "i %m");
		ring_log(RING_DEBUG, "d %m");
		_exit(errno == ENOENT ? 0 : 1);
	}
	close(ends[1]);
	size_t length = 0;
	ssize_t got;
	while ((got = read(ends[0], output + length, room - 1 - length)) > 0)
		length += (size_t)got;
	output[length] = '\0';
	close(ends[0]);

	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return output;
}

static int count_lines(const char *text)
{
	int lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void levels(void **state)
{
	(void)state;
	char output[1024];
	assert_string_equal(log_of_child("", output, sizeof(output)), "");
	assert_non_null(strstr(log_of_child("loud", output, sizeof(output)),
			       "RING_LOG is \"loud\", but must be warn, info or debug\n"));
	assert_int_equal(count_lines(output), 1);
	log_of_child("\033[31m", output, sizeof(output)); /* no terminal obeys it */
	assert_null(strchr(output, '\033'));
	assert_int_equal(count_lines(log_of_child("warn", output, sizeof(output))), 1);
	assert_int_equal(count_lines(log_of_child("info", output, sizeof(output))), 2);
	assert_int_equal(count_lines(log_of_child("debug", output, sizeof(output))), 3);
	assert_ptr_equal(strstr(output, "ringccl["), output);
	assert_non_null(strstr(output, "] info: i No such file or directory\n"));
}

/* With RING_LOG_FILE, once a rank is known: time, host, process and rank; what is loud is told twice. */
static void messages_in_a_file(void **state)
{
	(void)state;
	char folder[] = "/tmp/status_test.XXXXXX", path[64], text[512] = "", output[1024];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/log.%%r", folder);
	setenv("RING_LOG_FILE", path, 1);
	log_of_child("info", output, sizeof(output));
	assert_int_equal(count_lines(output), 2); /* no rank: on stderr */
	child_rank = 3;
	log_of_child("info", output, sizeof(output));
	assert_string_equal(output, "");
	snprintf(path, sizeof(path), "%s/log.3", folder);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_int_equal(count_lines(text), 2);
	assert_true(text[4] == '-' && text[10] == 'T' && text[23] == 'Z');
	assert_non_null(strstr(text, "] rank 3 info: i No such file or directory\n"));
	unlink(path);
	setenv("RING_LOG_FILE", "/nowhere/log", 1);
	log_of_child("warn", output, sizeof(output));
	assert_non_null(strstr(output, "RING_LOG_FILE: cannot write /nowhere/log: No such file"));
	assert_int_equal(count_lines(output), 2);
	unsetenv("RING_LOG_FILE");
	child_rank = -1;
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_a_text),
		cmocka_unit_test(first_failure_sticks),
		cmocka_unit_test(no_failure_is_without_words),
		cmocka_unit_test(long_sentences_are_cut),
		cmocka_unit_test(each_thread_remembers_its_own),
		cmocka_unit_test(names_and_sizes),
		cmocka_unit_test(levels),
		cmocka_unit_test(messages_in_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
