/* SPDX-License-Identifier: MIT */
/*
 * The collective calls of the backend. What PyTorch hands over is checked and laid out in the
 * caller's thread; functions that end in _now call the library, in whichever thread has the turn.
 */
#include "backend.h"

#include <optional>

namespace ring
{

using Turn = Calls::Turn;

/* ---- checks ---- */

static const at::Tensor &checked(const char *name, const at::Tensor &tensor)
{
	TORCH_CHECK_VALUE(tensor.device().is_cpu(), name, " takes tensors on the CPU, not on ",
			  tensor.device());
	TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, name, " takes dense tensors, not ",
			  tensor.layout(), ": all_reduce alone takes sparse ones");
	return tensor;
}

static const Tensors &checked(const char *name, const Tensors &tensors)
{
	TORCH_CHECK_VALUE(!tensors.empty(), name, " was given no tensors");
	for (const at::Tensor &tensor : tensors) {
		checked(name, tensor);
		TORCH_CHECK_TYPE(tensor.scalar_type() == tensors[0].scalar_type(), name,
				 ": all tensors must be of one type, not ",
				 tensors[0].scalar_type(), " and ", tensor.scalar_type());
	}
	return tensors;
}

template <typename Element>
static const Element &only(const char *name, const std::vector<Element> &list)
{
	TORCH_CHECK_VALUE(list.size() == 1, name, " takes one tensor, or one list, per rank, not ",
			  list.size());
	return list[0];
}

/* One part for each rank. */
static const Tensors &checked_parts(const char *name, const Tensors &parts, int size)
{
	TORCH_CHECK_VALUE(checked(name, parts).size() == static_cast<size_t>(size), name, " takes ",
			  size, " tensors, one for each rank, not ", parts.size());
	return parts;
}

static void check_share(const char *name, const at::Tensor &whole, const at::Tensor &part, int size)
{
	checked(name, whole);
	checked(name, part);
	TORCH_CHECK_TYPE(whole.scalar_type() == part.scalar_type(), name,
			 ": input and output are of different types, ", whole.scalar_type(),
			 " and ", part.scalar_type());
	TORCH_CHECK_VALUE(whole.numel() == part.numel() * size, name, ": one tensor has ",
			  whole.numel(), " elements, the other ", part.numel(), ", which is not a ",
			  size, "th");
}

static std::vector<Flat> flats_of(const Tensors &tensors)
{
	std::vector<Flat> flats;
	for (const at::Tensor &tensor : tensors)
		flats.push_back(flat_of(tensor));
	return flats;
}

static std::vector<Flat> flats_to_fill(const Tensors &tensors)
{
	std::vector<Flat> flats;
	for (const at::Tensor &tensor : tensors)
		flats.push_back(flat_to_fill(tensor));
	return flats;
}

/* ---- reducing ---- */

/* The library's operation for as long as a call needs it. */
class Operation
{
      public:
	Operation(const Turn &turn, const Reduction &reduction)
	    : turn_(turn), op(reduction.op), is_made_(reduction.factor.defined())
	{
		if (is_made_)
			turn.expect(ring_op_create_premul_sum(turn.comm, reduction.factor.data_ptr(),
							      reduction.type, &op));
	}
	~Operation()
	{
		if (is_made_)
			ring_op_destroy(turn_.comm, op);
	}
	Operation(const Operation &) = delete;
	Operation &operator=(const Operation &) = delete;

      private:
	const Turn &turn_;

      public:
	ring_op op;

      private:
	const bool is_made_;
};

static void all_reduce_now(const Turn &turn, const Reduction &reduction, const Flat &flat)
{
	const at::Tensor memory = begin_reducing(reduction, flat.memory);
	const Operation operation(turn, reduction);
	void *data = memory.data_ptr();
	turn.expect(ring_all_reduce(turn.comm, data, data, memory.numel(), reduction.type,
				    operation.op, nullptr));
	end_reducing(reduction, memory, flat.memory);
	flat.give_back();
}

