/* SPDX-License-Identifier: MIT */
/* What calls and training cost, by the library's model and ring_model's functions. */

#include "answer.h"
#include "tools/ddp/scaling.h"
#include "tools/ddp/shape.h"

#define BYTES_LEAST 8.0
#define BYTES_MOST ((double)(1 << 30))
#define RANKS_MOST 1024
#define CHUNK_LEAST 1024

char *EXPORT(page_call)(int kind, int algorithm, int ranks, double bytes, double bandwidth,
			double latency);
char *EXPORT(page_sizes)(int kind, int ranks, double bandwidth, double latency);
char *EXPORT(page_ranks)(int kind, double bytes, double bandwidth, double latency);
char *EXPORT(page_chunks)(int ranks, double bytes, double bandwidth, double latency);
char *EXPORT(page_costs)(double parameters, double element_bytes, int buckets, double bandwidth,
			 double latency, double compute, int ranks_per_host,
			 double between_bandwidth, double between_latency);
char *EXPORT(page_buckets)(double parameters, double element_bytes, int buckets, double bandwidth,
			   double latency, double compute, int ranks_per_host,
			   double between_bandwidth, double between_latency, int ranks);

/* ---- calls --------------------------------------------------------------------------------- */

/* Links where only hops and bytes take time. */
static struct model_machine links_of(double bandwidth, double latency)
{
	return (struct model_machine){
		.model = {.hop = model_number_of_seconds(latency),
			  .wire = model_number_of_rate(bandwidth)},
		.path = RING_PATH_NETWORK,
		.algorithm = -1,
		.chunk = MODEL_WHOLE_BLOCKS,
	};
}

/* "hops,bytes of the busiest rank,seconds" */
char *page_call(int kind, int algorithm, int ranks, double bytes, double bandwidth, double latency)
{
	struct answer answer;
	struct model_machine machine = links_of(bandwidth, latency);
	machine.algorithm = algorithm;
	if (!answer_begin(&answer))
		return NULL;
	struct model_call call = model_call_of(&machine, (enum ring_kind)kind, ranks, bytes);
	fprintf(answer.out, "%llu,%llu,%.17g", (unsigned long long)call.hops,
		(unsigned long long)call.sent, call.seconds);
	return answer_finish(&answer);
}

/* A line: x, and the seconds of each algorithm; nothing for one that cannot carry the call. */
static void put_times(const struct model_machine *machine, int kind, int ranks, double bytes,
		      double x, FILE *out)
{
	struct model_call call = model_call_of(machine, (enum ring_kind)kind, ranks, bytes);
	fprintf(out, "%.17g", x);
	for (int a = 0; a < RING_ALGORITHMS; a++) {
		fputc(',', out);
		if (call.choice.predicted_ps[a] > 0)
			fprintf(out, "%.17g", model_seconds(call.choice.predicted_ps[a]));
	}
	fputc('\n', out);
}

char *page_sizes(int kind, int ranks, double bandwidth, double latency)
{
	struct answer answer;
	struct model_machine machine = links_of(bandwidth, latency);
	if (!answer_begin(&answer))
		return NULL;
	for (double bytes = BYTES_LEAST; bytes <= BYTES_MOST; bytes *= 2)
		put_times(&machine, kind, ranks, bytes, bytes, answer.out);
	return answer_finish(&answer);
}

char *page_ranks(int kind, double bytes, double bandwidth, double latency)
{
	struct answer answer;
	struct model_machine machine = links_of(bandwidth, latency);
	if (!answer_begin(&answer))
		return NULL;
	for (int ranks = 2; ranks <= RANKS_MOST; ranks *= 2)
		put_times(&machine, kind, ranks, bytes, ranks, answer.out);
	return answer_finish(&answer);
}

/* "chunk,seconds" of the ring, with all numbers of the library's model for a network. */
char *page_chunks(int ranks, double bytes, double bandwidth, double latency)
{
	struct answer answer;
	struct model_machine machine = links_of(bandwidth, latency);
	struct ring_model links = machine.model;
	machine.model = ring_model_built_in[RING_PATH_NETWORK];
	machine.model.hop = links.hop;
	machine.model.wire = links.wire;
	machine.algorithm = ring_algorithm_of(RING_KIND_ALL_REDUCE);
	if (!answer_begin(&answer))
		return NULL;
	for (uint64_t chunk = CHUNK_LEAST; (double)chunk < 2 * bytes / ranks; chunk *= 2) {
		machine.chunk = chunk;
		struct model_call call = model_call_of(&machine, RING_KIND_ALL_REDUCE, ranks, bytes);
		fprintf(answer.out, "%llu,%.17g\n", (unsigned long long)chunk, call.seconds);
	}
	return answer_finish(&answer);
}

