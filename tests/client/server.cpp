#include "client/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace sweetspot::tests {

Server::Server() {
  const std::string path = folder_ / "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 8) != 0)
    throw std::runtime_error("no socket");
  setenv("SWEETSPOT_SOCKET", path.c_str(), 1);
}

Server::~Server() {
  unsetenv("SWEETSPOT_SOCKET");
  hang_up();
  ::close(listener_);
}

void Server::accept() { connection_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }

bool Server::nobody_connected() {
  pollfd waiting{listener_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

std::string Server::line() {
  if (connection_ < 0) accept();
  while (received_.find('\n') == std::string::npos) {
    char buffer[4096];
    const ssize_t count = ::recv(connection_, buffer, sizeof buffer, 0);
    if (count <= 0) return "";
    received_.append(buffer, static_cast<std::size_t>(count));
  }
  const std::size_t end = received_.find('\n');
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

std::string Server::type() {
  const std::string text = line(), before = "{\"type\":\"";
  return text.starts_with(before)
             ? text.substr(before.size(), text.find('"', before.size()) - before.size())
             : text;
}

void Server::send(const std::string& text) {
  ::send(connection_, text.data(), text.size(), MSG_NOSIGNAL);
}

void Server::hang_up() {
  if (connection_ >= 0) ::close(connection_);
  connection_ = -1;
}

}  // namespace sweetspot::tests