static void reduce_now(const Turn &turn, const Reduction &reduction, const Flat &flat, int root)
{
	const at::Tensor memory = begin_reducing(reduction, flat.memory);
	const Operation operation(turn, reduction);
	void *data = memory.data_ptr();
	turn.expect(ring_reduce(turn.comm, data, data, memory.numel(), reduction.type, operation.op,
				root, nullptr));
	if (turn.member.rank != root)
		return;
	end_reducing(reduction, memory, flat.memory);
	flat.give_back();
}

static void reduce_scatter_now(const Turn &turn, const Reduction &reduction, const Flat &input,
			       const Flat &output)
{
	const at::Tensor from = begin_reducing(reduction, input.memory);
	const at::Tensor to = begin_reducing(reduction, output.memory);
	const Operation operation(turn, reduction);
	turn.expect(ring_reduce_scatter(turn.comm, from.data_ptr(), to.data_ptr(), to.numel(),
					reduction.type, operation.op, nullptr));
	end_reducing(reduction, to, output.memory);
	output.give_back();
}

WorkPointer Backend::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLREDUCE, "ring:all_reduce", opts.timeout, opts.asyncOp};
	const at::Tensor &tensor = only(ask.name, tensors);
	if (tensor.is_sparse())
		return allreduce_sparse_tensor(ask, tensor, opts.reduceOp);
	const Flat flat = flat_of(checked(ask.name, tensor));
	const Reduction reduction = reduction_of(ask.name, opts.reduceOp, tensor.scalar_type());
	return issue(ask, tensors, tensors,
		     [=](const Turn &turn) { all_reduce_now(turn, reduction, flat); });
}

WorkPointer Backend::allreduce_coalesced(Tensors &tensors,
					 const c10d::AllreduceCoalescedOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLREDUCE_COALESCED, "ring:all_reduce_coalesced",
			 opts.timeout, opts.asyncOp};
	std::vector<Reduction> reductions;
	for (const at::Tensor &tensor : tensors)
		reductions.push_back(reduction_of(ask.name, opts.reduceOp,
						  checked(ask.name, tensor).scalar_type()));
	const std::vector<Flat> flats = flats_of(tensors);
	return issue(ask, tensors, tensors, [=](const Turn &turn) {
		for (size_t i = 0; i < flats.size(); i++)
			all_reduce_now(turn, reductions[i], flats[i]);
	});
}

WorkPointer Backend::reduce(Tensors &tensors, const c10d::ReduceOptions &opts)
{
	const Ask ask = {c10d::OpType::REDUCE, "ring:reduce", opts.timeout, opts.asyncOp};
	const Flat flat = flat_of(checked(ask.name, only(ask.name, tensors)));
	const Reduction reduction = reduction_of(ask.name, opts.reduceOp, tensors[0].scalar_type());
	const int root = static_cast<int>(opts.rootRank);
	return issue(ask, tensors, tensors,
		     [=](const Turn &turn) { reduce_now(turn, reduction, flat, root); });
}

static void reduce_scatterv_now(const Turn &turn, const Reduction &reduction, const Parts &input,
				const Flat &output)
{
	const at::Tensor from = begin_reducing(reduction, input.memory);
	const at::Tensor to = begin_reducing(reduction, output.memory);
	const Operation operation(turn, reduction);
	std::vector<size_t> counts;
	for (int64_t length : input.lengths) /* a complex number is two elements */
		counts.push_back(static_cast<size_t>(length) * (input.memory.is_complex() ? 2 : 1));
	turn.expect(ring_reduce_scatterv(turn.comm, from.data_ptr(), to.data_ptr(), counts.data(),
					 reduction.type, operation.op, nullptr));
	end_reducing(reduction, to, output.memory);
	output.give_back();
}

