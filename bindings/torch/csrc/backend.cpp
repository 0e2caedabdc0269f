/* SPDX-License-Identifier: MIT */
/* The backend "ring": its life, messages and monitored barriers; collective.cpp has its calls. */
#include <Python.h>

#include "backend.h"

#include <set>

namespace ring
{

/* Threads that finish calls may need Python, for what hangs on futures. */
class WithoutGil
{
      public:
	WithoutGil()
	    : state_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr)
	{
	}
	~WithoutGil()
	{
		if (state_)
			PyEval_RestoreThread(state_);
	}
	WithoutGil(const WithoutGil &) = delete;
	WithoutGil &operator=(const WithoutGil &) = delete;

      private:
	PyThreadState *const state_;
};

/* What a process still has when it ends. It outlives everything. */
struct Living {
	std::mutex mutex;
	std::set<Backend *> backends;
};
static Living &living()
{
	static Living *const all = new Living;
	return *all;
}
static const milliseconds END_MS(1000); /* that calls under way have at the end of a process */

/* ---- life ---- */

c10::intrusive_ptr<c10d::Backend> Backend::create(const c10d::DistributedBackendOptions &options)
{
	Membership member;
	member.rank = options.group_rank;
	member.size = options.group_size;
	member.name = options.group_id;
	member.timeout = std::chrono::duration_cast<milliseconds>(options.timeout);
	for (int64_t rank : options.global_ranks_in_group)
		member.global_ranks.push_back(static_cast<uint64_t>(rank));
	return c10::make_intrusive<Backend>(options.store, member);
}

/* A store may outlive groups of the same name: each rank counts them, all alike. */
static std::string new_place(c10d::Store &store, int rank)
{
	return c10::str("ring/", store.add(c10::str("ring/groups/", rank), 1));
}

Backend::Backend(const c10::intrusive_ptr<c10d::Store> &store, const Membership &member)
    : c10d::Backend(member.rank, member.size), store_(store),
      options_(c10::make_intrusive<Options>("ring", member.timeout)),
      place_(new_place(*store, member.rank)), calls_(Calls::start(store, place_ + "/all", member)),
      messages_(std::make_shared<Messages>(calls_, store, place_))
{
	options_->group_name = member.name;
	options_->global_ranks_in_group = member.global_ranks;
	init();
	std::lock_guard<std::mutex> lock(living().mutex);
	living().backends.insert(this);
}

/* A send that nobody receives is not waited for as long as a call of all. */
void Backend::leave(milliseconds patience)
{
	const WithoutGil without;
	messages_->close(std::min(patience, END_MS));
	calls_->close(patience);
}

/* A forked child has none of the threads: it forgets all, and waits for nobody. */
Backend::~Backend()
{
	if (!calls_->is_mine()) {
		new std::shared_ptr<Calls>(calls_);
		new std::shared_ptr<Messages>(messages_);
		return;
	}
	{
		std::lock_guard<std::mutex> lock(living().mutex);
		living().backends.erase(this);
	}
	leave(END_MS);
}

void Backend::leave_all()
{
	std::lock_guard<std::mutex> lock(living().mutex);
	for (Backend *backend : living().backends)
		if (backend->calls_->is_mine())
			backend->leave(END_MS);
}

void Backend::shutdown()
{
	if (calls_->is_mine())
		leave(milliseconds::max());
}

void Backend::abort()
{
	if (!calls_->is_mine())
		return;
	calls_->stop(c10::str("rank ", rank_, " aborted the group"));
	leave(milliseconds(0));
}

const std::string Backend::getBackendName() const
{
	return "ring";
}

c10::intrusive_ptr<Backend::Options> Backend::getBackendOptions()
{
	return options_;
}

/* Later calls: waiting for them ends then. */
void Backend::setTimeout(milliseconds timeout)
{
	options_->timeout = timeout;
}

uint64_t Backend::getSequenceNumberForGroup()
{
	return number_;
}

c10d::ErrorType Backend::getError()
{
	try {
		calls_->raise_failure();
	} catch (const std::exception &) {
		return c10d::ErrorType::COMM_ERROR;
	}
	return c10d::ErrorType::SUCCESS;
}

/* ---- works ---- */

c10::intrusive_ptr<Work> Backend::new_work(const Ask &ask, const Tensors &inputs,
					   const Tensors &outputs, std::weak_ptr<Carrier> carrier)
{
	Subject subject;
	subject.op = ask.op;
	subject.name = ask.name;
	subject.rank = rank_;
	subject.number = number_;
	subject.timeout = ask.timeout;
	return c10::make_intrusive<Work>(subject, inputs, outputs, std::move(carrier));
}

/*
 * The library's own deadline is the group's, and its sentence is the better one. Only who asked for
 * a shorter one is served by the clock of Work::wait().
 */
