/* SPDX-License-Identifier: MIT */
/* Checkpoints: whole, truncated, changed, of other models, and the one before. */
#include "train/run/checkpoint.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A model and all that a checkpoint keeps beside it. */
struct training {
	struct train_model *model;
	struct train_optimizer optimizer;
	struct train_state state;
};

static char folder[64], latest[128], previous[128], temporary[128];

static void begin_with(struct training *training, int width, enum train_optimizer_kind kind)
{
	const struct train_shape shape = {TRAIN_MLP, .layers = 2, .width = width, .inputs = 5,
					  .outputs = 3};
	struct train_optimizer_options options;
	train_optimizer_defaults(&options);
	options.kind = kind;
	*training = (struct training){0};
	assert_int_equal(train_model_create(&training->model, &shape, 1, 1), 0);
	assert_int_equal(train_optimizer_create(&training->optimizer, &options, training->model), 0);
}

static void begin(struct training *training)
{
	begin_with(training, 7, TRAIN_ADAMW);
}

static void end(struct training *training)
{
	train_optimizer_destroy(&training->optimizer);
	train_model_destroy(training->model);
}

/* Everything takes values that tell `mark`. */
static void fill(struct training *training, int mark)
{
	for (size_t i = 0; i < training->model->parameter_count; i++)
		training->model->parameters[i] = (train_real)(mark * 1000 + (int)i);
	for (size_t i = 0; i < training->optimizer.count; i++)
		training->optimizer.moments[i] = (train_real)(mark * -1000 - (int)i);
	uint64_t m = (uint64_t)mark;
	training->state = (struct train_state){m, m + 1, m + 2, m + 3, m + 4, m + 5};
}

static void save(int mark)
{
	struct training training;
	begin(&training);
	fill(&training, mark);
	assert_int_equal(train_checkpoint_save(folder, &training.state, training.model,
					       &training.optimizer),
			 0);
	end(&training);
}

static void check_equal(const struct training *a, const struct training *b)
{
	size_t parameters = a->model->parameter_count * sizeof(train_real);
	assert_memory_equal(a->model->parameters, b->model->parameters, parameters);
	if (a->optimizer.count > 0)
		assert_memory_equal(a->optimizer.moments, b->optimizer.moments,
				    a->optimizer.count * sizeof(train_real));
	assert_memory_equal(&a->state, &b->state, sizeof(a->state));
}