WorkPointer Backend::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
				    const c10d::ReduceScatterOptions &opts)
{
	const Ask ask = {c10d::OpType::REDUCE_SCATTER, "ring:reduce_scatter", opts.timeout,
			 opts.asyncOp};
	const Flat output = flat_to_fill(checked(ask.name, only(ask.name, outputs)));
	const Tensors &parts = checked_parts(ask.name, only(ask.name, inputs), size_);
	check_share(ask.name, parts[rank_], outputs[0], 1);
	const Reduction reduction = reduction_of(ask.name, opts.reduceOp, parts[0].scalar_type());
	const Parts input(parts);
	input.fill();
	if (input.are_equal)
		return issue(ask, parts, outputs, [=](const Turn &turn) {
			reduce_scatter_now(turn, reduction, {input.memory, input.memory}, output);
		});
	return issue(ask, parts, outputs,
		     [=](const Turn &turn) { reduce_scatterv_now(turn, reduction, input, output); });
}

WorkPointer Backend::reduce_scatter_single(at::Tensor &output, at::Tensor &input,
					   const c10d::ReduceScatterOptions &opts)
{
	const Ask ask = {c10d::OpType::_REDUCE_SCATTER_BASE, "ring:reduce_scatter_single",
			 opts.timeout, opts.asyncOp};
	check_share(ask.name, input, output, size_);
	const Flat from = flat_of(input), to = flat_to_fill(output);
	const Reduction reduction = reduction_of(ask.name, opts.reduceOp, input.scalar_type());
	return issue(ask, {input}, {output},
		     [=](const Turn &turn) { reduce_scatter_now(turn, reduction, from, to); });
}

WorkPointer Backend::reduce_scatter_single_coalesced(Tensors &outputs, Tensors &inputs,
						     const c10d::ReduceScatterOptions &opts)
{
	const Ask ask = {c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED,
			 "ring:reduce_scatter_single_coalesced", opts.timeout, opts.asyncOp};
	TORCH_CHECK_VALUE(outputs.size() == inputs.size(), ask.name, ": ", inputs.size(),
			  " inputs, but ", outputs.size(), " outputs");
	std::vector<Reduction> reductions;
	for (size_t i = 0; i < inputs.size(); i++) {
		check_share(ask.name, inputs[i], outputs[i], size_);
		reductions.push_back(reduction_of(ask.name, opts.reduceOp, inputs[i].scalar_type()));
	}
	const std::vector<Flat> from = flats_of(inputs), to = flats_to_fill(outputs);
	return issue(ask, inputs, outputs, [=](const Turn &turn) {
		for (size_t i = 0; i < from.size(); i++)
			reduce_scatter_now(turn, reductions[i], from[i], to[i]);
	});
}

/* ---- sparse sums ---- */

/* What all ranks have in this tensor, which every rank has in the same shape; a row for each. */
static at::Tensor all_gathered(const Turn &turn, const at::Tensor &mine)
{
	std::vector<int64_t> shape = mine.sizes().vec();
	shape.insert(shape.begin(), turn.member.size);
	const at::Tensor all = at::empty(shape, mine.options());
	const Elements own = elements_of(mine);
	turn.expect(
		ring_all_gather(turn.comm, own.data, all.data_ptr(), own.count, own.type, nullptr));
	return all;
}

static at::Tensor padded(const at::Tensor &tensor, int64_t dim, int64_t length)
{
	std::vector<int64_t> shape = tensor.sizes().vec();
	shape[dim] = length;
	const at::Tensor made = at::zeros(shape, tensor.options());
	made.narrow(dim, 0, tensor.size(dim)).copy_(tensor);
	return made;
}

static void all_reduce_sparse_now(const Turn &turn, const at::Tensor &tensor)
{
	at::NoGradGuard no_grad;
	const at::Tensor mine = tensor.detach().coalesce();
	const at::Tensor counts = all_gathered(turn,
					       at::scalar_tensor(mine._nnz(), at::dtype(at::kLong)));
	const int64_t most = counts.max().item<int64_t>();
	const at::Tensor indices = all_gathered(turn, padded(mine.indices(), 1, most).contiguous());
	const at::Tensor values = all_gathered(turn, padded(mine.values(), 0, most).contiguous());
	at::Tensor sum;
	for (int64_t rank = 0; rank < turn.member.size; rank++) {
		const int64_t count = counts[rank].item<int64_t>();
		const at::Tensor theirs = at::sparse_coo_tensor(indices[rank].narrow(1, 0, count),
								values[rank].narrow(0, 0, count),
								mine.sizes(), mine.options());
		sum = sum.defined() ? sum + theirs : theirs;
	}
	at::Tensor(tensor).copy_(sum.coalesce());
}