WorkPointer Backend::issue(const Ask &ask, const Tensors &inputs, const Tensors &outputs,
			   std::function<void(const Turn &)> run)
{
	Ask own = ask;
	const milliseconds limit = ask.timeout.count() > 0 ? ask.timeout : options_->timeout;
	const bool is_shorter = limit.count() > 0 && limit < calls_->member().timeout;
	own.timeout = is_shorter ? limit : c10d::kUnsetTimeout;
	number_++;
	const c10::intrusive_ptr<Work> work = new_work(own, inputs, outputs, calls_);
	calls_->submit({work, std::move(run)}, !ask.is_async && !is_shorter && !coalesces_);
	if (coalesces_)
		coalesced_.push_back(work);
	return work;
}

void Backend::startCoalescing()
{
	coalesces_ = true;
	coalesced_.clear();
}

WorkPointer Backend::endCoalescing()
{
	coalesces_ = false;
	c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
		c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
	for (const WorkPointer &work : coalesced_)
		futures.push_back(work->getFuture());
	coalesced_.clear();
	return c10d::Work::create_from_future(c10::collectAll(futures));
}

/* ---- messages ---- */

static Flat only_tensor(const char *name, const Tensors &tensors)
{
	TORCH_CHECK_VALUE(tensors.size() == 1, "ring: ", name, " takes one tensor, not ",
			  tensors.size());
	TORCH_CHECK_VALUE(tensors[0].device().is_cpu() && tensors[0].layout() == at::kStrided,
			  "ring: ", name, " takes dense tensors on the CPU, not one of ",
			  tensors[0].layout(), " on ", tensors[0].device());
	return flat_of(tensors[0]);
}

WorkPointer Backend::send(Tensors &tensors, int to, int tag)
{
	const Ask ask = {c10d::OpType::SEND, "ring:send", c10d::kUnsetTimeout, true};
	const Flat flat = only_tensor("send", tensors);
	TORCH_CHECK_VALUE(to >= 0 && to < size_ && to != rank_, "ring: send: rank ", rank_,
			  " cannot send to ", to, " of ", size_, " ranks");
	const c10::intrusive_ptr<Work> work = new_work(ask, tensors, {}, messages_);
	messages_->send({work, flat, tag}, to);
	if (coalesces_)
		coalesced_.push_back(work);
	return work;
}

WorkPointer Backend::receive(const Ask &ask, Tensors &tensors, int from, int tag)
{
	only_tensor("recv", tensors);
	TORCH_CHECK_VALUE(from >= -1 && from < size_ && from != rank_, "ring: recv: rank ", rank_,
			  " cannot receive from ", from, " of ", size_, " ranks");
	const c10::intrusive_ptr<Work> work = new_work(ask, tensors, tensors, messages_);
	messages_->receive({work, flat_to_fill(tensors[0]), tag, from});
	if (coalesces_)
		coalesced_.push_back(work);
	return work;
}

WorkPointer Backend::recv(Tensors &tensors, int from, int tag)
{
	return receive({c10d::OpType::RECV, "ring:recv", options_->timeout, true}, tensors, from,
		       tag);
}

WorkPointer Backend::recvAnysource(Tensors &tensors, int tag)
{
	return receive({c10d::OpType::RECVANYSOURCE, "ring:recvAnySource", options_->timeout, true},
		       tensors, -1, tag);
}

/* ---- monitored barriers ---- */

/* Looks ever more rarely. returns whether the key has come before the deadline */
static bool comes(c10d::Store &store, const std::string &key,
		  std::chrono::steady_clock::time_point deadline)
{
	for (milliseconds pause(1); !store.check({key});
	     pause = std::min(pause * 2, milliseconds(20))) {
		if (std::chrono::steady_clock::now() >= deadline)
			return false;
		std::this_thread::sleep_for(pause);
	}
	return true;
}

/* Through the store: ranks that never come are named, whatever they do. The words are gloo's. */
void Backend::monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all)
{
	const milliseconds timeout = opts.timeout == c10d::kUnsetTimeout ? options_->timeout
									 : opts.timeout;
	const std::string place = c10::str(place_, "/monitored/", ++barriers_);
	const auto deadline = std::chrono::steady_clock::now() + timeout;
	const auto fail = [&](const std::string &sentence) {
		raise_error(RING_ETIMEDOUT, tell(calls_->member(), sentence));
	};
	store_->set(c10::str(place, "/", rank_), std::vector<uint8_t>{1});
	if (rank_ != 0 && !comes(*store_, place + "/all", deadline))
		fail(c10::str(
			"Rank ", rank_,
			" successfully reached monitoredBarrier, but received errors "
			"while waiting for send/recv from rank 0, which did not see all ranks in ",
			timeout.count(), " ms"));
	if (rank_ != 0)
		return;
	if (timeout.count() <= 0)
		fail(c10::str("Rank 0 timed out in monitoredBarrier after ", timeout.count(), " ms"));
	std::string missing;
	for (int rank = 1; rank < size_ && (missing.empty() || wait_all); rank++)
		if (!comes(*store_, c10::str(place, "/", rank), deadline))
			missing += c10::str(missing.empty() ? "" : ", ", rank);
	if (!missing.empty())
		fail(c10::str(missing.find(',') == missing.npos ? "Rank " : "Ranks ", missing,
			      " failed to pass monitoredBarrier in ", timeout.count(), " ms"));
	store_->set(place + "/all", std::vector<uint8_t>{1});
}

} // namespace ring
