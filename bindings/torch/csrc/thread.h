/* SPDX-License-Identifier: MIT */
/* Threads that leave signals to the program's own. */
#ifndef RING_TORCH_THREAD_H
#define RING_TORCH_THREAD_H

#include <csignal>
#include <thread>
#include <utility>

namespace ring
{

template <typename Body> std::thread quiet_thread(Body &&body)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	std::thread thread(std::forward<Body>(body));
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	return thread;
}

} // namespace ring

#endif
