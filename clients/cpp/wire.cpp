#include "wire.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace sweetspot::client {
namespace {

constexpr std::size_t longest_line = 64 * 1024;  // of the protocol

// A forked child, such as a data loader's worker, inherits the descriptor. It is closed there
// immediately: otherwise sweetspot would take the child for a listener.
std::atomic<int> to_close_in_children{-1};
void close_in_child() {
  const int descriptor = to_close_in_children.exchange(-1);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

bool Wire::connect(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, path);
  // Non-blocking, in case sweetspot is too busy to accept; later calls say themselves whether they
  // wait.
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  owner_ = getpid();
  if (descriptor_ < 0) return false;
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      fcntl(descriptor_, F_SETFL, 0) != 0) {
    close();
    return false;
  }
  static const int once = pthread_atfork(nullptr, nullptr, close_in_child);
  if (once == 0) to_close_in_children = descriptor_;
  return true;
}

void Wire::close() {
  if (descriptor_ < 0) return;
  int mine = descriptor_;
  descriptor_ = -1;
  if (owner_ != getpid()) return;  // already closed, and its number may have been reused
  to_close_in_children.compare_exchange_strong(mine, -1);
  ::close(mine);
}

bool Wire::send(const std::string& line) {
  if (!open()) return false;
  if (!unsent_.empty()) {
    const auto sent = put(unsent_, MSG_DONTWAIT);
    if (!sent) return false;
    unsent_.erase(0, *sent);
    if (!unsent_.empty()) return false;
  }
  const auto sent = put(line, MSG_DONTWAIT);
  if (!sent) return false;
  unsent_ = line.substr(*sent);
  return true;
}

bool Wire::send_waiting(const std::string& lines) {
  std::string rest = unsent_ + lines;
  unsent_.clear();
  while (open() && !rest.empty())
    if (const auto sent = put(rest, 0)) rest.erase(0, *sent);
  return open();
}

std::optional<std::size_t> Wire::put(const std::string& bytes, int flags) {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), flags | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) close();
  return std::nullopt;
}

std::vector<std::string> Wire::receive(bool wait) {
  if (!open()) return {};
  char buffer[4096];
  ssize_t count = 0;
  do {
    count = ::recv(descriptor_, buffer, sizeof buffer, wait ? 0 : MSG_DONTWAIT);
  } while (wait && count < 0 && errno == EINTR);
  if (count > 0) return split(buffer, static_cast<std::size_t>(count));
  if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) close();
  return {};
}

std::vector<std::string> Wire::split(const char* bytes, std::size_t count) {
  std::vector<std::string> lines;
  const char *at = bytes, *end = bytes + count;
  for (const char* stop; (stop = std::find(at, end, '\n')) != end; at = stop + 1) {
    received_.append(at, stop);
    if (!skipping_ && received_.size() < longest_line) lines.push_back(received_);
    received_.clear();
    skipping_ = false;
  }
  received_.append(at, end);
  if (received_.size() >= longest_line) skipping_ = true;
  if (skipping_) received_.clear();
  return lines;
}

}  // namespace sweetspot::client