WorkPointer Backend::allreduce_sparse_tensor(const Ask &ask, const at::Tensor &tensor,
					     const c10d::ReduceOp &op)
{
	TORCH_CHECK_VALUE(op.op_ == c10d::ReduceOp::SUM, ask.name,
			  " of sparse tensors has only SUM");
	TORCH_CHECK_VALUE(tensor.device().is_cpu(), ask.name, " takes tensors on the CPU, not on ",
			  tensor.device());
	return issue(ask, {}, {tensor},
		     [=](const Turn &turn) { all_reduce_sparse_now(turn, tensor); });
}

/* ---- moving ---- */

WorkPointer Backend::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
	const Ask ask = {c10d::OpType::BROADCAST, "ring:broadcast", opts.timeout, opts.asyncOp};
	const Flat flat = flat_of(checked(ask.name, only(ask.name, tensors)));
	const int root = static_cast<int>(opts.rootRank);
	return issue(ask, tensors, tensors, [=](const Turn &turn) {
		const Elements own = elements_of(flat.memory);
		turn.expect(ring_broadcast(turn.comm, own.data, own.data, own.count, own.type, root,
					   nullptr));
		flat.give_back();
	});
}

WorkPointer Backend::barrier(const c10d::BarrierOptions &opts)
{
	const Ask ask = {c10d::OpType::BARRIER, "ring:barrier", opts.timeout, opts.asyncOp};
	return issue(ask, {}, {},
		     [](const Turn &turn) { turn.expect(ring_barrier(turn.comm, nullptr)); });
}

static void all_gather_now(const Turn &turn, const Flat &input, const Flat &output)
{
	const Elements own = elements_of(input.memory);
	turn.expect(ring_all_gather(turn.comm, own.data, output.memory.data_ptr(), own.count,
				    own.type, nullptr));
	output.give_back();
}

WorkPointer Backend::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			       const c10d::AllgatherOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLGATHER, "ring:all_gather", opts.timeout, opts.asyncOp};
	const Flat input = flat_of(checked(ask.name, only(ask.name, inputs)));
	const Tensors &tensors = checked_parts(ask.name, only(ask.name, outputs), size_);
	check_share(ask.name, tensors[rank_], inputs[0], 1);
	const Parts parts(tensors);
	return issue(ask, inputs, tensors, [=](const Turn &turn) {
		const Elements own = elements_of(input.memory);
		void *all = parts.memory.data_ptr();
		turn.expect(parts.are_equal ? ring_all_gather(turn.comm, own.data, all, own.count,
							      own.type, nullptr)
					    : ring_all_gatherv(turn.comm, own.data, all,
							       parts.counts.data(), nullptr,
							       own.type, nullptr));
		parts.give_back();
	});
}

WorkPointer Backend::all_gather_single(at::Tensor &output, at::Tensor &input,
				       const c10d::AllgatherOptions &opts)
{
	const Ask ask = {c10d::OpType::_ALLGATHER_BASE, "ring:all_gather_single", opts.timeout,
			 opts.asyncOp};
	check_share(ask.name, output, input, size_);
	const Flat from = flat_of(input), to = flat_to_fill(output);
	return issue(ask, {input}, {output},
		     [=](const Turn &turn) { all_gather_now(turn, from, to); });
}

WorkPointer Backend::all_gather_single_coalesced(Tensors &outputs, Tensors &inputs,
						 const c10d::AllgatherOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLGATHER_INTO_TENSOR_COALESCED,
			 "ring:all_gather_single_coalesced", opts.timeout, opts.asyncOp};
	TORCH_CHECK_VALUE(outputs.size() == inputs.size(), ask.name, ": ", inputs.size(),
			  " inputs, but ", outputs.size(), " outputs");
	for (size_t i = 0; i < inputs.size(); i++)
		check_share(ask.name, outputs[i], inputs[i], size_);
	const std::vector<Flat> from = flats_of(inputs), to = flats_to_fill(outputs);
	return issue(ask, inputs, outputs, [=](const Turn &turn) {
		for (size_t i = 0; i < from.size(); i++)
			all_gather_now(turn, from[i], to[i]);
	});
}

