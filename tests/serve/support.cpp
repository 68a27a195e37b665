#include "serve/support.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>

namespace sweetspot::tests {
namespace {

constexpr time_t patience_seconds = 60;

sockaddr_in address_of(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(host.substr(colon + 1))));
  inet_pton(AF_INET, host.substr(0, colon).c_str(), &address.sin_addr);
  return address;
}

}  // namespace

http::Response FakeSite::respond(const http::Request& request) {
  if (request.path == "/broken") throw std::runtime_error("broken");
  if (request.path == "/events") {
    http::Response response;
    response.topic = 1;
    return response;
  }
  if (request.path != "/") return http::sentence(404, "no such page");
  http::Response response;
  response.body = http::bytes(page);
  return response;
}

http::Event FakeSite::current(std::int64_t) {
  const std::lock_guard lock(mutex_);
  http::Event event = http::event("study", json_);
  event.is_last = is_last_;
  return event;
}

void FakeSite::tell(const std::string& json) {
  const std::lock_guard lock(mutex_);
  json_ = json;
}

void FakeSite::end() {
  const std::lock_guard lock(mutex_);
  json_ = "\"the end\"";
  is_last_ = true;
}

Running::Running(http::Site& site, const http::Limits& limits) : stop_(eventfd(0, EFD_CLOEXEC)) {
  http::Listener listener = http::listen({});
  host_ = listener.host;
  thread_ =
      std::thread([&site, limits, stop = stop_.number(), listener = std::move(listener)]() mutable {
        const http::Access access(listener.hosts, token);
        http::serve(std::move(listener), access, site, stop, limits);
      });
}

Running::~Running() {
  eventfd_write(stop_.number(), 1);
  thread_.join();
}

Client::Client(const std::string& host)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience{patience_seconds, 0};
  setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket_.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const sockaddr_in address = address_of(host);
  if (connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no connection to " + host);
}

bool Client::send(const std::string& bytes) {
  return ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

bool Client::read_some() {
  std::array<char, 65536> buffer;
  const ssize_t count = recv(socket_.number(), buffer.data(), buffer.size(), 0);
  EXPECT_FALSE(count < 0 && errno == EAGAIN) << "the server says nothing and does not hang up";
  if (count > 0) read_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string Client::read_until(const std::string& text) {
  while (read_.find(text) == std::string::npos && read_some()) {
  }
  return read_;
}

std::string Client::read_all() {
  while (read_some()) {
  }
  return read_;
}

void Client::finish_sending() { shutdown(socket_.number(), SHUT_WR); }

std::string request(const std::string& target, const std::string& host, const std::string& method,
                    const std::string& fields) {
  return method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

std::string ask(const std::string& host, const std::string& bytes) {
  Client client(host);
  client.send(bytes);
  return client.read_all();
}

int status_of(const std::string& response) {
  return response.starts_with("HTTP/1.1 ") ? std::stoi(response.substr(9, 3)) : 0;
}

std::string body_of(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

}  // namespace sweetspot::tests
