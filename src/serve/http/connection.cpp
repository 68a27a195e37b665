#include "serve/http/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace sweetspot::serve::http {

void Outbox::put(Bytes bytes) {
  if (bytes && !bytes->empty()) waiting_.push_back(std::move(bytes));
}

bool Outbox::flush(int socket) {
  while (!waiting_.empty()) {
    const std::string& text = *waiting_.front();
    const ssize_t count =
        ::send(socket, text.data() + sent_, text.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<std::size_t>(count);
    if (sent_ < text.size()) continue;
    waiting_.pop_front();
    sent_ = 0;
  }
  return true;
}

namespace {

constexpr std::size_t most_ignored_bytes = 64 * 1024;  // after the request, before we close

}  // namespace

Connection::Connection(core::Descriptor socket, const Patience& patience)
    : socket_(std::move(socket)), patience_(patience) {
  enter(State::reading, patience.head);
}

std::uint32_t Connection::wanted_events() const {
  switch (state_) {
    case State::reading:
    case State::leaving:
      return EPOLLIN;
    case State::writing:
      return EPOLLOUT;
    case State::streaming:
      return EPOLLIN | (outbox_.is_empty() ? 0u : EPOLLOUT);
    case State::gone:
      break;
  }
  return 0;
}

void Connection::enter(State state, Milliseconds patience) {
  state_ = state;
  deadline_ = Clock::now() + patience;
}

std::optional<Heard> Connection::read() {
  std::array<char, 4096> buffer;
  const ssize_t count = ::recv(socket(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return std::nullopt;
  if (count <= 0) return hang_up(), std::nullopt;
  const auto size = static_cast<std::size_t>(count);
  if (state_ == State::reading) return head_.feed({buffer.data(), size});
  ignored_ += size;
  if (ignored_ > most_ignored_bytes) hang_up();
  return std::nullopt;
}

void Connection::respond(const Response& response, bool head_only) {
  head_ = {};
  outbox_.put(bytes(head_of(response)));
  if (!head_only) outbox_.put(response.body);
  const bool streams = response.topic && !head_only;
  if (streams) topic_ = response.topic;
  enter(streams ? State::streaming : State::writing, patience_.drain);
}

void Connection::offer(const Event& event) {
  if (state_ != State::streaming || !outbox_.is_empty() || is_ending_ || event.id == event_id_)
    return;
  event_id_ = event.id;
  is_ending_ = event.is_last;
  outbox_.put(event.bytes);
  enter(State::streaming, patience_.drain);
  write();
}

void Connection::write() {
  if (state_ != State::writing && state_ != State::streaming) return;
  if (!outbox_.flush(socket())) return hang_up();
  if (outbox_.is_empty()) drained();
}

void Connection::drained() {
  if (state_ == State::streaming && !is_ending_)
    return enter(State::streaming, patience_.heartbeat);
  // If it were closed immediately, with unread bytes from the client, the kernel would discard what
  // we sent.
  ::shutdown(socket(), SHUT_WR);
  enter(State::leaving, patience_.farewell);
}

void Connection::expire() {
  static const Bytes beat = bytes(std::string(heartbeat));
  if (state_ == State::reading) {
    respond(sentence(408, "The request took too long."), false);
    return write();
  }
  if (state_ != State::streaming || !outbox_.is_empty()) return hang_up();
  outbox_.put(beat);
  enter(State::streaming, patience_.drain);
  write();
}

}  // namespace sweetspot::serve::http