/* Loading gives what has this mark; 0: nothing, and leaves everything as it is. */
static void check_loaded(int mark)
{
	struct training training, expected;
	begin(&training);
	begin(&expected);
	fill(&training, 99);
	fill(&expected, mark ? mark : 99);
	int err = train_checkpoint_load(folder, &training.state, training.model,
					&training.optimizer);
	assert_int_equal(err, mark ? 0 : -1);
	check_equal(&training, &expected);
	end(&training);
	end(&expected);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/ring_checkpoint.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(latest, sizeof(latest), "%s/latest.checkpoint", folder);
	snprintf(previous, sizeof(previous), "%s/previous.checkpoint", folder);
	snprintf(temporary, sizeof(temporary), "%s/latest.checkpoint.tmp", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(latest);
	unlink(previous);
	unlink(temporary);
	return rmdir(folder);
}

static size_t size_of(const char *path)
{
	struct stat about;
	assert_int_equal(stat(path, &about), 0);
	return (size_t)about.st_size;
}

static void flip_bit(const char *path, size_t byte)
{
	FILE *file = fopen(path, "r+e");
	assert_non_null(file);
	fseek(file, (long)byte, SEEK_SET);
	int value = fgetc(file);
	fseek(file, (long)byte, SEEK_SET);
	fputc(value ^ 4, file);
	assert_int_equal(fclose(file), 0);
}

static void test_latest(void **state)
{
	(void)state;
	check_loaded(0);
	save(1);
	check_loaded(1);
	save(2);
	check_loaded(2);
	assert_int_equal(access(temporary, F_OK), -1);
}

static void test_previous(void **state)
{
	(void)state;
	save(1);
	save(2);
	save(3);
	unlink(latest); /* as between the two renames */
	check_loaded(2);
	save(4);
	check_loaded(4);
	unlink(latest);
	check_loaded(2); /* there was no latest to take its place */
}

/* After a latest that was corrupt, the next save left nothing to go back to but that. */
static void test_corrupt_latest(void **state)
{
	(void)state;
	save(1);
	save(2);
	flip_bit(latest, size_of(latest) / 2);
	save(3);
	check_loaded(3);
	unlink(latest);
	check_loaded(1);
	assert_int_equal(truncate(previous, 10), 0);
	save(4);
	save(5); /* and one that reads right does replace it */
	unlink(latest);
	check_loaded(4);
}

static void *look_for_latest(void *misses)
{
	for (int i = 0; i < 100000; i++)
		*(int *)misses += access(latest, F_OK) != 0;
	return NULL;
}

/* A job that was killed between two renames had no latest checkpoint. */
static void test_always_there(void **state)
{
	pthread_t looker;
	int misses = 0;
	(void)state;
	save(1);
	if (renameat2(AT_FDCWD, latest, AT_FDCWD, latest, RENAME_EXCHANGE) != 0)
		skip();
	assert_int_equal(pthread_create(&looker, NULL, look_for_latest, &misses), 0);
	for (int mark = 2; mark < 100; mark++)
		save(mark);
	pthread_join(looker, NULL);
	assert_int_equal(misses, 0);
}

/* Whoever may write to the folder could have had any file of the job's owner overwritten. */
static void test_planted_link(void **state)
{
	char victim[128], text[8] = "";
	(void)state;
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	FILE *file = fopen(victim, "we");
	assert_non_null(file);
	fputs("kept", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(symlink(victim, temporary), 0);
	save(1);
	check_loaded(1);
	file = fopen(victim, "re");
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "kept");
	unlink(victim);
}

/* Wherever it ends, and whichever bit is another. */
static void test_damage(void **state)
{
	(void)state;
	save(1);
	save(2);
	size_t bytes = size_of(latest);
	for (size_t byte = 0; byte < bytes; byte += byte < 200 ? 1 : 61) {
		flip_bit(latest, byte);
		check_loaded(1);
		flip_bit(latest, byte);
	}
	check_loaded(2);
	for (size_t left = bytes; left-- > 0; left -= left > 200 ? 61 : 0) {
		assert_int_equal(truncate(latest, (off_t)left), 0);
		check_loaded(1);
	}
	assert_int_equal(truncate(previous, 10), 0);
	check_loaded(0);
}

static void test_too_long(void **state)
{
	(void)state;
	save(1);
	save(2);
	assert_int_equal(truncate(latest, (off_t)size_of(latest) + 1), 0);
	check_loaded(1);
}

/* A model or an optimizer that is not the file's. */
static void test_others(void **state)
{
	struct training other, untouched;
	(void)state;
	save(1);
	for (int i = 0; i < 2; i++) {
		begin_with(&other, i ? 7 : 8, i ? TRAIN_SGD : TRAIN_ADAMW);
		begin_with(&untouched, i ? 7 : 8, i ? TRAIN_SGD : TRAIN_ADAMW);
		assert_int_equal(train_checkpoint_load(folder, &other.state, other.model,
						       &other.optimizer),
				 -1);
		check_equal(&other, &untouched);
		end(&other);
		end(&untouched);
	}
}

static void test_no_place(void **state)
{
	struct training training;
	(void)state;
	begin(&training);
	assert_int_equal(train_checkpoint_save("/nonexistent/folder", &training.state,
					       training.model, &training.optimizer),
			 -1);
	end(&training);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_latest),          IN_FOLDER(test_previous),
		IN_FOLDER(test_corrupt_latest),  IN_FOLDER(test_always_there),
		IN_FOLDER(test_planted_link),    IN_FOLDER(test_damage),
		IN_FOLDER(test_too_long),        IN_FOLDER(test_others),
		cmocka_unit_test(test_no_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
