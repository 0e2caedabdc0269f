/* SPDX-License-Identifier: MIT */
/* Ranks meet through the store; see meeting.h. */
#include "meeting.h"

#include <climits>
#include <cstring>
#include <thread>

#include "work.h"

namespace ring
{

using std::chrono::milliseconds;
using std::chrono::steady_clock;

static std::string key_of(const Meeting &meeting, int rank)
{
	return c10::str(meeting.place, "/here/", rank);
}

[[noreturn]] static void name_missing(const Meeting &meeting)
{
	std::string missing;
	for (int rank = 0; rank < meeting.size; rank++)
		if (!meeting.store->check({key_of(meeting, rank)}))
			missing += c10::str(missing.empty() ? "" : ", ",
					    meeting.names.empty() ? rank : meeting.names[rank]);
	raise_error(RING_ETIMEDOUT,
		    c10::str("ring: after ", meeting.timeout.count(), " ms ",
			     missing.empty() ? "all ranks were there, but rank 0 gave no id"
					     : "these ranks had not come: " + missing,
			     ". Did they end, or are they still on their way?"));
}

/*
 * A rank that gives up takes back that it is there, unless another has come that may have seen it,
 * and now counts on it. returns whether it may
 */
static bool can_give_up(const Meeting &meeting)
{
	meeting.store->deleteKey(key_of(meeting, meeting.rank));
	for (int rank = 0; rank < meeting.size; rank++)
		if (rank != meeting.rank && meeting.store->check({key_of(meeting, rank)})) {
			meeting.store->set(key_of(meeting, meeting.rank), std::vector<uint8_t>{1});
			return false;
		}
	return true;
}

/* Looks ever more rarely. returns false if it is over */
static bool await_keys(const Meeting &meeting, const std::vector<std::string> &keys)
{
	const steady_clock::time_point began = steady_clock::now();
	milliseconds pause(1);
	while (!meeting.store->check(keys)) {
		if (meeting.is_over() && can_give_up(meeting))
			return false;
		if (meeting.timeout.count() > 0 && steady_clock::now() - began > meeting.timeout)
			name_missing(meeting);
		std::this_thread::sleep_for(pause);
		pause = std::min(pause * 2, milliseconds(50));
	}
	return true;
}

static void fail_without_communicator(int err)
{
	if (err)
		raise_error(err, c10::str("ring: ", ring_comm_error(nullptr)));
}

/* The first rank waits for all before it serves their meeting. returns false if it is over */
static bool share_id(const Meeting &meeting, ring_unique_id *id)
{
	const std::string key = meeting.place + "/id";
	meeting.store->set(key_of(meeting, meeting.rank), std::vector<uint8_t>{1});
	if (meeting.rank == 0) {
		std::vector<std::string> keys;
		for (int rank = 1; rank < meeting.size; rank++)
			keys.push_back(key_of(meeting, rank));
		if (!keys.empty() && !await_keys(meeting, keys))
			return false;
		fail_without_communicator(ring_unique_id_create(id));
		meeting.store->set(key,
				   std::vector<uint8_t>(id->bytes, id->bytes + sizeof(id->bytes)));
		return true;
	}
	if (!await_keys(meeting, {key}))
		return false;
	const std::vector<uint8_t> bytes = meeting.store->get(key);
	TORCH_CHECK(bytes.size() == sizeof(id->bytes), "ring: the store's ", key, " is not an id");
	memcpy(id->bytes, bytes.data(), bytes.size());
	return true;
}

/* RING_CALL_TIMEOUT_MS makes it shorter than PyTorch's, never longer. */
static int call_timeout_ms(milliseconds theirs)
{
	if (theirs.count() < 0)
		return 0;
	const int limit = static_cast<int>(std::min<int64_t>(theirs.count(), INT_MAX));
	ring_options options;
	ring_options_init(&options);
	const int ours = getenv("RING_CALL_TIMEOUT_MS") ? options.call_timeout_ms : 0;
	return ours > 0 && (limit == 0 || ours < limit) ? ours : limit;
}

ring_comm *meet(const Meeting &meeting)
{
	ring_unique_id id;
	if (!share_id(meeting, &id))
		return nullptr;
	ring_options options;
	ring_options_init(&options);
	options.call_timeout_ms = call_timeout_ms(meeting.call_timeout);
	if (!getenv("RING_SPINS"))
		options.spins = 0; /* see meeting.h */
	if (!getenv("RING_YIELDS"))
		options.yields = 300;
	ring_comm *comm = nullptr;
	fail_without_communicator(ring_comm_create(&comm, meeting.size, meeting.rank, &id, &options));
	if (meeting.rank == 0)
		meeting.store->deleteKey(meeting.place + "/id"); /* it is a secret */
	return comm;
}

} // namespace ring
