/* SPDX-License-Identifier: MIT */
/*
 * Calls on the program's streams as one kernel each, small ones in one shot (one_shot.h), others
 * around the ring (engine.h): each is launched, and the engine's words in memory of the host are
 * read (engine_host.h). How a call ends is the kernel's to say, and that the GPU has failed its
 * pulse's (pulse.h).
 */
#include "engine_host.h"

#include <string.h>

#include "plan/plan.h"

#define OF_GRAPH 0 /* number of a call for a graph, below all of those that are counted */

/* The kinds in which all send to all. */
static bool goes_in_one_shot(enum ring_kind kind, uint64_t bytes)
{
	return (kind == RING_KIND_ALL_REDUCE || kind == RING_KIND_REDUCE_SCATTER ||
		kind == RING_KIND_ALL_GATHER) &&
	       bytes <= RING_SHOT_BYTES;
}

static struct ring_device_way cuda_calls_way(const struct ring_device_engine *engine,
					     const struct ring_record *record)
{
	const enum ring_kind kind = (enum ring_kind)record->kind;
	const size_t element_bytes = ring_datatype_bytes((enum ring_datatype)record->type);
	const uint64_t bytes = record->count * element_bytes;
	struct ring_device_way way = {.algorithm = -1, .channels = RING_ENGINE_BLOCKS};
	if (record->count == 0 || record->op >= RING_OP_FUNCTION || kind == RING_KIND_BARRIER)
		return way;
	if (goes_in_one_shot(kind, bytes) && !engine->wired) {
		way.algorithm = ring_algorithm_of_signals();
		way.chunk_bytes = bytes;
	} else if (ring_algorithm_can(ring_algorithm_around(), kind, engine->size, bytes, false)) {
		way.algorithm = ring_algorithm_around();
		way.chunk_bytes = engine->inbox.chunk_bytes;
	}
	return way;
}

/* ---- launching ------------------------------------------------------------------------------- */

static struct ring_plan_params params_of(const struct ring_device_engine *engine,
					 const struct ring_record *record)
{
	const struct ring_device_way way = cuda_calls_way(engine, record);
	return (struct ring_plan_params){
		.kind = (enum ring_kind)record->kind,
		.algorithm = (enum ring_algorithm)way.algorithm,
		.size = engine->size,
		.position = engine->position,
		.root = record->root,
		.in_order = engine->in_order,
		.count = record->count,
		.element_bytes = (uint32_t)ring_datatype_bytes((enum ring_datatype)record->type),
		.chunk_bytes = way.chunk_bytes,
		.chunks_per_round = (int)engine->inbox.depth - 1, /* without scratch: engine.h */
		.channels = way.channels,
	};
}

static bool goes_around(const struct ring_plan_params *params)
{
	return ring_algorithm_has(params->algorithm, RING_GOES_AROUND);
}

/* Calls of its kind, as its kernels count them. */
static uint64_t *count_of(struct ring_device_engine *engine, const struct ring_plan_params *params)
{
	return goes_around(params) ? &engine->rings : &engine->shots;
}

static void describe(struct ring_device_engine *engine, const struct ring_device_call *from,
		     struct ring_engine_call *call)
{
	const struct ring_record *record = from->record;
	*call = (struct ring_engine_call){
		.params = params_of(engine, record),
		.record = *record,
		.input = from->input,
		.output = from->output,
		.timeout_ns = from->timeout_ms ? from->timeout_ms * 1000000 : UINT64_MAX,
		.number = from->capture ? OF_GRAPH : engine->launched + 1,
		.channels = engine->far->channels,
		.shots = &engine->far->shots,
		.report = &engine->near->report,
	};
	call->uncounted = record->sequence - (*count_of(engine, &call->params) + 1);
	if (record->op == RING_AVG)
		call->divisor = ring_divisor((uint64_t)engine->size);
	memcpy(call->order, engine->order, (size_t)engine->size * sizeof(*engine->order));
}