/* outputs[rank][i] is what that rank has as inputs[i]. */
WorkPointer Backend::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
					 const c10d::AllgatherOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLGATHER_COALESCED, "ring:all_gather_coalesced",
			 opts.timeout, opts.asyncOp};
	TORCH_CHECK_VALUE(outputs.size() == static_cast<size_t>(size_), ask.name, " takes ", size_,
			  " lists, one for each rank, not ", outputs.size());
	std::vector<Parts> gathered;
	Tensors all;
	for (size_t i = 0; i < inputs.size(); i++) {
		Tensors parts;
		for (const Tensors &list : outputs) {
			TORCH_CHECK_VALUE(list.size() == inputs.size(), ask.name, ": ",
					  inputs.size(), " inputs, but a list of ", list.size());
			check_share(ask.name, checked(ask.name, list[i]), inputs[i], 1);
			parts.push_back(list[i]);
		}
		gathered.emplace_back(parts);
	}
	for (const Tensors &list : outputs)
		all.insert(all.end(), list.begin(), list.end());
	const std::vector<Flat> from = flats_of(inputs);
	return issue(ask, inputs, all, [=](const Turn &turn) {
		for (size_t i = 0; i < from.size(); i++) {
			all_gather_now(turn, from[i], {gathered[i].memory, gathered[i].memory});
			gathered[i].give_back();
		}
	});
}

/* ---- to and from one rank ---- */

/* Whichever lengths the parts have: only root knows all of them. */
WorkPointer Backend::gather(std::vector<Tensors> &outputs, Tensors &inputs,
			    const c10d::GatherOptions &opts)
{
	const Ask ask = {c10d::OpType::GATHER, "ring:gather", opts.timeout, opts.asyncOp};
	const Flat input = flat_of(checked(ask.name, only(ask.name, inputs)));
	const int root = static_cast<int>(opts.rootRank);
	Tensors tensors;
	std::optional<Parts> parts;
	if (rank_ == root) {
		tensors = checked_parts(ask.name, only(ask.name, outputs), size_);
		check_share(ask.name, tensors[rank_], inputs[0], 1);
		parts.emplace(tensors);
	}
	return issue(ask, inputs, tensors, [=](const Turn &turn) {
		const Elements own = elements_of(input.memory);
		turn.expect(ring_gatherv(turn.comm, own.data, own.count,
					 parts ? parts->memory.data_ptr() : nullptr,
					 parts ? parts->counts.data() : nullptr, nullptr, own.type,
					 root, nullptr));
		if (parts)
			parts->give_back();
	});
}

static void gather_now(const Turn &turn, const Flat &input, const at::Tensor &memory, int root)
{
	const Elements own = elements_of(input.memory);
	turn.expect(ring_gather(turn.comm, own.data, memory.defined() ? memory.data_ptr() : nullptr,
				own.count, own.type, root, nullptr));
}

WorkPointer Backend::gather_single(at::Tensor &output, at::Tensor &input,
				   const c10d::GatherOptions &opts)
{
	const Ask ask = {c10d::OpType::GATHER, "ring:gather_single", opts.timeout, opts.asyncOp};
	const Flat from = flat_of(checked(ask.name, input));
	const int root = static_cast<int>(opts.rootRank);
	if (rank_ != root)
		return issue(ask, {input}, {},
			     [=](const Turn &turn) { gather_now(turn, from, {}, root); });
	check_share(ask.name, output, input, size_);
	const Flat to = flat_to_fill(output);
	return issue(ask, {input}, {output}, [=](const Turn &turn) {
		gather_now(turn, from, to.memory, root);
		to.give_back();
	});
}

