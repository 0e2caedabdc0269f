/* SPDX-License-Identifier: MIT */
/*
 * oneCCL as a peer, through its interface for hosts. Ranks meet by a file in the folder that
 * DRIVER_STORE names; ring_run numbers them. An error is an exception that ends the process with
 * its text.
 */
#include <oneapi/ccl.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "peer.h"

static std::unique_ptr<ccl::communicator> comm;
static std::function<ccl::event()> call; /* made by peer_prepare() */

static int number_from(const char *variable)
{
	const char *text = std::getenv(variable);
	return text ? std::atoi(text) : 0;
}

/* All others wait for the file that rank 0 writes, which appears complete. */
static ccl::shared_ptr_class<ccl::kvs> meet(int rank)
{
	const std::string path = std::string(std::getenv("DRIVER_STORE")) + "/address";
	if (rank == 0) {
		auto store = ccl::create_main_kvs();
		ccl::kvs::address_type address = store->get_address();
		std::ofstream(path + ".new", std::ios::binary)
			.write(address.data(), static_cast<std::streamsize>(address.size()));
		std::rename((path + ".new").c_str(), path.c_str());
		return store;
	}
	std::ifstream file;
	while (file.open(path, std::ios::binary), !file.is_open())
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	ccl::kvs::address_type address;
	file.read(address.data(), static_cast<std::streamsize>(address.size()));
	return ccl::create_kvs(address);
}

void peer_join(int *rank, int *size)
{
	*rank = number_from("RING_RANK");
	*size = number_from("RING_SIZE");
	ccl::init();
	comm = std::make_unique<ccl::communicator>(
		ccl::create_communicator(*size, *rank, meet(*rank)));
}

void peer_barrier(void)
{
	ccl::barrier(*comm).wait();
}

void peer_max(double *values, int count)
{
	ccl::allreduce(values, values, static_cast<size_t>(count), ccl::reduction::max, *comm).wait();
}

static ccl::event all_reduce(const struct job *job)
{
	return ccl::allreduce(job->data, job->data, job->count, ccl::reduction::sum, *comm);
}

static ccl::event reduce_scatter(const struct job *job)
{
	return ccl::reduce_scatter(job->data, job->data, job->part, ccl::reduction::sum, *comm);
}

static ccl::event all_gather(const struct job *job)
{
	std::vector<size_t> counts(static_cast<size_t>(job->size), job->part);
	return ccl::allgatherv(job->data + static_cast<size_t>(job->rank) * job->part, job->part,
			       job->data, counts, *comm);
}

static ccl::event broadcast(const struct job *job)
{
	return ccl::broadcast(job->data, job->count, 0, *comm);
}

static ccl::event all_to_all(const struct job *job)
{
	return ccl::alltoall(job->data, job->result, job->part, *comm);
}

static const struct {
	const char *collective;
	ccl::event (*call)(const struct job *job);
} calls[] = {
	{"all_reduce", all_reduce}, {"reduce_scatter", reduce_scatter}, {"all_gather", all_gather},
	{"broadcast", broadcast},   {"all_to_all", all_to_all},
};

bool peer_prepare(const struct job *job)
{
	for (const auto &candidate : calls)
		if (std::strcmp(candidate.collective, job->collective) == 0)
			call = [&candidate, job] { return candidate.call(job); };
	return call && job->algorithm[0] == '\0';
}

void peer_call(const struct job *job)
{
	(void)job;
	call().wait();
}

void peer_leave(void)
{
	peer_barrier();
	call = nullptr;
	comm.reset();
}
