#include "serve/http/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::serve::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int waiting_connections = 512;
// A connection's kernel buffers, which would otherwise grow to megabytes for each reader that does
// not read.
constexpr int send_buffer_bytes = 64 * 1024, receive_buffer_bytes = 8 * 1024;

asio::ip::address address_of(const std::string& asked) {
  boost::system::error_code error;
  auto address = asio::ip::make_address(asked == "localhost" ? "127.0.0.1" : asked, error);
  if (error || asked.find('%') != asked.npos)  // a scope is of no use in a URL
    throw core::InputError(
        fmt::format("--host '{}' is no address; pass one of this machine, such as 127.0.0.1",
                    core::printable(asked)));
  return address;
}

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

std::vector<std::string> hosts_of(const tcp::endpoint& bound) {
  const bool every = bound.address().is_unspecified();
  std::vector<std::string> names{text_of(bound.data())};
  if (every) names = own_names(bound.protocol().family());
  if (every || bound.address().is_loopback()) names.push_back("localhost");
  std::vector<std::string> hosts;
  for (const std::string& name : names) {
    hosts.push_back(core::lower(fmt::format("{}:{}", name, bound.port())));
    if (bound.port() == 80) hosts.push_back(core::lower(name));  // browsers leave it out
  }
  return hosts;
}

}  // namespace

bool is_loopback(const std::string& address) { return address_of(address).is_loopback(); }

Listener listen(const Place& place) {
  tcp::endpoint endpoint(address_of(place.address), place.port);
  const int family = endpoint.protocol().family();
  core::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) fail(place);
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.number(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_REUSEADDR, 1);  // a port that was ours a minute ago
  set(SOL_SOCKET, SO_SNDBUF, send_buffer_bytes);
  set(SOL_SOCKET, SO_RCVBUF, receive_buffer_bytes);
  if (family == AF_INET6) set(IPPROTO_IPV6, IPV6_V6ONLY, 1);
  auto length = static_cast<socklen_t>(endpoint.size());
  if (bind(socket.number(), endpoint.data(), length) != 0) fail(place);
  if (::listen(socket.number(), waiting_connections) != 0) fail(place);
  getsockname(socket.number(), endpoint.data(), &length);  // the port, if any was asked for
  Listener listener{std::move(socket), "", hosts_of(endpoint)};
  listener.host = listener.hosts.front();
  return listener;
}

}  // namespace sweetspot::serve::http
