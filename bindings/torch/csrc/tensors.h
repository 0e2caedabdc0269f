/* SPDX-License-Identifier: MIT */
/*
 * Tensors as the library takes them: contiguous elements on the host, of a type it knows. What a
 * tensor is besides (strided, conjugated, of a type without arithmetic) is undone by copies here.
 */
#ifndef RING_TORCH_TENSORS_H
#define RING_TORCH_TENSORS_H

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "ringccl.h"

namespace ring
{

/* Contiguous memory, and the tensor of the program's that it stands for, often the same. */
struct Flat {
	at::Tensor user, memory;

	/* Copies the memory to the program's tensor, unless they are one. */
	void give_back() const;
};

/* A tensor that is read, or both read and written. */
Flat flat_of(const at::Tensor &tensor);

/* A tensor that is only written. */
Flat flat_to_fill(const at::Tensor &tensor);

/* What a call that computes nothing moves: elements of the tensor's type, or bytes. */
struct Elements {
	void *data;
	size_t count;
	ring_datatype type;
};
Elements elements_of(const at::Tensor &memory);

/*
 * Parts for each rank, one behind the other: the memory in which the program's tensors lie like
 * that already, or memory of their own.
 */
class Parts
{
      public:
	explicit Parts(const std::vector<at::Tensor> &tensors);

	/* Copies the tensors to memory of their own, and that back to them. */
	void fill() const;
	void give_back() const;

	at::Tensor memory;            /* all elements, flat */
	std::vector<int64_t> lengths; /* of each part, in elements of the tensors */
	std::vector<size_t> counts;   /* of each part, as elements_of(memory) counts */
	bool are_equal = true;

      private:
	bool lie_together() const;
	at::Tensor part(size_t index) const;

	const std::vector<at::Tensor> tensors_;
	std::vector<int64_t> begins_;
	bool are_theirs_;
};

/* How an operation of PyTorch on elements of one type is said to the library. */
struct Reduction {
	ring_op op = RING_SUM;
	ring_datatype type = RING_FLOAT32;
	at::ScalarType computed = at::kFloat; /* the type in which it is done; elements of `type` */
	bool parity = false;                  /* afterwards only the last bit counts */
	at::Tensor factor; /* of a pre-multiplied sum: one element of `computed`; else undefined */
};

/* throws ValueError or NotImplementedError naming `call` if there is no such reduction */
Reduction reduction_of(const char *call, const c10d::ReduceOp &op, at::ScalarType type);

/* Memory in which to reduce a flat tensor: its own, seen as other elements, or a copy. */
at::Tensor begin_reducing(const Reduction &reduction, const at::Tensor &memory);

/* Brings the result of such memory back. */
void end_reducing(const Reduction &reduction, const at::Tensor &reduced, const at::Tensor &memory);

} // namespace ring

#endif
