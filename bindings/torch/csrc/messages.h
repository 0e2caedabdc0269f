/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives with tags, and from any source. All that one rank sends to another goes over a
 * communicator of the two, which is made when both have asked for it, and has a thread at each end.
 * So messages wait for nothing but their receiver: not for collectives, nor for other messages.
 *
 * A message has a header, {tag, bytes, type}. Its bytes stay with the sender until somebody wants
 * that tag, and are kept in memory only if somebody waits for a later one.
 *
 * Streams of the group's own communicator would not do. A receive of the next header, whatever it
 * will be, waits for as long as nobody sends: no call's deadline is right for it. The first failure
 * of a communicator sticks, so one rank that leaves would end what all others have to say to one
 * another. And with a stream the blocking calls run in a thread of the library's, no longer in the
 * caller's.
 */
#ifndef RING_TORCH_MESSAGES_H
#define RING_TORCH_MESSAGES_H

#include <list>
#include <map>
#include <optional>

#include "calls.h"
#include "tensors.h"

namespace ring
{

/* What a receive asks for. */
struct Wanted {
	c10::intrusive_ptr<Work> work;
	Flat flat;
	int tag;
	int source; /* -1: any */
};

class Messages;

/* One direction between this rank and another, and the thread that serves it. */
class Lane
{
      public:
	Lane(Messages &messages, int from, int to);
	virtual ~Lane() = default;

      protected:
	friend class Messages;
	virtual void serve() = 0;   /* the thread */
	virtual bool is_over() = 0; /* the group's end leaves nothing to do; the mutex is held */
	void start();
	std::exception_ptr meet_other();
	std::exception_ptr lost(int err) const;
	void close_communicator();

	Messages &messages_;
	const int from_, to_;
	Meeting meeting_;
	std::thread thread_;
	/* under the mutex of the messages */
	ring_comm *comm_ = nullptr;
	std::exception_ptr failure_; /* why nothing goes here any more */
	bool has_ended_ = false;
};

/* What goes before every message. */
struct Header {
	int64_t tag;
	uint64_t bytes;
	int32_t type;       /* at::ScalarType */
	int32_t is_goodbye; /* 1: nothing follows any more */
};

struct Sending {
	c10::intrusive_ptr<Work> work;
	Flat flat;
	int tag;
};

class OutLane final : public Lane
{
      public:
	using Lane::Lane;

      private:
	friend class Messages;
	void serve() override;
	bool is_over() override;
	int send_one(const Header &header, const at::Tensor *memory);
	std::exception_ptr send(const Sending &sending);
	std::deque<Sending> sendings_; /* under the mutex of the messages */
};

class InLane final : public Lane
{
      public:
	using Lane::Lane;

      private:
	void serve() override;
	bool is_over() override;
	bool receive(const Header &header);
	std::exception_ptr loss_; /* why the thread ended, once it has */
	bool has_left_ = false;
};

class Messages final : public Carrier, public std::enable_shared_from_this<Messages>
{
      public:
	Messages(std::shared_ptr<Calls> calls, c10::intrusive_ptr<c10d::Store> store,
		 std::string place);

	void send(Sending sending, int to);
	void receive(Wanted wanted);

	void about_to_wait() override;
	void give_up(const c10d::Work &work, const std::string &sentence) override;

	/*
	 * Ends all threads. Sends under way, and goodbyes behind them, have so much time, then they
	 * end with an error, as receives do at once.
	 */
	void close(std::chrono::milliseconds patience);

      private:
	friend class Lane;
	friend class OutLane;
	friend class InLane;
	struct Kept {
		int source;
		Header header;
		std::vector<char> bytes;
	};
	enum Match { TAKEN, NOT_YET_WANTED, OVER };

	InLane &in_lane(int from);
	Match match(int source, const Header &header, std::optional<Wanted> *taken);
	bool find_wanted(int source, int64_t tag, std::optional<Wanted> *taken);
	void keep(int source, const Header &header, std::vector<char> bytes);
	bool all_have_failed();
	template <typename Lanes> static bool all_have_ended(const Lanes &lanes);
	void lose(InLane &lane, std::exception_ptr why, bool has_left);
	void check_open(const char *call);

	const std::shared_ptr<Calls> calls_;
	const c10::intrusive_ptr<c10d::Store> store_;
	const std::string place_;
	std::mutex mutex_;
	std::condition_variable changed_;
	/* under the mutex */
	std::map<int, OutLane> out_;
	std::map<int, InLane> in_;
	std::list<Wanted> wanted_; /* in the order in which they were asked for */
	std::list<Kept> kept_;     /* in the order in which they came */
	bool closing_ = false, dropping_ = false;
};

} // namespace ring

#endif
