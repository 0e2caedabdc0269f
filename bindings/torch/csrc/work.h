/* SPDX-License-Identifier: MIT */
/* A call on its way as PyTorch sees it, and the library's failures as PyTorch's exceptions. */
#ifndef RING_TORCH_WORK_H
#define RING_TORCH_WORK_H

#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <memory>

namespace ring
{

/* RING_EINVAL is a ValueError; what befell the group is a torch.distributed.DistBackendError. */
std::exception_ptr error_of(int err, const std::string &sentence);
[[noreturn]] void raise_error(int err, const std::string &sentence);

/* What a Work is of. */
struct Subject {
	c10d::OpType op = c10d::OpType::UNKNOWN;
	const char *name = ""; /* the call's, for sentences and the profiler: "ring:all_reduce" */
	int rank = 0;
	uint64_t number = 0; /* how many calls the group had by then */
	std::chrono::milliseconds timeout = c10d::kUnsetTimeout; /* of a wait() without one */
};

/* Who carries out what a Work is of. */
struct Carrier {
	virtual ~Carrier() = default;

	/* This thread is about to wait; if it is the one that should act, it does. */
	virtual void about_to_wait() = 0;

	/* A deadline has passed, as the sentence says: nothing of it may go on. */
	virtual void give_up(const c10d::Work &work, const std::string &sentence) = 0;
};

/* Any thread may wait, test and ask; the thread that runs the call completes it, once. */
class Work final : public c10d::Work
{
      public:
	Work(const Subject &subject, const std::vector<at::Tensor> &inputs,
	     std::vector<at::Tensor> outputs, std::weak_ptr<Carrier> carrier);

	bool wait(std::chrono::milliseconds timeout) override;
	void abort() override;
	std::vector<at::Tensor> result() override;
	int sourceRank() const override;
	uint64_t getSequencenumber() const override;
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

	/* Runs what hangs on the future, in this thread. */
	void complete(std::exception_ptr error, int source = -1);

	const char *name() const
	{
		return subject_.name;
	}

      private:
	void give_up(const std::string &sentence);

	const Subject subject_;
	const std::vector<at::Tensor> outputs_;
	const std::weak_ptr<Carrier> carrier_;
	const c10::intrusive_ptr<c10::ivalue::Future> future_;
	int source_ = -1;
};

} // namespace ring

#endif
