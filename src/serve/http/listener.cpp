#include "serve/http/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::serve::http {
namespace {

constexpr int waiting_connections = 512;
// A connection's kernel buffers, which would otherwise grow to megabytes for each reader that does
// not read.
constexpr int send_buffer_bytes = 64 * 1024, receive_buffer_bytes = 8 * 1024;

// An address of either family.
class Address {
 public:
  explicit Address(const std::string& asked, std::uint16_t port = 0) {
    const char* text = asked == "localhost" ? "127.0.0.1" : asked.c_str();
    four_.sin_family = AF_INET;
    four_.sin_port = htons(port);
    six_.sin6_family = AF_INET6;
    six_.sin6_port = htons(port);
    is_six_ = inet_pton(AF_INET6, text, &six_.sin6_addr) == 1;
    if (!is_six_ && inet_pton(AF_INET, text, &four_.sin_addr) != 1)
      throw core::InputError(
          fmt::format("--host '{}' is no address; pass one of this machine, such as 127.0.0.1",
                      core::printable(asked)));
  }
  // Of a bound socket.
  Address(const Address& kind, int socket) : Address(kind) {
    socklen_t length = size();
    getsockname(socket, data(), &length);
  }

  int family() const { return is_six_ ? AF_INET6 : AF_INET; }
  sockaddr* data() {
    return is_six_ ? reinterpret_cast<sockaddr*>(&six_) : reinterpret_cast<sockaddr*>(&four_);
  }
  socklen_t size() const { return is_six_ ? sizeof six_ : sizeof four_; }
  std::uint16_t port() const { return ntohs(is_six_ ? six_.sin6_port : four_.sin_port); }
  bool is_loopback() const {
    if (is_six_) return IN6_IS_ADDR_LOOPBACK(&six_.sin6_addr);
    return ntohl(four_.sin_addr.s_addr) >> 24 == 127;
  }
  bool is_every() const {
    if (is_six_) return IN6_IS_ADDR_UNSPECIFIED(&six_.sin6_addr);
    return four_.sin_addr.s_addr == htonl(INADDR_ANY);
  }

 private:
  sockaddr_in four_{};
  sockaddr_in6 six_{};
  bool is_six_ = false;
};

// As it stands in a URL.
std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    return inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  return fmt::format("[{}]", inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size()));
}

[[noreturn]] void fail(const Place& place) {
  const std::string shown = core::printable(place.address);
  const int error = errno;
  if (error == EADDRINUSE)
    throw core::MachineError(fmt::format(
        "port {} of {} is in use; pass --port 0 for one that is free", place.port, shown));
  if (error == EADDRNOTAVAIL)
    throw core::InputError(fmt::format(
        "--host {} is no address of this machine; leave it out for the loopback", shown));
  if (error == EACCES)
    throw core::InputError(fmt::format(
        "port {} is not for everyone's programs; pass --port 0 for one that is", place.port));
  throw core::MachineError(fmt::format("cannot listen on port {} of {}: {}; pass another --port",
                                       place.port, shown, std::strerror(error)));
}

std::vector<std::string> own_names(int family) {
  std::vector<std::string> names;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0 && name[0]) names.emplace_back(name.data());
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    for (const ifaddrs* one = list; one; one = one->ifa_next)
      if (one->ifa_addr && one->ifa_addr->sa_family == family)
        names.push_back(text_of(one->ifa_addr));
  }
  return names;
}

std::vector<std::string> hosts_of(Address& address) {
  std::vector<std::string> names{text_of(address.data())};
  if (address.is_every()) names = own_names(address.family());
  if (address.is_loopback() || address.is_every()) names.push_back("localhost");
  std::vector<std::string> hosts;
  for (std::string& name : names) {
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    hosts.push_back(fmt::format("{}:{}", name, address.port()));
    if (address.port() == 80) hosts.push_back(name);  // browsers leave it out
  }
  return hosts;
}

}  // namespace

bool is_loopback(const std::string& address) { return Address(address).is_loopback(); }

Listener listen(const Place& place) {
  Address address(place.address, place.port);
  core::Descriptor socket(
      ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) fail(place);
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.number(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_REUSEADDR, 1);  // a port that was ours a minute ago
  set(SOL_SOCKET, SO_SNDBUF, send_buffer_bytes);
  set(SOL_SOCKET, SO_RCVBUF, receive_buffer_bytes);
  if (address.family() == AF_INET6) set(IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (bind(socket.number(), address.data(), address.size()) != 0) fail(place);
  if (::listen(socket.number(), waiting_connections) != 0) fail(place);
  Address bound(address, socket.number());
  Listener listener{std::move(socket), "", hosts_of(bound)};
  listener.host = listener.hosts.front();
  return listener;
}

}  // namespace sweetspot::serve::http
