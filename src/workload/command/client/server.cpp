#include "workload/command/client/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace sweetspot::workload::command::client {
namespace {

constexpr std::size_t most_strangers = 64;
constexpr int most_reads = 16;  // of 64 KiB, per call
constexpr ucred nobody{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};

[[noreturn]] void fail(const char* what) {
  throw core::MachineError(
      fmt::format("the client's socket cannot be {}: {}; set TMPDIR to "
                  "another directory",
                  what, std::strerror(errno)));
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace

Server::Server()
    : folder_(std::in_place, PrivateFolder::Use::socket),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  if (listener_.number() < 0) fail("made");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = this->path();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("bound");
  if (::listen(listener_.number(), most_strangers) != 0) fail("listened at");
}

Server::Server(process::Descriptor connection) {
  ::fcntl(connection.number(), F_SETFD, FD_CLOEXEC);
  ::fcntl(connection.number(), F_SETFL, O_NONBLOCK);
  talking_ = Connection{std::move(connection), {}};
}

std::vector<int> Server::descriptors() const {
  std::vector<int> all;
  if (listener_) all.push_back(listener_.number());
  if (connected()) all.push_back(talking_->socket.number());
  for (const Connection& stranger : strangers_) all.push_back(stranger.socket.number());
  return all;
}

std::vector<Message> Server::take() {
  accept();
  if (talking_) return talking_->open ? read(*talking_) : std::vector<Message>{};
  std::vector<Message> said;
  for (Connection& stranger : strangers_) {
    said = read(stranger);
    if (!stranger.said_hello) continue;
    talking_ = std::move(stranger);
    strangers_.clear();
    return said;
  }
  std::erase_if(strangers_, [](const Connection& stranger) { return !stranger.open; });
  return {};
}

pid_t Server::peer() const {
  return talking_ ? peer_of(talking_->socket.number()).value_or(nobody).pid : 0;
}

bool Server::send(const std::string& line) {
  if (!connected()) return false;
  const ssize_t sent =
      ::send(talking_->socket.number(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(line.size());
}

void Server::accept() {
  while (listener_) {
    process::Descriptor socket(
        ::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.number() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (!talking_ && strangers_.size() < most_strangers &&
        peer_of(socket.number()).value_or(nobody).uid == ::geteuid())
      strangers_.push_back({std::move(socket), {}});
  }
}

std::vector<Message> Server::read(Connection& connection) {
  std::vector<Message> said;
  std::array<char, 64 * 1024> buffer;
  const std::int64_t bad_before = connection.lines.bad();
  for (int reads = 0; reads < most_reads && connection.open; ++reads) {
    const ssize_t got = ::recv(connection.socket.number(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {  // an error is an end too
      connection.lines.end();
      connection.open = false;
      break;
    }
    const auto lines = connection.lines.feed({buffer.data(), static_cast<std::size_t>(got)});
    for (Message& message : understand(connection, lines)) said.push_back(std::move(message));
  }
  bad_ += connection.lines.bad() - bad_before;
  return said;
}

std::vector<Message> Server::understand(Connection& connection,
                                        const std::vector<std::string>& lines) {
  std::vector<Message> said;
  for (const std::string& line : lines) {
    std::optional<Message> message = parse(line);
    const bool hello = message && std::holds_alternative<Hello>(*message);
    // The first line, and only the first, must be the hello.
    if (!message || hello == connection.said_hello)
      ++bad_;
    else
      said.push_back(std::move(*message));
    connection.said_hello = connection.said_hello || hello;
  }
  return said;
}

}  // namespace sweetspot::workload::command::client