/* Bits that no arithmetic is done with are bytes; what is gathered has no operation. */
static struct CUfunc_st *kernel_for(const struct ring_device_engine *engine,
				    const struct ring_engine_call *call)
{
	const struct ring_record *record = &call->record;
	const struct ring_cuda_chip *chip = engine->chip;
	const enum ring_op op = record->op < 0 || record->op == RING_AVG ? RING_SUM
									 : (enum ring_op)record->op;
	const bool of_bytes = record->op < 0 || ring_op_is_of_bits(op);
	const int type = of_bytes ? RING_UINT8 : record->type;
	return goes_around(&call->params) ? chip->rings[type][op] : chip->shots[type][op];
}

/* returns an enum ring_cuda_result */
static int launch(const struct ring_device_engine *engine, struct CUstream_st *stream,
		  struct ring_engine_call *call)
{
	const bool around = goes_around(&call->params);
	void *arguments[] = {call};
	return engine->chip->driver->launch(kernel_for(engine, call), RING_ENGINE_BLOCKS, 1, 1,
					    around ? RING_ENGINE_THREADS : RING_SHOT_THREADS, 1, 1,
					    0, stream, arguments, NULL);
}

/* From here on, behind the gate, the call may be waiting. */
static void ask(struct ring_device_engine *engine, uint64_t number)
{
	bool passed = ring_cuda_gate_pass();
	__atomic_store_n(&engine->asked, number, __ATOMIC_RELAXED);
	ring_cuda_gate_give(passed);
}

/* The stream has a call that others cannot come behind: it ends, and is the last. */
static void lose(struct ring_device_engine *engine, uint64_t number)
{
	__atomic_store_n(&engine->lost, number, __ATOMIC_RELAXED);
	ring_cuda_engine_stop(engine);
}

/*
 * What a graph has is not ordered here, but by the streams that it is launched on; but for what the
 * same capture had before. returns an enum ring_cuda_result
 */
static int note(struct ring_device_engine *engine, struct CUstream_st *stream,
		struct ring_engine_call *call, uint64_t capture)
{
	const struct ring_cuda_driver *driver = engine->chip->driver;
	int result = RING_CUDA_OK;
	if (engine->capture == capture)
		result = driver->stream_wait_event(stream, engine->last_captured, 0);
	if (!result)
		result = launch(engine, stream, call);
	if (!result)
		result = driver->event_record(engine->last_captured, stream);
	engine->capture = result ? 0 : capture;
	return result;
}

/* returns 0; RING_ENOMEM, RING_ESYSTEM: the stream does not have it */
static int give(struct ring_device_engine *engine, struct CUstream_st *stream,
		struct ring_engine_call *call)
{
	const struct ring_cuda_driver *driver = engine->chip->driver;
	ask(engine, call->number);
	int result = driver->stream_wait_event(stream, engine->last, 0);
	if (!result)
		result = launch(engine, stream, call);
	if (result) {
		__atomic_store_n(&engine->asked, engine->launched, __ATOMIC_RELAXED);
		return ring_cuda_check(engine->chip, result, "launching a call");
	}
	if (ring_cuda_check(engine->chip, driver->event_record(engine->last, stream),
			    "noting a call"))
		lose(engine, call->number);
	++*count_of(engine, &call->params);
	engine->launched = call->number;
	return 0;
}

static int cuda_calls_launch(struct ring_device_engine *engine, struct ring_device_stream *stream,
			     const struct ring_device_call *from, uint64_t *number)
{
	struct CUstream_st *handle = ring_cuda_stream_handle(stream);
	struct ring_engine_call call;
	struct ring_cuda_visit visit;
	if (engine->lost)
		return RING_ESYSTEM;
	describe(engine, from, &call);
	int err, result = ring_cuda_enter(engine->chip, &visit);
	if (result)
		return ring_cuda_check(engine->chip, result, "entering the device");
	if (from->capture)
		err = ring_cuda_check(engine->chip, note(engine, handle, &call, from->capture),
				      "noting a call for a graph");
	else
		err = give(engine, handle, &call);
	ring_cuda_leave(engine->chip, &visit);
	if (!err)
		*number = call.number;
	return err;
}

static int cuda_calls_follow(struct ring_device_engine *engine, struct ring_device_stream *stream)
{
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(engine->chip, &visit);
	if (!result) {
		result = engine->chip->driver->event_record(engine->last,
							    ring_cuda_stream_handle(stream));
		ring_cuda_leave(engine->chip, &visit);
	}
	return ring_cuda_check(engine->chip, result, "noting where calls have come");
}

