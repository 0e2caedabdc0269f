/* SPDX-License-Identifier: MIT */
/* What launchers say: which one it was, the place it gives, the identity that follows, and nonsense. */
#include "api/launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "meet/identity.h"
#include "api/launch/slurm.h"
#include "api/launch/torchrun.h"

static const char *const variables[] = {
	"RING_RANK",
	"RING_SIZE",
	"RING_ID",
	"RING_SECRET",
	"RING_SECRET_FILE",
	"RING_ROOT_PORT",
	"RANK",
	"WORLD_SIZE",
	"LOCAL_RANK",
	"MASTER_ADDR",
	"MASTER_PORT",
	"LOCAL_WORLD_SIZE",
	"TORCHELASTIC_RUN_ID",
	"PMI_FD",
	"PMIX_RANK",
	"SLURM_STEP_ID",
	"JOB_COMPLETION_INDEX",
};

static int forget_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

static void set_torchrun(void)
{
	setenv("RANK", "3", 1);
	setenv("WORLD_SIZE", "4", 1);
	setenv("LOCAL_WORLD_SIZE", "2", 1);
	setenv("MASTER_ADDR", "host-a", 1);
	setenv("MASTER_PORT", "29500", 1);
	setenv("TORCHELASTIC_RUN_ID", "run-7", 1);
}

static struct ring_torchrun read_torchrun(void)
{
	struct ring_torchrun job;
	struct ring_failure failure = {0};
	if (ring_torchrun_read(&job, &ring_launcher_torch_variables, &failure))
		fail_msg("refused: %s", failure.text);
	return job;
}

static void no_launcher(void **state)
{
	(void)state;
	struct ring_comm *comm;
	const char *launcher = "";
	int rank = 7, size = 7;
	setenv("WORLD_SIZE", "1", 1);
	setenv("RANK", "", 1);
	assert_int_equal(ring_job_find(&launcher, &rank, &size), 0);
	assert_null(launcher);
	assert_int_equal(rank, 0);
	assert_int_equal(size, 1);
	assert_int_equal(ring_comm_create_from_env(&comm, NULL), RING_EINVAL);
	const char *said = ring_comm_error(NULL);
	assert_non_null(strstr(said, "RING_RANK, RING_SIZE, RING_ID of ring_run"));
	assert_non_null(strstr(said, "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT of torch"));
}

static void assert_found(const char *name)
{
	const struct ring_launcher *launcher;
	assert_int_equal(ring_launcher_find(&launcher, NULL), 0);
	assert_non_null(launcher);
	assert_string_equal(launcher->name, name);
}

static void the_innermost_comes_first(void **state)
{
	(void)state;
	set_torchrun();
	unsetenv("TORCHELASTIC_RUN_ID");
	assert_found("torchrun");
	setenv("SLURM_STEP_ID", "0", 1);
	assert_found("srun");
	setenv("PMI_FD", "5", 1);
	assert_found("mpiexec (PMI-1)");
	setenv("PMIX_RANK", "0", 1);
	assert_found("mpirun (PMIx)");
	setenv("TORCHELASTIC_RUN_ID", "run-7", 1);
	assert_found("torchrun");
	setenv("RING_RANK", "0", 1);
	assert_found("ring_run");
}

/* What a user would have seen: as many jobs as ranks, each with status 0. */
static void unknown_launchers_are_refused(void **state)
{
	(void)state;
	static const char *const markers[][2] = {
		{"FLUX_TASK_RANK", "Flux"},      {"PALS_RANKID", "PALS"},
		{"ALPS_APP_PE", "ALPS"},         {"MV2_COMM_WORLD_RANK", "MVAPICH2"},
		{"JSM_NAMESPACE_RANK", "jsrun"}, {"OMPI_COMM_WORLD_RANK", "Open MPI"},
		{"PMI_RANK", "PMI_FD"},          {"PMI_ID", "PMI_PORT"},
		{"MPI_LOCALRANKID", "PMI_FD"},   {"PMIX_NAMESPACE", "PMIX_RANK"},
		{"HOROVOD_RANK", "horovodrun"},  {"AWS_BATCH_JOB_NODE_INDEX", "AWS Batch"},
		{"MPIRUN_RANK", "MVAPICH"},      {"DMLC_WORKER_ID", "DMLC"},
		{"LSF_PM_TASKID", "LSF"},        {"PADDLE_TRAINER_ID", "Paddle"},
		{"LOCAL_RANK", "WORLD_SIZE"},    {"JOB_COMPLETION_INDEX", "WORLD_SIZE"},
	};
	for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
		const char *launcher;
		int rank, size;
		setenv(markers[i][0], "1", 1);
		assert_int_equal(ring_job_find(&launcher, &rank, &size), RING_EINVAL);
		if (!strstr(ring_comm_error(NULL), markers[i][0]) ||
		    !strstr(ring_comm_error(NULL), markers[i][1]))
			fail_msg("%s: %s", markers[i][0], ring_comm_error(NULL));
		unsetenv(markers[i][0]);
	}
}

