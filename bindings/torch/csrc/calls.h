/* SPDX-License-Identifier: MIT */
/*
 * The communicator of a process group, and who runs its calls: one after the other, in the order in
 * which they were made. A thread of their own does that, or the caller's while nothing else is
 * under way; what hangs on a call's future runs there, too, and may make further calls.
 */
#ifndef RING_TORCH_CALLS_H
#define RING_TORCH_CALLS_H

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "meeting.h"
#include "work.h"

namespace ring
{

/* A process group as one of its ranks knows it. */
struct Membership {
	int rank, size;
	std::string name;                   /* the group's, for people */
	std::vector<uint64_t> global_ranks; /* its ranks in the job; empty: the same numbers */
	std::chrono::milliseconds timeout;
};

/* A sentence of the library's, with the group that it is about. */
std::string tell(const Membership &member, const std::string &sentence);

class Calls final : public Carrier, public std::enable_shared_from_this<Calls>
{
      public:
	/* Given to a job: the communicator, and what its calls return. */
	struct Turn {
		ring_comm *comm;
		const Membership &member;

		/* Throws if a call of the library failed. */
		void expect(int err) const;
	};
	struct Job {
		c10::intrusive_ptr<Work> work;
		std::function<void(const Turn &)> run;
	};

	/* place: where in the store its ranks meet. Returns when all have come. */
	static std::shared_ptr<Calls> start(const c10::intrusive_ptr<c10d::Store> &store,
					    const std::string &place, const Membership &member);

	/* is_waited_for: the caller does nothing else until the job is done, so it may run here. */
	void submit(Job job, bool is_waited_for);

	void about_to_wait() override;
	void give_up(const c10d::Work &work, const std::string &sentence) override;

	/* Ends running and further calls on all ranks; any thread. */
	void stop(const std::string &why);

	/* Throws why it was stopped, or what happened to the communicator; any thread. */
	void raise_failure();

	/*
	 * Says goodbye when all jobs are done; those under way have so much time, max(): as long as
	 * they take. Idempotent; any thread but of a forked child.
	 */
	void close(std::chrono::milliseconds patience);

	/* A forked child has the memory, but not the thread. */
	bool is_mine() const;

	const Membership &member() const
	{
		return member_;
	}

      private:
	Calls(const Membership &member, ring_comm *comm);
	void serve();
	void run_next(std::unique_lock<std::mutex> &lock);
	void run(const Job &job);
	void raise_stop();
	void leave();

	const Membership member_;
	const int pid_;
	std::thread thread_;
	std::mutex mutex_;
	std::condition_variable changed_;
	/* under the mutex */
	std::deque<Job> jobs_;
	ring_comm *comm_;
	std::exception_ptr failure_; /* why it was stopped */
	std::thread::id runner_;     /* who runs a job; else nobody */
	bool closing_ = false, closed_ = false;
};

} // namespace ring

#endif
