/* SPDX-License-Identifier: MIT */
/* A call on its way as PyTorch sees it; see work.h. */
#include "work.h"

#include <ATen/core/ivalue.h>

#include "ringccl.h"

namespace ring
{

/* Programs know a time-out by gloo's words for it, and PyTorch's own tests look for them, too. */
static std::string timed_out(const std::string &sentence)
{
	const std::string begin = "ring: ";
	const bool has = sentence.compare(0, begin.size(), begin) == 0;
	return c10::str(begin, "Timed out waiting: ", sentence.substr(has ? begin.size() : 0));
}

std::exception_ptr error_of(int err, const std::string &sentence)
{
	const c10::SourceLocation here = {__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
	switch (err) {
	case RING_EINVAL:
		return std::make_exception_ptr(c10::ValueError(here, sentence));
	case RING_ENOMEM:
		return std::make_exception_ptr(c10::OutOfMemoryError(here, sentence));
	case RING_ENOTSUP:
		return std::make_exception_ptr(c10::NotImplementedError(here, sentence));
	case RING_ETIMEDOUT:
		return std::make_exception_ptr(c10::DistBackendError(here, timed_out(sentence)));
	default:
		return std::make_exception_ptr(c10::DistBackendError(here, sentence));
	}
}

void raise_error(int err, const std::string &sentence)
{
	std::rethrow_exception(error_of(err, sentence));
}

Work::Work(const Subject &subject, const std::vector<at::Tensor> &inputs,
	   std::vector<at::Tensor> outputs, std::weak_ptr<Carrier> carrier)
    : c10d::Work(subject.rank, subject.op, subject.name, inputs), subject_(subject),
      outputs_(std::move(outputs)), carrier_(std::move(carrier)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get())))
{
}

void Work::give_up(const std::string &sentence)
{
	if (const std::shared_ptr<Carrier> carrier = carrier_.lock())
		carrier->give_up(*this, sentence);
}

bool Work::wait(std::chrono::milliseconds timeout)
{
	if (timeout.count() <= 0)
		timeout = subject_.timeout;
	if (const std::shared_ptr<Carrier> carrier = carrier_.lock())
		carrier->about_to_wait();
	std::unique_lock<std::mutex> lock(mutex_);
	const auto is_complete = [this] { return completed_; };
	if (timeout.count() <= 0) {
		cv_.wait(lock, is_complete);
	} else if (!cv_.wait_for(lock, timeout, is_complete)) {
		lock.unlock();
		const std::string sentence = c10::str(subject_.name, " (call ", subject_.number,
						      " of rank ", subject_.rank,
						      ") was not complete after ", timeout.count(),
						      " ms");
		give_up(sentence);
		raise_error(RING_ETIMEDOUT, sentence);
	}
	if (exception_)
		std::rethrow_exception(exception_);
	return true;
}

void Work::abort()
{
	give_up(c10::str(subject_.name, " of rank ", subject_.rank, " was aborted"));
}

std::vector<at::Tensor> Work::result()
{
	return outputs_;
}

int Work::sourceRank() const
{
	return source_;
}

uint64_t Work::getSequencenumber() const
{
	return subject_.number;
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture()
{
	return future_;
}

void Work::complete(std::exception_ptr error, int source)
{
	source_ = source;
	finish(error);
	if (error)
		future_->setError(error);
	else
		future_->markCompleted(c10::IValue(outputs_));
}

} // namespace ring