/* Each is a list of assignments, and a word of the sentence; NULL: nothing is wrong with it. */
static const struct surroundings {
	const char *assignments[4], *word;
} surroundings[] = {
	{{"WORLD_SIZE=2", "LOCAL_RANK=1"}, "WORLD_SIZE=2"},
	{{"WORLD_SIZE=2"}, "set RANK"},
	{{"HOROVOD_RANK=1", "HOROVOD_SIZE=2"}, "HOROVOD_RANK=1"},
	{{"PET_NNODES=2"}, "torchrun"},
	{{"SM_HOSTS=[\"algo-1\",\"algo-2\"]"}, "SageMaker"},
	{{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:2222\", \"b:2222\"]}, \"task\": {\"index\": "
	  "0}}"},
	 "TensorFlow"},
	/* alone */
	{{"HOROVOD_RANK=0", "HOROVOD_SIZE=1"}, NULL},
	{{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"}, NULL},
	{{"LOCAL_RANK=0", "WORLD_SIZE=1"}, NULL},
	{{"SM_HOSTS=[\"algo-1\"]"}, NULL},
	{{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:2222\"]}, \"task\": {\"index\": 0}}"}, NULL},
	/* a shell of salloc, a batch script, a plain pod */
	{{"SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_NNODES=2"}, NULL},
	{{"KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=pod-1", "MASTER_ADDR=head"}, NULL},
	{{"LSB_JOBINDEX=1", "LSB_DJOB_NUMPROC=4", "PBS_TASKNUM=1", "PBS_NODENUM=0"}, NULL},
};

static void set_or_unset(const char *assignment, bool set)
{
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(assignment, "="), assignment);
	if (set)
		setenv(name, strchr(assignment, '=') + 1, 1);
	else
		unsetenv(name);
}

static void one_of_several_is_told_from_one_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(surroundings) / sizeof(surroundings[0]); i++) {
		const struct surroundings *row = &surroundings[i];
		const char *launcher;
		int rank, size;
		for (int k = 0; k < 4 && row->assignments[k]; k++)
			set_or_unset(row->assignments[k], true);
		int err = ring_job_find(&launcher, &rank, &size);
		if (err != (row->word ? RING_EINVAL : 0))
			fail_msg("%s: %s", row->assignments[0], ring_strerror(err));
		if (row->word && !strstr(ring_comm_error(NULL), row->word))
			fail_msg("%s: %s", row->assignments[0], ring_comm_error(NULL));
		for (int k = 0; k < 4 && row->assignments[k]; k++)
			set_or_unset(row->assignments[k], false);
	}
}

/* The pods of an indexed Job are ranks once the manifest says how many there are, and where. */
static void indexed_job(void **state)
{
	(void)state;
	const char *launcher;
	int rank, size;
	setenv("JOB_COMPLETION_INDEX", "3", 1);
	assert_int_equal(ring_job_find(&launcher, &rank, &size), RING_EINVAL);
	assert_non_null(strstr(ring_comm_error(NULL), "JOB_COMPLETION_INDEX is"));
	setenv("WORLD_SIZE", "4", 1);
	assert_int_equal(ring_job_find(&launcher, &rank, &size), 0);
	assert_int_equal(rank, 3);
	assert_int_equal(size, 4);
	setenv("RANK", "1", 1); /* whoever sets it knows better */
	assert_int_equal(ring_job_find(&launcher, &rank, &size), 0);
	assert_int_equal(rank, 1);
}