WorkPointer Backend::scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			     const c10d::ScatterOptions &opts)
{
	const Ask ask = {c10d::OpType::SCATTER, "ring:scatter", opts.timeout, opts.asyncOp};
	const Flat output = flat_to_fill(checked(ask.name, only(ask.name, outputs)));
	const int root = static_cast<int>(opts.rootRank);
	Tensors tensors;
	std::optional<Parts> parts;
	if (rank_ == root) {
		tensors = checked_parts(ask.name, only(ask.name, inputs), size_);
		check_share(ask.name, tensors[rank_], outputs[0], 1);
		parts.emplace(tensors);
		parts->fill();
	}
	return issue(ask, tensors, outputs, [=](const Turn &turn) {
		const Elements own = elements_of(output.memory);
		turn.expect(ring_scatterv(turn.comm, parts ? parts->memory.data_ptr() : nullptr,
					  parts ? parts->counts.data() : nullptr, nullptr, own.data,
					  own.count, own.type, root, nullptr));
		output.give_back();
	});
}

/* ---- from all to all ---- */

static void exchange_now(const Turn &turn, const Parts &from, const Parts &to)
{
	const ring_datatype type = elements_of(from.memory).type;
	turn.expect(ring_all_to_allv(turn.comm, from.memory.data_ptr(), from.counts.data(), nullptr,
				     to.memory.data_ptr(), to.counts.data(), nullptr, type, nullptr));
	to.give_back();
}

WorkPointer Backend::alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLTOALL, "ring:all_to_all", opts.timeout, opts.asyncOp};
	const Parts from(checked_parts(ask.name, inputs, size_));
	const Parts to(checked_parts(ask.name, outputs, size_));
	check_share(ask.name, outputs[rank_], inputs[rank_], 1);
	from.fill();
	return issue(ask, inputs, outputs, [=](const Turn &turn) { exchange_now(turn, from, to); });
}

/* Parts along the first dimension, of these lengths or equal. */
static Tensors split_parts(const char *name, const at::Tensor &memory,
			   const std::vector<int64_t> &lengths, int size)
{
	TORCH_CHECK_VALUE(memory.dim() > 0, name, ": a tensor without dimensions cannot be divided");
	if (lengths.empty()) {
		TORCH_CHECK_VALUE(memory.size(0) % size == 0, name, ": a first dimension of ",
				  memory.size(0), " cannot be divided by ", size, " ranks");
		return memory.split_with_sizes(std::vector<int64_t>(size, memory.size(0) / size));
	}
	TORCH_CHECK_VALUE(lengths.size() == static_cast<size_t>(size), name, ": ", lengths.size(),
			  " split sizes for ", size, " ranks");
	int64_t sum = 0;
	for (int64_t length : lengths)
		sum += length;
	TORCH_CHECK_VALUE(sum == memory.size(0), name, ": split sizes add up to ", sum,
			  ", but the first dimension is ", memory.size(0));
	return memory.split_with_sizes(lengths);
}

WorkPointer Backend::all_to_all_single(at::Tensor &output, at::Tensor &input,
				       std::vector<int64_t> &output_splits,
				       std::vector<int64_t> &input_splits,
				       const c10d::AllToAllOptions &opts)
{
	const Ask ask = {c10d::OpType::ALLTOALL_BASE, "ring:all_to_all_single", opts.timeout,
			 opts.asyncOp};
	TORCH_CHECK_TYPE(checked(ask.name, output).scalar_type() ==
				 checked(ask.name, input).scalar_type(),
			 ask.name, ": input and output are of different types");
	const Flat from = flat_of(input), to = flat_to_fill(output);
	const Tensors in = split_parts(ask.name, from.memory, input_splits, size_);
	const Tensors out = split_parts(ask.name, to.memory, output_splits, size_);
	check_share(ask.name, out[rank_], in[rank_], 1);
	if (input_splits.empty() && output_splits.empty())
		return issue(ask, {input}, {output}, [=](const Turn &turn) {
			const Elements part = elements_of(in[0]);
			turn.expect(ring_all_to_all(turn.comm, part.data, to.memory.data_ptr(),
						    part.count, part.type, nullptr));
			to.give_back();
		});
	const Parts parts(in), places(out);
	return issue(ask, {input}, {output}, [=](const Turn &turn) {
		exchange_now(turn, parts, places);
		to.give_back();
	});
}

} // namespace ring
