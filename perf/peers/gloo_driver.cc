/* SPDX-License-Identifier: MIT */
/*
 * Gloo as a peer, over TCP: on loopback, or at HOST_ADDRESS. Ranks meet in the folder that
 * DRIVER_STORE names; ring_run numbers them. An error is an exception that ends the process with
 * its text.
 */
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "peer.h"

static std::shared_ptr<gloo::rendezvous::Context> context;
static std::function<void()> call; /* made by peer_prepare() */

static int number_from(const char *variable)
{
	const char *text = std::getenv(variable);
	return text ? std::atoi(text) : 0;
}

void peer_join(int *rank, int *size)
{
	const char *address = std::getenv("HOST_ADDRESS");
	gloo::transport::tcp::attr own(address ? address : "127.0.0.1");
	std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(own);
	gloo::rendezvous::FileStore store(std::getenv("DRIVER_STORE"));
	*rank = number_from("RING_RANK");
	*size = number_from("RING_SIZE");
	context = std::make_shared<gloo::rendezvous::Context>(*rank, *size);
	context->connectFullMesh(store, device);
}

void peer_barrier(void)
{
	gloo::BarrierOptions options(context);
	gloo::barrier(options);
}

void peer_max(double *values, int count)
{
	gloo::AllreduceOptions options(context);
	options.setOutput(values, static_cast<size_t>(count));
	options.setReduceFunction(static_cast<void (*)(void *, const void *, const void *, size_t)>(
		&gloo::max<double>));
	gloo::allreduce(options);
}

/* Wraps an algorithm that is an object, made once and run often. */
static std::function<void()> runner(std::shared_ptr<gloo::Algorithm> algorithm)
{
	return [algorithm] { algorithm->run(); };
}

static std::function<void()> make_all_reduce(const struct job *job)
{
	if (std::string(job->algorithm) == "halving")
		return runner(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
			context, std::vector<float *>{job->data}, static_cast<int>(job->count)));
	auto options = std::make_shared<gloo::AllreduceOptions>(context);
	options->setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
	options->setOutput(job->data, job->count);
	options->setReduceFunction(static_cast<void (*)(void *, const void *, const void *, size_t)>(
		&gloo::sum<float>));
	return [options] { gloo::allreduce(*options); };
}

static std::function<void()> make_reduce_scatter(const struct job *job)
{
	std::vector<int> counts(static_cast<size_t>(job->size), static_cast<int>(job->part));
	return runner(std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
		context, std::vector<float *>{job->data}, static_cast<int>(job->count), counts));
}

static std::function<void()> make_all_gather(const struct job *job)
{
	auto options = std::make_shared<gloo::AllgatherOptions>(context);
	options->setInput(job->data + static_cast<size_t>(job->rank) * job->part, job->part);
	options->setOutput(job->data, job->count);
	return [options] { gloo::allgather(*options); };
}

static std::function<void()> make_broadcast(const struct job *job)
{
	auto options = std::make_shared<gloo::BroadcastOptions>(context);
	options->setOutput(job->data, job->count);
	options->setRoot(0);
	return [options] { gloo::broadcast(*options); };
}

static std::function<void()> make_all_to_all(const struct job *job)
{
	auto options = std::make_shared<gloo::AlltoallOptions>(context);
	options->setInput(job->data, job->count);
	options->setOutput(job->result, job->count);
	return [options] { gloo::alltoall(*options); };
}

static const struct {
	const char *collective, *algorithms;
	std::function<void()> (*make)(const struct job *job);
} makers[] = {
	{"all_reduce", "ring halving", make_all_reduce},
	{"reduce_scatter", "halving", make_reduce_scatter},
	{"all_gather", "ring", make_all_gather},
	{"broadcast", "ring", make_broadcast},
	{"all_to_all", "ring", make_all_to_all},
};

bool peer_prepare(const struct job *job)
{
	for (const auto &maker : makers) {
		bool has = std::string(maker.algorithms).find(job->algorithm) != std::string::npos;
		if (has && std::string(maker.collective) == job->collective)
			call = maker.make(job);
	}
	return static_cast<bool>(call);
}

void peer_call(const struct job *job)
{
	(void)job;
	call();
}

void peer_leave(void)
{
	peer_barrier();
	call = nullptr;
	context.reset();
}
