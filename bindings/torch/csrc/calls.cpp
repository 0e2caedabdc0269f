/* SPDX-License-Identifier: MIT */
/* The communicator of a process group, and who runs its calls; see calls.h. */
#include "calls.h"

#include <unistd.h>

#include "thread.h"

namespace ring
{

std::string tell(const Membership &member, const std::string &sentence)
{
	std::string ranks;
	for (size_t i = 0; i < member.global_ranks.size(); i++)
		ranks += c10::str(i ? ", " : "", member.global_ranks[i]);
	const std::string where = ranks.empty() ? ""
						: c10::str(" [group ", member.name,
							   ", of the job's ranks ", ranks, "]");
	return "ring: " + sentence + where;
}

void Calls::Turn::expect(int err) const
{
	if (err)
		raise_error(err, tell(member, ring_comm_error(comm)));
}

Calls::Calls(const Membership &member, ring_comm *comm)
    : member_(member), pid_(getpid()), comm_(comm)
{
}

bool Calls::is_mine() const
{
	return pid_ == getpid();
}

std::shared_ptr<Calls> Calls::start(const c10::intrusive_ptr<c10d::Store> &store,
				    const std::string &place, const Membership &member)
{
	Meeting meeting;
	meeting.store = store;
	meeting.place = place;
	meeting.rank = member.rank;
	meeting.size = member.size;
	meeting.timeout = meeting.call_timeout = member.timeout;
	meeting.is_over = [] { return false; };
	const std::shared_ptr<Calls> calls(new Calls(member, meet(meeting)));
	calls->thread_ = quiet_thread([calls] { calls->serve(); });
	return calls;
}

void Calls::serve()
{
	std::unique_lock<std::mutex> lock(mutex_);
	const std::thread::id nobody;
	for (;;) {
		changed_.wait(lock,
			      [&] { return runner_ == nobody && (!jobs_.empty() || closing_); });
		if (jobs_.empty())
			break;
		runner_ = std::this_thread::get_id();
		run_next(lock);
		runner_ = nobody;
		changed_.notify_all();
	}
	lock.unlock();
	leave();
}

/* Nobody can reach the communicator any more when it is destroyed. */
void Calls::leave()
{
	std::unique_lock<std::mutex> lock(mutex_);
	ring_comm *comm = comm_;
	comm_ = nullptr;
	lock.unlock();
	ring_comm_destroy(comm);
	lock.lock();
	closed_ = true;
	changed_.notify_all();
}

void Calls::run(const Job &job)
{
	std::exception_ptr error;
	try {
		raise_stop();
		job.run({comm_, member_});
	} catch (...) {
		error = std::current_exception();
	}
	job.work->complete(error);
}

/* The caller is the runner. The lock is held, but not meanwhile. */
void Calls::run_next(std::unique_lock<std::mutex> &lock)
{
	Job job = std::move(jobs_.front());
	jobs_.pop_front();
	lock.unlock();
	run(job);
	job = {};
	lock.lock();
}

void Calls::submit(Job job, bool is_waited_for)
{
	if (!is_mine())
		raise_error(RING_EINVAL,
			    tell(member_, c10::str("a child made by fork() cannot call ",
						   job.work->name(), " of its parent's group")));
	const std::thread::id nobody, me = std::this_thread::get_id();
	std::unique_lock<std::mutex> lock(mutex_);
	if (closing_)
		raise_error(RING_EINVAL,
			    tell(member_, c10::str(job.work->name(), ": the group was shut down")));
	const bool is_next = comm_ && runner_ == nobody && jobs_.empty();
	jobs_.push_back(std::move(job));
	if (runner_ == me) { /* a call's future made it, and may wait for it */
		lock.unlock();
		about_to_wait();
	} else if (is_waited_for && is_next) {
		runner_ = me;
		run_next(lock);
		runner_ = nobody;
		if (!jobs_.empty() || closing_)
			changed_.notify_all();
	} else {
		changed_.notify_all();
	}
}

void Calls::stop(const std::string &why)
{
	std::lock_guard<std::mutex> lock(mutex_);
	if (!failure_)
		failure_ = error_of(RING_EABORTED, tell(member_, why));
	if (comm_)
		ring_comm_abort(comm_);
}

void Calls::about_to_wait()
{
	std::unique_lock<std::mutex> lock(mutex_);
	while (runner_ == std::this_thread::get_id() && !jobs_.empty())
		run_next(lock);
}

void Calls::give_up(const c10d::Work &, const std::string &sentence)
{
	stop(sentence);
}

/* What the library knows of the communicator it says itself, of the call that it befell. */
void Calls::raise_stop()
{
	std::lock_guard<std::mutex> lock(mutex_);
	if (failure_)
		std::rethrow_exception(failure_);
}

void Calls::raise_failure()
{
	raise_stop();
	std::lock_guard<std::mutex> lock(mutex_);
	const int err = comm_ ? ring_comm_status(comm_) : 0;
	if (err)
		raise_error(err, tell(member_, ring_comm_error(comm_)));
}

void Calls::close(std::chrono::milliseconds patience)
{
	std::unique_lock<std::mutex> lock(mutex_);
	closing_ = true;
	changed_.notify_all();
	const std::thread::id nobody;
	const auto is_idle = [&] { return jobs_.empty() && runner_ == nobody; };
	if (runner_ == std::this_thread::get_id()) { /* a call's future ends the group */
		if (thread_.joinable())
			thread_.detach();
		return;
	}
	if (patience == patience.max()) {
		changed_.wait(lock, is_idle);
	} else if (!changed_.wait_for(lock, patience, is_idle)) {
		lock.unlock();
		stop("the process left while calls were under way");
		lock.lock();
	}
	std::thread thread = std::move(thread_);
	lock.unlock();
	if (thread.joinable())
		thread.join();
	lock.lock();
	changed_.wait(lock, [&] { return closed_; });
}

} // namespace ring
