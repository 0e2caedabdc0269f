// SPDX-License-Identifier: MIT
// The library as a C++ program uses it: two ranks, threads of this process, add a vector.
#include "ringccl.h"

#include <cstdio>
#include <thread>
#include <vector>

namespace
{

bool add(const ring_unique_id &id, int rank)
{
	ring_options options;
	ring_options_init(&options);
	options.interface = "lo";

	ring_comm *comm = nullptr;
	if (ring_comm_create(&comm, 2, rank, &id, &options) != 0) {
		std::fprintf(stderr, "rank %d: %s\n", rank, ring_comm_error(nullptr));
		return false;
	}
	std::vector<float> vector(1000);
	for (std::size_t i = 0; i < vector.size(); i++)
		vector[i] = static_cast<float>(i) + static_cast<float>(rank);
	int err = ring_all_reduce(comm, vector.data(), vector.data(), vector.size(), RING_FLOAT32,
				  RING_SUM, nullptr);
	bool right = err == 0;
	for (std::size_t i = 0; right && i < vector.size(); i++)
		right = vector[i] == 2 * static_cast<float>(i) + 1;
	if (!right)
		std::fprintf(stderr, "rank %d: %s: %s\n", rank, ring_strerror(err),
			     ring_comm_error(comm));
	ring_comm_destroy(comm);
	return right;
}

} // namespace

int main()
{
	ring_unique_id id;
	if (ring_unique_id_create(&id) != 0) {
		std::fprintf(stderr, "%s\n", ring_comm_error(nullptr));
		return 1;
	}
	bool right[2] = {false, false};
	std::thread other([&] { right[1] = add(id, 1); });
	right[0] = add(id, 0);
	other.join();
	if (right[0] && right[1])
		std::printf("two threads of a C++ program added a vector\n");
	return right[0] && right[1] ? 0 : 1;
}