/* A launcher that reads no more, its buffer full: the rank waited for ever. */
static void pmi_server_that_does_not_read(void **state)
{
	(void)state;
	static const char waste[4096];
	struct ring_comm *comm;
	int ends[2];
	char number[16];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	while (send(ends[0], waste, sizeof(waste), MSG_DONTWAIT) > 0)
		;
	snprintf(number, sizeof(number), "%d", ends[0]);
	setenv("PMI_FD", number, 1);
	setenv("PMI_RANK", "0", 1);
	setenv("PMI_SIZE", "2", 1);
	setenv("RING_CREATE_TIMEOUT_MS", "100", 1);
	alarm(60);
	assert_int_equal(ring_comm_create_from_env(&comm, NULL), RING_ETIMEDOUT);
	alarm(0);
	assert_non_null(strstr(ring_comm_error(NULL), "the launcher did not answer"));
	unsetenv("RING_CREATE_TIMEOUT_MS");
	unsetenv("PMI_RANK");
	unsetenv("PMI_SIZE");
	close(ends[0]);
	close(ends[1]);
}

static void place(void **state)
{
	(void)state;
	set_torchrun();
	struct ring_torchrun job = read_torchrun();
	assert_int_equal(job.rank, 3);
	assert_int_equal(job.size, 4);
	assert_int_equal(job.served.local_size, 2);
	assert_string_equal(job.served.address, "host-a");
	assert_int_equal(job.served.port, 29501);
	assert_false(job.served.chosen);

	setenv("RING_ROOT_PORT", "4711", 1);
	unsetenv("LOCAL_WORLD_SIZE");
	unsetenv("TORCHELASTIC_RUN_ID");
	job = read_torchrun();
	assert_int_equal(job.served.local_size, 0);
	assert_int_equal(job.served.port, 4711);
	assert_true(job.served.chosen);
	assert_string_equal(job.run, "");
}

/* Each is one change to what is right, and a word of the sentence beside the variable. */
static const struct nonsense {
	const char *name, *value, *word;
} nonsense[] = {
	{"RANK", "4", "RANK=4 must be a number from 0 to 3"},
	{"RANK", "-1", "RANK=-1"},
	{"RANK", "1x", "RANK=1x"},
	{"WORLD_SIZE", NULL, "WORLD_SIZE is not set, but RANK is"},
	{"WORLD_SIZE", "0", "WORLD_SIZE=0"},
	{"WORLD_SIZE", "99999999999999999999", "WORLD_SIZE=99999"},
	{"LOCAL_WORLD_SIZE", "5", "LOCAL_WORLD_SIZE=5"},
	{"MASTER_ADDR", NULL, "MASTER_ADDR is not set"},
	{"MASTER_ADDR", "", "MASTER_ADDR is not set"},
	{"MASTER_PORT", NULL, "MASTER_PORT is not set"},
	{"MASTER_PORT", "http", "MASTER_PORT=http must be a number from 1 to 65535"},
	{"MASTER_PORT", "65536", "MASTER_PORT=65536"},
	{"MASTER_PORT", "65535", "set RING_ROOT_PORT"},
	{"RING_ROOT_PORT", "0", "RING_ROOT_PORT=0"},
};

static void nonsense_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		struct ring_torchrun job;
		struct ring_failure failure = {0};
		forget_environment(NULL);
		set_torchrun();
		if (nonsense[i].value)
			setenv(nonsense[i].name, nonsense[i].value, 1);
		else
			unsetenv(nonsense[i].name);
		assert_int_equal(ring_torchrun_read(&job, &ring_launcher_torch_variables, &failure),
				 RING_EINVAL);
		if (!strstr(failure.text, nonsense[i].word))
			fail_msg("no \"%s\" in: %s", nonsense[i].word, failure.text);
	}
}

static struct ring_identity identify(unsigned call, const char *secret)
{
	struct ring_identity identity;
	struct ring_torchrun job = read_torchrun();
	ring_torchrun_identify(&job, call, secret, &identity);
	assert_true(identity.derived);
	return identity;
}

static void assert_differ(const struct ring_identity *a, const struct ring_identity *b)
{
	assert_true(a->job != b->job);
	assert_memory_not_equal(a->secret, b->secret, sizeof(a->secret));
}

static void all_ranks_come_to_one_identity(void **state)
{
	(void)state;
	set_torchrun();
	struct ring_identity mine = identify(0, "s");
	setenv("RANK", "0", 1);
	setenv("LOCAL_WORLD_SIZE", "1", 1);
	setenv("MASTER_ADDR", "10.0.0.1", 1);
	setenv("TORCHELASTIC_RESTART_COUNT", "2", 1);
	struct ring_identity other = identify(0, "s");
	assert_memory_equal(&mine, &other, sizeof(mine));
}