/* ---- training ------------------------------------------------------------------------------ */

struct trained {
	struct model_machine machine;
	struct model_training training;
};

static struct trained trained_of(double parameters, double element_bytes, int buckets,
				 double compute)
{
	static struct model_tensors tensors; /* too large for a stack */
	static struct model_bucket made[MODEL_BUCKETS_MAX];
	struct trained trained = {.training = {.buckets = made}};
	struct model_training *training = &trained.training;
	model_shape_equal(parameters, (size_t)buckets, &tensors);
	tensors.element_bytes = element_bytes;
	training->compute.forward = compute * (1.0 / 3);
	training->compute.backward = compute - training->compute.forward;
	training->count = model_buckets_of(&tensors, 0, 0, training->compute.backward, made);
	return trained;
}

static struct model_machine hosts_of(double bandwidth, double latency, int ranks_per_host,
				     double between_bandwidth, double between_latency)
{
	struct model_machine machine = links_of(bandwidth, latency);
	machine.between = links_of(between_bandwidth, between_latency).model;
	machine.ranks_per_host = ranks_per_host;
	machine.algorithm = ring_algorithm_of(RING_KIND_ALL_REDUCE);
	return machine;
}

static struct model_step step_of(const struct trained *trained, int ranks)
{
	struct model_step step = model_training_step(&trained->training, &trained->machine, ranks,
						     MODEL_NO_CAUSE);
	step.compute = model_compute_total(&trained->training.compute);
	return step;
}

/* The lines of ring_model ddp --csv for equal buckets, on 2 to 1024 ranks. */
char *page_costs(double parameters, double element_bytes, int buckets, double bandwidth,
		 double latency, double compute, int ranks_per_host, double between_bandwidth,
		 double between_latency)
{
	struct answer answer;
	struct trained trained = trained_of(parameters, element_bytes, buckets, compute);
	trained.machine = hosts_of(bandwidth, latency, ranks_per_host, between_bandwidth,
				   between_latency);
	if (!answer_begin(&answer))
		return NULL;
	for (int ranks = 2; ranks <= RANKS_MOST; ranks *= 2) {
		struct model_step step = step_of(&trained, ranks);
		fprintf(answer.out, "%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", ranks, step.compute,
			step.communication, step.sum, step.max, step.event, step.exposed);
	}
	return answer_finish(&answer);
}

/*
 * One step on `ranks` ranks. First "forward,backward,exposed,step", then what would help; then of
 * each bucket "ready,begin,end", in seconds after forward.
 */
char *page_buckets(double parameters, double element_bytes, int buckets, double bandwidth,
		   double latency, double compute, int ranks_per_host, double between_bandwidth,
		   double between_latency, int ranks)
{
	struct answer answer;
	struct trained trained = trained_of(parameters, element_bytes, buckets, compute);
	struct model_training *training = &trained.training;
	double end = 0;
	bool enough;
	trained.machine = hosts_of(bandwidth, latency, ranks_per_host, between_bandwidth,
				   between_latency);
	if (!answer_begin(&answer))
		return NULL;
	enum model_cause cause = model_training_cause(training, &trained.machine, ranks, &enough);
	struct model_step step = step_of(&trained, ranks); /* last: it fills in the costs */
	fprintf(answer.out, "%.17g,%.17g,%.17g,%.17g\n%s\n", training->compute.forward,
		training->compute.backward, step.exposed, step.event, model_cause_absence(cause));
	for (size_t k = 0; k < training->count; k++) {
		const struct model_bucket *bucket = &training->buckets[k];
		double begin = model_bucket_begin(bucket, end);
		end = begin + bucket->cost;
		fprintf(answer.out, "%.17g,%.17g,%.17g\n", bucket->ready, begin, end);
	}
	return answer_finish(&answer);
}
