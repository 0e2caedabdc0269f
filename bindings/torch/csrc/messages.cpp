/* SPDX-License-Identifier: MIT */
/* Sends and receives with tags, and from any source; see messages.h. */
#include "messages.h"

#include <cstring>

#include "thread.h"

namespace ring
{

using Lock = std::unique_lock<std::mutex>;
static const std::chrono::milliseconds GOODBYE_MS(300); /* ranks mostly leave at the same time */
/* A FileStore whose file is gone looks for it so long, else 300 s, and nobody could leave. */
static const std::chrono::milliseconds STORE_MS(5000);

/* ---- a lane ---- */

/* The sender is rank 0 of the two. */
Lane::Lane(Messages &messages, int from, int to) : messages_(messages), from_(from), to_(to)
{
	const Membership &member = messages.calls_->member();
	const bool sends = from == member.rank;
	meeting_.store = messages.store_->clone();
	meeting_.store->setTimeout(STORE_MS);
	meeting_.place = c10::str(messages.place_, "/", from, "to", to);
	meeting_.rank = sends ? 0 : 1;
	meeting_.size = 2;
	meeting_.names = {from, to};
	meeting_.timeout = sends ? member.timeout : std::chrono::milliseconds(0);
	meeting_.call_timeout = sends ? member.timeout : std::chrono::milliseconds(-1);
	meeting_.is_over = [this] {
		messages_.calls_->raise_failure();
		Lock lock(messages_.mutex_);
		return is_over();
	};
}

void Lane::start()
{
	thread_ = quiet_thread([this] { serve(); });
}

/* returns why it could not. The store is of no use any more, and may be a connection. */
std::exception_ptr Lane::meet_other()
{
	std::exception_ptr failure;
	try {
		ring_comm *comm = meet(meeting_);
		Lock lock(messages_.mutex_);
		comm_ = comm;
		if (!comm)
			failure = error_of(RING_EABORTED, "ring: the group was shut down");
		else if (is_over())
			ring_comm_abort(comm);
	} catch (...) {
		failure = std::current_exception();
	}
	meeting_.store.reset();
	return failure;
}

void Lane::close_communicator()
{
	Lock lock(messages_.mutex_);
	ring_comm *comm = comm_;
	comm_ = nullptr;
	has_ended_ = true;
	messages_.changed_.notify_all();
	lock.unlock();
	ring_comm_destroy(comm);
}

/* The library calls the sender rank 0, and the receiver rank 1. */
std::exception_ptr Lane::lost(int err) const
{
	const std::string sentence = c10::str("a message from rank ", from_, " to rank ", to_,
					      " was lost: ", ring_comm_error(comm_),
					      " (of these two, rank 0 is the sender)");
	return error_of(err, tell(messages_.calls_->member(), sentence));
}

/* ---- sending ---- */

bool OutLane::is_over()
{
	return messages_.dropping_ || (messages_.closing_ && sendings_.empty());
}

int OutLane::send_one(const Header &header, const at::Tensor *memory)
{
	const int err = ring_send(comm_, &header, sizeof(header), RING_UINT8, 1, nullptr);
	if (err || header.bytes == 0)
		return err;
	return ring_send(comm_, memory->data_ptr(), header.bytes, RING_UINT8, 1, nullptr);
}

std::exception_ptr OutLane::send(const Sending &sending)
{
	const at::Tensor &memory = sending.flat.memory;
	const int err = send_one({sending.tag, memory.nbytes(),
				  static_cast<int32_t>(memory.scalar_type()), 0},
				 &memory);
	return err ? lost(err) : nullptr;
}

void OutLane::serve()
{
	std::exception_ptr failure = meet_other();
	Lock lock(messages_.mutex_);
	for (;;) {
		failure_ = failure;
		messages_.changed_.wait(lock,
					[&] { return !sendings_.empty() || messages_.closing_; });
		if (sendings_.empty())
			break;
		Sending sending = std::move(sendings_.front());
		sendings_.pop_front();
		lock.unlock();
		if (!failure)
			failure = send(sending);
		sending.work->complete(failure);
		sending = {};
		lock.lock();
	}
	lock.unlock();
	if (!failure)
		send_one({0, 0, 0, 1}, nullptr);
	close_communicator();
}

/* ---- receiving ---- */

bool InLane::is_over()
{
	return messages_.closing_;
}

static std::exception_ptr misfit(const Wanted &wanted, int source, const Header &header)
{
	const at::Tensor &memory = wanted.flat.memory;
	const auto type = static_cast<at::ScalarType>(header.type);
	if (header.bytes == memory.nbytes() && type == memory.scalar_type())
		return nullptr;
	return error_of(RING_EMISMATCH,
			c10::str("ring: recv: rank ", source, " sent ", header.bytes, " bytes of ",
				 at::toString(type), " with tag ", header.tag,
				 ", but the tensor has ", memory.nbytes(), " bytes of ",
				 at::toString(memory.scalar_type())));
}

/* Gives a message that was kept to who wants it. */
static void deliver(const Wanted &wanted, int source, const Header &header,
		    const std::vector<char> &bytes)
{
	const std::exception_ptr error = misfit(wanted, source, header);
	if (!error && header.bytes > 0)
		memcpy(wanted.flat.memory.data_ptr(), bytes.data(), header.bytes);
	if (!error)
		wanted.flat.give_back();
	wanted.work->complete(error, source);
}

/* The lock is held. returns whether somebody wants something from there, of whatever tag */
bool Messages::find_wanted(int source, int64_t tag, std::optional<Wanted> *taken)
{
	bool any = false;
	for (auto wanted = wanted_.begin(); wanted != wanted_.end(); wanted++) {
		if (wanted->source != -1 && wanted->source != source)
			continue;
		any = true;
		if (wanted->tag != tag)
			continue;
		*taken = std::move(*wanted);
		wanted_.erase(wanted);
		break;
	}
	return any;
}

/* Waits until somebody wants something from there: this message, or one behind it. */
Messages::Match Messages::match(int source, const Header &header, std::optional<Wanted> *taken)
{
	Lock lock(mutex_);
	while (!closing_) {
		const bool any = find_wanted(source, header.tag, taken);
		if (any)
			return *taken ? TAKEN : NOT_YET_WANTED;
		changed_.wait(lock);
	}
	return OVER;
}

void Messages::keep(int source, const Header &header, std::vector<char> bytes)
{
	std::optional<Wanted> taken; /* it came while the bytes did */
	Lock lock(mutex_);
	find_wanted(source, header.tag, &taken);
	if (!taken)
		kept_.push_back({source, header, std::move(bytes)});
	lock.unlock();
	if (taken)
		deliver(*taken, source, header, bytes);
}

/* The lock is held. */
bool Messages::all_have_failed()
{
	for (const auto &[from, lane] : in_)
		if (!lane.failure_)
			return false;
	return static_cast<int>(in_.size()) == calls_->member().size - 1;
}

/* Those who wait for this source learn why nothing comes, and for any, unless others are there. */
void Messages::lose(InLane &lane, std::exception_ptr why, bool has_left)
{
	std::list<Wanted> lost;
	Lock lock(mutex_);
	lane.failure_ = why;
	const bool also_any = !has_left || all_have_failed();
	for (auto wanted = wanted_.begin(); wanted != wanted_.end();) {
		const auto next = std::next(wanted);
		if (wanted->source == lane.from_ || (wanted->source == -1 && also_any))
			lost.splice(lost.end(), wanted_, wanted);
		wanted = next;
	}
	lock.unlock();
	for (const Wanted &wanted : lost)
		wanted.work->complete(why, lane.from_);
}

/* Receives what is behind a header, where it is wanted. returns false if the lane has ended */
bool InLane::receive(const Header &header)
{
	std::optional<Wanted> wanted;
	if (messages_.match(from_, header, &wanted) == Messages::OVER)
		return false;
	const std::exception_ptr error = wanted ? misfit(*wanted, from_, header) : nullptr;
	const bool lands = wanted && !error;
	std::vector<char> bytes(lands ? 0 : header.bytes);
	void *room = lands ? wanted->flat.memory.data_ptr() : bytes.data();
	const int err = header.bytes ? ring_recv(comm_, room, header.bytes, RING_UINT8, 0, nullptr)
				     : 0;
	if (err)
		loss_ = lost(err);
	if (lands && !err)
		wanted->flat.give_back();
	if (wanted)
		wanted->work->complete(err ? loss_ : error, from_);
	else if (!err)
		messages_.keep(from_, header, std::move(bytes));
	return !err;
}

void InLane::serve()
{
	loss_ = meet_other();
	bool goes_on = !loss_;
	while (goes_on) {
		Header header;
		const int err = ring_recv(comm_, &header, sizeof(header), RING_UINT8, 0, nullptr);
		has_left_ = !err && header.is_goodbye;
		if (err)
			loss_ = lost(err);
		else if (has_left_)
			loss_ = error_of(RING_EPEER,
					 tell(messages_.calls_->member(),
					      c10::str("rank ", from_, " has left the group")));
		try {
			goes_on = !loss_ && receive(header);
		} catch (const std::exception &failure) { /* no memory, for instance */
			loss_ = error_of(RING_ENOMEM, c10::str("ring: recv: ", failure.what()));
			goes_on = false;
		}
	}
	if (loss_)
		messages_.lose(*this, loss_, has_left_);
	close_communicator();
}

/* ---- what the backend calls ---- */

Messages::Messages(std::shared_ptr<Calls> calls, c10::intrusive_ptr<c10d::Store> store,
		   std::string place)
    : calls_(std::move(calls)), store_(std::move(store)), place_(std::move(place))
{
}

/* The lock is held. */
void Messages::check_open(const char *call)
{
	if (closing_)
		raise_error(RING_EINVAL, c10::str("ring: ", call, ": the group was shut down"));
}

void Messages::send(Sending sending, int to)
{
	Lock lock(mutex_);
	check_open("send");
	const auto [lane, is_new] = out_.try_emplace(to, *this, calls_->member().rank, to);
	if (is_new)
		lane->second.start();
	if (lane->second.failure_)
		std::rethrow_exception(lane->second.failure_);
	lane->second.sendings_.push_back(std::move(sending));
	changed_.notify_all();
}

/* The lock is held. */
InLane &Messages::in_lane(int from)
{
	const auto [lane, is_new] = in_.try_emplace(from, *this, from, calls_->member().rank);
	if (is_new)
		lane->second.start();
	return lane->second;
}

void Messages::receive(Wanted wanted)
{
	Lock lock(mutex_);
	check_open("recv");
	for (auto kept = kept_.begin(); kept != kept_.end(); kept++) {
		if (kept->header.tag != wanted.tag ||
		    (wanted.source != -1 && wanted.source != kept->source))
			continue;
		const Kept taken = std::move(*kept);
		kept_.erase(kept);
		lock.unlock();
		deliver(wanted, taken.source, taken.header, taken.bytes);
		return;
	}
	const Membership &member = calls_->member();
	std::exception_ptr failure;
	for (int from = 0; from < member.size; from++)
		if (from != member.rank && (wanted.source == -1 || wanted.source == from))
			failure = in_lane(from).failure_;
	if (failure && (wanted.source != -1 || all_have_failed()))
		std::rethrow_exception(failure);
	wanted_.push_back(std::move(wanted));
	changed_.notify_all();
}

void Messages::about_to_wait()
{
}

/* A receive that waits is forgotten; what is being sent ends with the lane. */
void Messages::give_up(const c10d::Work &work, const std::string &sentence)
{
	const std::exception_ptr error = error_of(RING_ETIMEDOUT, tell(calls_->member(), sentence));
	Lock lock(mutex_);
	for (auto wanted = wanted_.begin(); wanted != wanted_.end(); wanted++) {
		if (wanted->work.get() != &work)
			continue;
		const Wanted taken = std::move(*wanted);
		wanted_.erase(wanted);
		lock.unlock();
		taken.work->complete(error);
		return;
	}
	for (auto &[to, lane] : out_)
		if (lane.comm_)
			ring_comm_abort(lane.comm_);
}

/* The lock is held. Lanes say goodbye to the other end, and then end. */
template <typename Lanes> bool Messages::all_have_ended(const Lanes &lanes)
{
	for (const auto &[other, lane] : lanes)
		if (!lane.has_ended_)
			return false;
	return true;
}

void Messages::close(std::chrono::milliseconds patience)
{
	Lock lock(mutex_);
	closing_ = true;
	changed_.notify_all();
	dropping_ = !changed_.wait_for(lock, patience, [this] { return all_have_ended(out_); });
	for (auto &[to, lane] : out_)
		if (lane.comm_)
			ring_comm_abort(lane.comm_);
	changed_.wait_for(lock, std::min(patience, GOODBYE_MS),
			  [this] { return all_have_ended(in_); });
	for (auto &[from, lane] : in_)
		if (lane.comm_)
			ring_comm_abort(lane.comm_);
	lock.unlock();
	for (auto &[to, lane] : out_)
		if (lane.thread_.joinable())
			lane.thread_.join();
	for (auto &[from, lane] : in_)
		if (lane.thread_.joinable())
			lane.thread_.join();
	lock.lock();
	const std::list<Wanted> rest = std::move(wanted_);
	wanted_.clear();
	lock.unlock();
	for (const Wanted &wanted : rest)
		wanted.work->complete(
			error_of(RING_EABORTED,
				 "ring: recv: the group was shut down before a message came"));
}

} // namespace ring