static void jobs_and_calls_differ(void **state)
{
	(void)state;
	static const char *const changes[][2] = {{"MASTER_PORT", "29501"},
						 {"TORCHELASTIC_RUN_ID", "run-8"}};
	set_torchrun();
	struct ring_identity one = identify(0, "s"), other = identify(1, "s");
	assert_differ(&one, &other);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		set_torchrun();
		setenv(changes[i][0], changes[i][1], 1);
		other = identify(0, "s");
		assert_differ(&one, &other);
	}
}

/* Who has another secret, or none, asks for the same job and is told that his secret is wrong. */
static void secrets_differ(void **state)
{
	(void)state;
	set_torchrun();
	struct ring_identity one = identify(0, "s");
	const char *others[] = {"", "S", "ss"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct ring_identity other = identify(0, others[i]);
		assert_int_equal(one.job, other.job);
		assert_memory_not_equal(one.secret, other.secret, sizeof(one.secret));
	}
}

/* "1" + "23" is not "12" + "3". */
static void facts_have_ends(void **state)
{
	(void)state;
	struct ring_identity a, b;
	ring_identity_derive(&a, "", (const char *const[]){"1", "23"}, 2);
	ring_identity_derive(&b, "", (const char *const[]){"12", "3"}, 2);
	assert_differ(&a, &b);
}

/* Where all ranks of a step look for rank 0. */
/* Writes a file, reads the job. returns the refusal, or NULL, and then the secret in job */
static const char *refusal_of_file(const char *text, struct ring_torchrun *job)
{
	static struct ring_failure failure;
	char path[] = "/tmp/launch_test.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	failure = (struct ring_failure){0};
	setenv("RING_SECRET_FILE", path, 1);
	int err = ring_torchrun_read(job, &ring_launcher_torch_variables, &failure);
	unlink(path);
	return err ? failure.text : NULL;
}

static void secrets_lie_in_files(void **state)
{
	(void)state;
	struct ring_torchrun job;
	char longest[1100];
	set_torchrun();
	assert_null(refusal_of_file("of a file\nand more", &job));
	assert_string_equal(job.served.secret, "of a file");
	assert_null(refusal_of_file("without an end", &job));
	assert_string_equal(job.served.secret, "without an end");
	assert_non_null(strstr(refusal_of_file("", &job), "its first line is empty or longer"));
	assert_non_null(strstr(refusal_of_file("\nsecond", &job), "its first line is empty"));
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_non_null(strstr(refusal_of_file(longest, &job), "or longer than 1022 letters"));
	setenv("RING_SECRET", "another", 1);
	assert_non_null(strstr(refusal_of_file("one", &job), "are both set: unset one"));
	unsetenv("RING_SECRET");
	struct ring_failure failure = {0};
	setenv("RING_SECRET_FILE", "/nowhere/at/all", 1);
	assert_int_equal(ring_torchrun_read(&job, &ring_launcher_torch_variables, &failure),
			 RING_EINVAL);
	assert_string_equal(failure.text, "RING_SECRET_FILE=/nowhere/at/all has no secret: No such "
					  "file or directory");
}

static void first_host_of_a_list(void **state)
{
	(void)state;
	static const char *const lists[][2] = {
		{"head", "head"},       {"a,b", "a"},
		{"n[1-2]", "n1"},       {"node-[003-005,9],x", "node-003"},
		{"n[7,9]", "n7"},       {"r[1-2]c[07,9]n", "r1c07n"},
		{"a.b-c[1]", "a.b-c1"}, {"", ""},
	};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char host[RING_SLURM_HOST];
		ring_slurm_first_host(lists[i][0], host);
		assert_string_equal(host, lists[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_launcher, forget_environment),
		cmocka_unit_test_setup(the_innermost_comes_first, forget_environment),
		cmocka_unit_test_setup(unknown_launchers_are_refused, forget_environment),
		cmocka_unit_test_setup(one_of_several_is_told_from_one_alone, forget_environment),
		cmocka_unit_test_setup(indexed_job, forget_environment),
		cmocka_unit_test_setup(pmi_server_that_does_not_read, forget_environment),
		cmocka_unit_test_setup(place, forget_environment),
		cmocka_unit_test_setup(nonsense_is_named, forget_environment),
		cmocka_unit_test_setup(all_ranks_come_to_one_identity, forget_environment),
		cmocka_unit_test_setup(jobs_and_calls_differ, forget_environment),
		cmocka_unit_test_setup(secrets_differ, forget_environment),
		cmocka_unit_test_setup(secrets_lie_in_files, forget_environment),
		cmocka_unit_test(first_host_of_a_list),
		cmocka_unit_test_setup(facts_have_ends, forget_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
