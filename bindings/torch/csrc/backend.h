/* SPDX-License-Identifier: MIT */
/*
 * The backend "ring" of torch.distributed, for tensors on CPUs: checks what PyTorch asks for, and
 * hands it to the group's calls (calls.h) or messages (messages.h). Its methods are PyTorch's, as
 * are their names; what they do is said there and in docs/PYTORCH.md.
 */
#ifndef RING_TORCH_BACKEND_H
#define RING_TORCH_BACKEND_H

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "calls.h"
#include "messages.h"

namespace ring
{

using Tensors = std::vector<at::Tensor>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using std::chrono::milliseconds;

class Backend final : public c10d::Backend
{
      public:
	static c10::intrusive_ptr<c10d::Backend> create(
		const c10d::DistributedBackendOptions &options);

	/* At the end of the process: says goodbye for all groups that are still there. */
	static void leave_all();

	Backend(const c10::intrusive_ptr<c10d::Store> &store, const Membership &member);
	~Backend() override;

	const std::string getBackendName() const override;
	c10::intrusive_ptr<Options> getBackendOptions() override;
	void setTimeout(milliseconds timeout) override;
	uint64_t getSequenceNumberForGroup() override;
	c10d::ErrorType getError() override;
	void abort() override;
	void shutdown() override;
	void startCoalescing() override;
	WorkPointer endCoalescing() override;

	WorkPointer broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override;
	WorkPointer allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override;
	WorkPointer allreduce_coalesced(Tensors &tensors,
					const c10d::AllreduceCoalescedOptions &opts) override;
	WorkPointer reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override;
	WorkPointer barrier(const c10d::BarrierOptions &opts) override;
	void monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all) override;

	WorkPointer allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			      const c10d::AllgatherOptions &opts) override;
	WorkPointer allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
					const c10d::AllgatherOptions &opts) override;
	WorkPointer all_gather_single(at::Tensor &output, at::Tensor &input,
				      const c10d::AllgatherOptions &opts) override;
	WorkPointer all_gather_single_coalesced(Tensors &outputs, Tensors &inputs,
						const c10d::AllgatherOptions &opts) override;

	WorkPointer reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
				   const c10d::ReduceScatterOptions &opts) override;
	WorkPointer reduce_scatter_single(at::Tensor &output, at::Tensor &input,
					  const c10d::ReduceScatterOptions &opts) override;
	WorkPointer reduce_scatter_single_coalesced(Tensors &outputs, Tensors &inputs,
						    const c10d::ReduceScatterOptions &opts) override;

	WorkPointer gather(std::vector<Tensors> &outputs, Tensors &inputs,
			   const c10d::GatherOptions &opts) override;
	WorkPointer gather_single(at::Tensor &output, at::Tensor &input,
				  const c10d::GatherOptions &opts) override;
	WorkPointer scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			    const c10d::ScatterOptions &opts) override;
	WorkPointer alltoall(Tensors &outputs, Tensors &inputs,
			     const c10d::AllToAllOptions &opts) override;
	WorkPointer all_to_all_single(at::Tensor &output, at::Tensor &input,
				      std::vector<int64_t> &output_splits,
				      std::vector<int64_t> &input_splits,
				      const c10d::AllToAllOptions &opts) override;

	WorkPointer send(Tensors &tensors, int to, int tag) override;
	WorkPointer recv(Tensors &tensors, int from, int tag) override;
	WorkPointer recvAnysource(Tensors &tensors, int tag) override;

      private:
	using Turn = Calls::Turn;

	/* A call that was asked for: which, by when, and whether the caller goes on meanwhile. */
	struct Ask {
		c10d::OpType op;
		const char *name;
		milliseconds timeout;
		bool is_async;
	};
	WorkPointer issue(const Ask &ask, const Tensors &inputs, const Tensors &outputs,
			  std::function<void(const Turn &)> run);
	c10::intrusive_ptr<Work> new_work(const Ask &ask, const Tensors &inputs,
					  const Tensors &outputs, std::weak_ptr<Carrier> carrier);
	WorkPointer allreduce_sparse_tensor(const Ask &ask, const at::Tensor &tensor,
					    const c10d::ReduceOp &op);
	WorkPointer receive(const Ask &ask, Tensors &tensors, int from, int tag);
	void leave(milliseconds patience);

	const c10::intrusive_ptr<c10d::Store> store_;
	const c10::intrusive_ptr<Options> options_;
	const std::string place_;
	const std::shared_ptr<Calls> calls_;
	const std::shared_ptr<Messages> messages_;
	uint64_t number_ = 0;   /* collectives so far */
	uint64_t barriers_ = 0; /* monitored ones */
	bool coalesces_ = false;
	std::vector<WorkPointer> coalesced_;
};

} // namespace ring

#endif
