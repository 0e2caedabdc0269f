/* SPDX-License-Identifier: MIT */
/* Where a call's buffers lie; see place.h. */
#include "place.h"

#include <stdio.h>

#include "base/datatype.h"
#include "parts.h"

/* Where a buffer lies. */
struct place {
	const char *name; /* "send" */
	const void *buffer;
	size_t bytes;
	const struct ring_device *device;
	struct ring_memory_sort sort;
	struct ring_region *region; /* that peers of this host may map; NULL: it is private */
};

static void describe(const struct place *place, char text[96])
{
	if (place->device != &ring_device_cpu)
		snprintf(text, 96, "memory of %s device %d", place->device->name, place->sort.chip);
	else
		snprintf(text, 96, "%s", place->sort.what ? place->sort.what : "memory of the host");
}

/* Asks all devices; what none has is the host's. returns 0; RING_EINVAL, RING_ESYSTEM */
static int ask_devices(struct ring_comm *comm, const struct ring_call *call, struct place *place)
{
	struct ring_failure failure = {0};
	for (int i = 1; ring_devices[i]; i++) {
		int err = ring_devices[i]->look(place->buffer, place->bytes, &place->sort, &failure);
		if (err)
			return ring_comm_refuse(&comm->failure, err, ring_kind_name(call->kind),
						"%s %s", place->name, failure.text);
		if (place->sort.chip != RING_CHIP_ANY) {
			place->device = ring_devices[i];
			return 0;
		}
	}
	return 0;
}

/*
 * Of uneven parts this rank's may be empty where others' are not, and all must be of the same
 * device: it is the one whose memory lies at the address, or ends there.
 */
static void find_empty(const struct ring_call *call, struct place *place)
{
	const char *at = place->buffer;
	for (int i = 1; call->parts.to && ring_devices[i]; i++)
		for (int before = 0; before < 2; before++) {
			struct ring_memory_sort sort = {.chip = RING_CHIP_ANY};
			if (!ring_devices[i]->owns(at - before) ||
			    ring_devices[i]->look(at - before, 1, &sort, NULL) ||
			    sort.chip == RING_CHIP_ANY)
				continue;
			place->device = ring_devices[i];
			place->sort = sort;
			return;
		}
}

/*
 * What the library allocated it knows; devices are asked for the rest, as programs may have freed
 * what they registered. returns as ask_devices()
 */
static int find_place(struct ring_comm *comm, const struct ring_call *call, struct place *place)
{
	place->device = &ring_device_cpu;
	place->sort = (struct ring_memory_sort){.chip = RING_CHIP_ANY};
	if (!place->buffer)
		return 0;
	if (place->bytes == 0) {
		find_empty(call, place);
		return 0;
	}
	struct ring_region *region = ring_region_find(place->buffer, place->bytes);
	if (!region || !region->allocated) {
		int err = ask_devices(comm, call, place);
		bool lends = !err && region && region->lends && place->sort.chip == region->chip;
		place->region = lends ? region : NULL;
		return err;
	}
	if (region->device)
		place->device = region->device;
	place->sort.chip = region->chip;
	place->region = region->fd >= 0 || region->lends ? region : NULL;
	return 0;
}

/* The communicator's device is that of the first call on one. returns 0; RING_EINVAL */
static int take_device(struct ring_comm *comm, struct ring_call *call, const struct place *place)
{
	char there[96];
	call->device = place->device;
	call->chip = place->sort.chip;
	call->record.memory = call->device->number;
	if (call->device != &ring_device_cpu && call->operands.function.call)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, ring_kind_name(call->kind),
					"%s is memory of a device, but the operation is a function "
					"of the program, which works on the host's",
					place->name);
	if (call->device == &ring_device_cpu ||
	    ring_caller_takes(&comm->caller, call->device, call->chip))
		return 0;
	describe(place, there);
	return ring_comm_refuse(&comm->failure, RING_EINVAL, ring_kind_name(call->kind),
				"%s is %s, but this communicator works on %s device %d: give "
				"memory of that one, or make a communicator for each device",
				place->name, there, comm->caller.device->name, comm->caller.chip);
}

/* Of a whole buffer, which may have a part for each rank; elements: of uneven ones, else NULL. */
static size_t buffer_bytes(const struct ring_comm *comm, const struct ring_call *call,
			   bool in_parts, const uint64_t *elements, const uint64_t *at)
{
	size_t count = call->count * (in_parts ? (size_t)comm->team.size : 1);
	if (elements)
		count = ring_parts_extent(elements, at, comm->team.size);
	return count * ring_datatype_bytes(call->operands.type);
}

int ring_call_find_device(struct ring_comm *comm, struct ring_call *call)
{
	const struct ring_operands *operands = &call->operands;
	const struct ring_parts *parts = &call->parts;
	char here[96], there[96];
	struct place input = {.name = ring_kind_is_message(call->kind) ? "buffer" : "send",
			      .buffer = operands->input,
			      .bytes = buffer_bytes(comm, call, ring_kind_has_parts_in(call->kind),
						    parts->to, parts->to_at)};
	struct place output = {.name = ring_kind_is_message(call->kind) ? "buffer" : "recv",
			       .buffer = operands->output,
			       .bytes = buffer_bytes(comm, call, ring_kind_has_parts_out(call->kind),
						     parts->from, parts->from_at)};
	int err = find_place(comm, call, &input);
	if (!err)
		err = find_place(comm, call, &output);
	if (err)
		return err;
	call->input_region = input.region;
	call->output_region = output.region;
	if (!operands->input)
		return take_device(comm, call, &output);
	if (!operands->output ||
	    (input.device == output.device && input.sort.chip == output.sort.chip))
		return take_device(comm, call, &input);
	describe(&input, here);
	describe(&output, there);
	return ring_comm_refuse(&comm->failure, RING_EINVAL, ring_kind_name(call->kind),
				"send is %s, recv is %s; both must be of the same device", here,
				there);
}