/* ---- how calls end --------------------------------------------------------------------------- */

/* A block that knows of a mismatch says more than one that was late. NULL: nobody says anything. */
static const struct ring_engine_error *find_error(const struct ring_engine_report *report)
{
	const struct ring_engine_error *found = NULL;
	for (int block = 0; block < RING_ENGINE_BLOCKS; block++) {
		const struct ring_engine_error *error = &report->errors[block];
		const int64_t err = __atomic_load_n(&error->err, __ATOMIC_ACQUIRE);
		if (err && (!found || err == RING_EMISMATCH))
			found = error;
	}
	return found;
}

static int cuda_calls_ended(const struct ring_device_engine *engine, uint64_t number, int *peer,
			    struct ring_record *theirs)
{
	const struct ring_engine_report *report = &engine->near->report;
	const uint64_t lost = __atomic_load_n(&engine->lost, __ATOMIC_RELAXED);
	if (!ring_cuda_engine_all_have(report->ended, number))
		return ring_cuda_pulse_of(engine->chip->pulse) ? RING_ESYSTEM : RING_EAGAIN;
	if (ring_cuda_engine_all_have(report->numbers, number))
		return lost && number >= lost ? RING_ESYSTEM : 0;
	const struct ring_engine_error *error = find_error(report);
	if (!error)
		return lost ? RING_ESYSTEM : RING_EABORTED;
	*peer = (int)error->peer;
	*theirs = error->record;
	return (int)error->err;
}

/* A call that is counted tells of itself: it is not complete then. */
static int cuda_calls_trouble(const struct ring_device_engine *engine, int *peer,
			      struct ring_record *theirs)
{
	const struct ring_engine_report *report = &engine->near->report;
	const struct ring_engine_error *error = __atomic_load_n(&report->stop, __ATOMIC_RELAXED)
							? find_error(report)
							: NULL;
	const uint64_t asked = __atomic_load_n(&engine->asked, __ATOMIC_RELAXED);
	if (!error || !ring_cuda_engine_all_have(report->numbers, asked))
		return 0;
	*peer = (int)error->peer;
	*theirs = error->record;
	return (int)error->err;
}

static int cuda_calls_tell(struct ring_device_engine *engine, uint64_t number,
			   void (*done)(void *context), void *context)
{
	engine->telling.least = number;
	return ring_cuda_tell(&engine->telling, NULL, done, context) ? RING_ENOMEM : 0;
}

static bool cuda_calls_is_inside(const struct ring_device_engine *engine, uint64_t number)
{
	const struct ring_engine_report *report = &engine->near->report;
	for (int block = 0; block < RING_ENGINE_BLOCKS; block++)
		if (__atomic_load_n(&report->begun[block], __ATOMIC_SEQ_CST) >= number &&
		    __atomic_load_n(&report->ended[block], __ATOMIC_ACQUIRE) < number)
			return !ring_cuda_pulse_of(engine->chip->pulse);
	return false;
}

static uint64_t cuda_calls_payload(const struct ring_device_engine *engine,
				   const struct ring_record *record)
{
	struct ring_plan_params params = params_of(engine, record);
	uint64_t bytes = 0;
	params.order = engine->order;
	for (; params.channel < params.channels; params.channel++) {
		const struct ring_plan plan = ring_plan_make(&params);
		bytes += ring_plan_cost(&plan).sent_bytes;
	}
	return bytes;
}

const struct ring_device_calls ring_cuda_calls = {
	.channels = RING_ENGINE_BLOCKS,
	.inbox_bytes = ring_cuda_engine_inbox_bytes,
	.inboxes = ring_cuda_engine_inboxes,
	.fifo = ring_cuda_engine_fifo,
	.way = cuda_calls_way,
	.open = ring_cuda_engine_open,
	.close = ring_cuda_engine_close,
	.launch = cuda_calls_launch,
	.follow = cuda_calls_follow,
	.payload = cuda_calls_payload,
	.ended = cuda_calls_ended,
	.trouble = cuda_calls_trouble,
	.tell = cuda_calls_tell,
	.stop = ring_cuda_engine_stop,
	.is_inside = cuda_calls_is_inside,
};
