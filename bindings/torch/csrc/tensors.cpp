/* SPDX-License-Identifier: MIT */
/* Tensors as the library takes them; see tensors.h. */
#include "tensors.h"

#include <optional>

namespace ring
{

static bool is_flat(const at::Tensor &tensor)
{
	return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

static Flat with_memory(const at::Tensor &tensor, const at::Tensor &memory)
{
	return {tensor, memory.detach()};
}

void Flat::give_back() const
{
	if (is_flat(user))
		return;
	at::NoGradGuard no_grad;
	user.detach().copy_(memory);
}

Flat flat_of(const at::Tensor &tensor)
{
	at::NoGradGuard no_grad;
	return with_memory(
		tensor,
		is_flat(tensor)
			? tensor
			: tensor.clone(at::MemoryFormat::Contiguous).resolve_conj().resolve_neg());
}

Flat flat_to_fill(const at::Tensor &tensor)
{
	if (is_flat(tensor))
		return with_memory(tensor, tensor);
	return with_memory(tensor, at::empty(tensor.sizes(), tensor.options()));
}

/* The library's own type of the same elements; complex numbers are pairs of them. */
static std::optional<ring_datatype> own_type(at::ScalarType type)
{
	switch (type) {
	case at::kChar:
		return RING_INT8;
	case at::kByte:
		return RING_UINT8;
	case at::kInt:
		return RING_INT32;
	case at::kUInt32:
		return RING_UINT32;
	case at::kLong:
		return RING_INT64;
	case at::kUInt64:
		return RING_UINT64;
	case at::kHalf:
		return RING_FLOAT16;
	case at::kFloat:
		return RING_FLOAT32;
	case at::kDouble:
		return RING_FLOAT64;
	case at::kBFloat16:
		return RING_BFLOAT16;
	case at::kFloat8_e4m3fn:
		return RING_FLOAT8_E4M3;
	case at::kFloat8_e5m2:
		return RING_FLOAT8_E5M2;
	default:
		return std::nullopt;
	}
}

Elements elements_of(const at::Tensor &memory)
{
	const std::optional<ring_datatype> type = own_type(memory.scalar_type());
	const size_t count = static_cast<size_t>(memory.numel());
	if (type)
		return {memory.data_ptr(), count, *type};
	return {memory.data_ptr(), count * memory.element_size(), RING_UINT8};
}

/* ---- parts ---- */

bool Parts::lie_together() const
{
	for (size_t i = 0; i < tensors_.size(); i++)
		if (!is_flat(tensors_[i]) || !tensors_[i].is_alias_of(tensors_[0]) ||
		    tensors_[i].storage_offset() != tensors_[0].storage_offset() + begins_[i])
			return false;
	return true;
}

Parts::Parts(const std::vector<at::Tensor> &tensors) : tensors_(tensors)
{
	int64_t all = 0;
	for (const at::Tensor &tensor : tensors) {
		begins_.push_back(all);
		lengths.push_back(tensor.numel());
		all += tensor.numel();
		are_equal = are_equal && tensor.numel() == tensors[0].numel();
	}
	const at::Tensor first = tensors[0].detach();
	are_theirs_ = lie_together();
	memory = are_theirs_ ? first.as_strided({all}, {1}) : at::empty({all}, first.options());
	const size_t unit = elements_of(memory.narrow(0, 0, all > 0)).count;
	for (const at::Tensor &tensor : tensors)
		counts.push_back(unit * static_cast<size_t>(tensor.numel()));
}

at::Tensor Parts::part(size_t index) const
{
	const at::Tensor &tensor = tensors_[index];
	return memory.narrow(0, begins_[index], tensor.numel()).view(tensor.sizes());
}

void Parts::fill() const
{
	at::NoGradGuard no_grad;
	for (size_t i = 0; !are_theirs_ && i < tensors_.size(); i++)
		part(i).copy_(tensors_[i].detach());
}

void Parts::give_back() const
{
	at::NoGradGuard no_grad;
	for (size_t i = 0; !are_theirs_ && i < tensors_.size(); i++)
		tensors_[i].detach().copy_(part(i));
}

/* ---- reductions ---- */

static const char *name_of(c10d::ReduceOp::RedOpType op)
{
	static const char *const names[] = {"SUM",  "AVG", "PRODUCT", "MIN",        "MAX",
					    "BAND", "BOR", "BXOR",    "PREMUL_SUM", "UNUSED"};
	return names[op];
}

/* Truth values are bytes of 0 and 1. */
static std::optional<ring_op> op_of_truth(c10d::ReduceOp::RedOpType op, bool *parity)
{
	switch (op) {
	case c10d::ReduceOp::SUM:
	case c10d::ReduceOp::MAX:
	case c10d::ReduceOp::BOR:
		return RING_MAX;
	case c10d::ReduceOp::PRODUCT:
	case c10d::ReduceOp::MIN:
	case c10d::ReduceOp::BAND:
		return RING_MIN;
	case c10d::ReduceOp::BXOR:
		*parity = true;
		return RING_SUM;
	default:
		return std::nullopt;
	}
}

/* NULL for bits of what has none, and for what pairs of numbers cannot have. */
static std::optional<ring_op> op_of_numbers(c10d::ReduceOp::RedOpType op, at::ScalarType type)
{
	const bool pairs = at::isComplexType(type), bits = at::isIntegralType(type, false);
	switch (op) {
	case c10d::ReduceOp::SUM:
	case c10d::ReduceOp::PREMUL_SUM:
		return RING_SUM;
	case c10d::ReduceOp::AVG:
		return RING_AVG;
	case c10d::ReduceOp::PRODUCT:
		return pairs ? std::nullopt : std::optional(RING_PROD);
	case c10d::ReduceOp::MIN:
		return pairs ? std::nullopt : std::optional(RING_MIN);
	case c10d::ReduceOp::MAX:
		return pairs ? std::nullopt : std::optional(RING_MAX);
	case c10d::ReduceOp::BAND:
		return bits ? std::optional(RING_BAND) : std::nullopt;
	case c10d::ReduceOp::BOR:
		return bits ? std::optional(RING_BOR) : std::nullopt;
	case c10d::ReduceOp::BXOR:
		return bits ? std::optional(RING_BXOR) : std::nullopt;
	default:
		return std::nullopt;
	}
}

static at::ScalarType computed_type(at::ScalarType type)
{
	if (type == at::kBool)
		return at::kByte;
	if (type == at::kShort || type == at::kUInt16)
		return at::kInt; /* what is cut off afterwards would have been so before, too */
	return at::isComplexType(type) ? at::toRealValueType(type) : type;
}

static at::Tensor factor_of(const char *call, const c10d::ReduceOp &op, at::ScalarType type)
{
	const auto *supplement = dynamic_cast<const c10d::PreMulSumSupplement *>(
		op.supplement_.get());
	TORCH_CHECK_VALUE(supplement, call, ": PREMUL_SUM has no factor");
	if (!supplement->tensor_factor.defined())
		return at::scalar_tensor(supplement->double_factor, at::kDouble).to(type);
	TORCH_CHECK_VALUE(!supplement->tensor_factor.is_complex(), call,
			  ": the factor of PREMUL_SUM must be real");
	return supplement->tensor_factor.detach().to(at::kCPU).to(type).contiguous();
}

Reduction reduction_of(const char *call, const c10d::ReduceOp &op, at::ScalarType type)
{
	Reduction reduction;
	reduction.computed = computed_type(type);
	const std::optional<ring_datatype> elements = own_type(reduction.computed);
	TORCH_CHECK_NOT_IMPLEMENTED(elements, call, " computes nothing with ", type,
				    ": convert the tensor, to torch.float32 for instance");
	const std::optional<ring_op> known = type == at::kBool
						     ? op_of_truth(op.op_, &reduction.parity)
						     : op_of_numbers(op.op_, type);
	TORCH_CHECK_VALUE(known, call, " has no ReduceOp.", name_of(op.op_), " for ", type);
	reduction.op = *known;
	reduction.type = *elements;
	if (op.op_ == c10d::ReduceOp::PREMUL_SUM)
		reduction.factor = factor_of(call, op, reduction.computed);
	return reduction;
}

at::Tensor begin_reducing(const Reduction &reduction, const at::Tensor &memory)
{
	at::NoGradGuard no_grad;
	if (memory.scalar_type() == reduction.computed)
		return memory;
	if (memory.is_complex() || memory.scalar_type() == at::kBool)
		return memory.view(reduction.computed);
	return memory.to(reduction.computed);
}

void end_reducing(const Reduction &reduction, const at::Tensor &reduced, const at::Tensor &memory)
{
	at::NoGradGuard no_grad;
	if (reduction.parity)
		reduced.bitwise_and_(1);
	if (reduced.data_ptr() != memory.data_ptr())
		memory.copy_(reduced);
}

} // namespace ring
