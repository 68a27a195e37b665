#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/descriptor.h"
#include "serve/http/request.h"
#include "serve/http/response.h"

namespace sweetspot::serve::http {

// What is still to be sent to one reader. It holds no copies: only its position in shared data.
class Outbox {
 public:
  void put(Bytes bytes);
  bool is_empty() const { return waiting_.empty(); }
  // As much as the socket takes now; false if its reader is gone.
  bool flush(int socket);

 private:
  std::deque<Bytes> waiting_;
  std::size_t sent_ = 0;  // of the first
};

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// How long a client may take; its memory is bounded elsewhere.
struct Patience {
  Milliseconds head{10'000};       // from the connection to the end of the request
  Milliseconds drain{60'000};      // to take one response, or one event
  Milliseconds farewell{2'000};    // to close after the response
  Milliseconds heartbeat{15'000};  // an idle stream sends a comment
};

// One client: one request, one response, then it is closed; or it streams for as long as it likes.
// Nothing here blocks.
class Connection {
 public:
  enum class State { reading, writing, streaming, leaving, gone };

  Connection(core::Descriptor socket, const Patience& patience);

  State state() const { return state_; }
  int socket() const { return socket_.number(); }
  std::uint32_t wanted_events() const;  // for epoll
  Clock::time_point deadline() const { return deadline_; }

  // Takes what arrived. Set once its request is complete, or known to be invalid.
  std::optional<Heard> read();
  void respond(const Response& response, bool head_only);
  // For a stream: sends the event unless its reader has it, or is still busy with another: events
  // carry the whole state, so that one may be skipped.
  void offer(const Event& event);
  void write();
  void expire();  // the deadline has passed
  void hang_up() { state_ = State::gone; }

  std::optional<std::int64_t> topic() const { return topic_; }
  void has_already(std::string event_id) { event_id_ = std::move(event_id); }

 private:
  void enter(State state, Milliseconds patience);
  void drained();

  core::Descriptor socket_;
  const Patience& patience_;
  State state_ = State::reading;
  Clock::time_point deadline_;
  HeadReader head_;
  Outbox outbox_;
  std::optional<std::int64_t> topic_;
  std::string event_id_;     // the last one sent
  bool is_ending_ = false;   // no event follows
  std::size_t ignored_ = 0;  // bytes after the request
};

}  // namespace sweetspot::serve::http
