#include "serve/http/server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace sweetspot::serve::http {
namespace {

constexpr std::uint64_t stop_id = 0, listener_id = 1, first_id = 2;
constexpr int most_accepted_at_once = 64;
constexpr rlim_t spare_descriptors = 32;         // for the store, and whatever else is open
constexpr Milliseconds pause_without_room{100};  // when the machine has no descriptor left
// The site may take at most this share of the time: a study runs concurrently.
constexpr int refresh_share = 20;

std::size_t affordable_connections(std::size_t asked) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return asked;
  const rlim_t spare = std::min(spare_descriptors, files.rlim_cur / 2);
  return std::min<std::size_t>(asked, files.rlim_cur - spare);
}

[[noreturn]] void fail(const char* what) {
  throw core::MachineError(
      fmt::format("cannot {} connections: {}; start it again", what, std::strerror(errno)));
}

}  // namespace

Response answer(const Heard& heard, const Access& access, Site& site) {
  if (const Refusal* refusal = std::get_if<Refusal>(&heard))
    return sentence(refusal->status, refusal->sentence);
  const Request& request = std::get<Request>(heard);
  if (auto refused = access.refusal(request)) return *std::move(refused);
  // Browsers request it automatically, without the token; there is none.
  if (request.path == "/favicon.ico") return {.status = 204};
  if (!access.has_token(request))
    return sentence(403,
                    "The token is missing or wrong; open the URL that sweetspot serve printed.");
  try {
    return site.respond(request);
  } catch (const core::Error& error) {
    return sentence(500, error.what());
  } catch (const std::exception&) {
    return sentence(500, "This server failed; please report it with the command you ran.");
  }
}

Server::Server(Listener listener, Access access, Site& site, const Limits& limits)
    : listener_(std::move(listener)),
      access_(std::move(access)),
      site_(site),
      limits_(limits),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      next_id_(first_id) {
  if (!epoll_) fail("wait for");
  limits_.connections = affordable_connections(limits.connections);
  watch(listener_.socket.number(), listener_id, EPOLLIN, EPOLL_CTL_ADD);
}

void Server::watch(int descriptor, Id id, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.number(), operation, descriptor, &event) != 0) fail("watch");
}

void Server::run(int stop) {
  watch(stop, stop_id, EPOLLIN, EPOLL_CTL_ADD);
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count =
        epoll_wait(epoll_.number(), events.data(), events.size(), wait_milliseconds());
    if (count < 0 && errno != EINTR) fail("wait for");
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == stop_id) return;
      if (event.data.u64 == listener_id)
        accept();
      else
        serve(event.data.u64, event.events);
    }
    refresh();
    expire();
  }
}

int Server::wait_milliseconds() const {
  Clock::time_point until = Clock::time_point::max();
  for (const auto& [id, connection] : connections_) until = std::min(until, connection.deadline());
  if (streams() > 0) until = std::min(until, next_refresh_);
  if (!is_accepting_) until = std::min(until, accept_again_);
  if (until == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

std::size_t Server::streams() const {
  return static_cast<std::size_t>(std::count_if(
      connections_.begin(), connections_.end(),
      [](const auto& each) { return each.second.state() == Connection::State::streaming; }));
}

void Server::accept() {
  for (int i = 0; i < most_accepted_at_once; ++i) {
    core::Descriptor socket(
        ::accept4(listener_.socket.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      const bool no_descriptor =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (!no_descriptor || make_room()) return;  // pending ones wake us again
      is_accepting_ = false;
      accept_again_ = Clock::now() + pause_without_room;
      return watch(listener_.socket.number(), listener_id, 0, EPOLL_CTL_MOD);
    }
    if (connections_.size() >= limits_.connections && !make_room()) continue;  // closed
    const int number = socket.number();
    const Id id = next_id_++;
    connections_.try_emplace(id, std::move(socket), limits_.patience);
    watch(number, id, EPOLLIN, EPOLL_CTL_ADD);
  }
}

// Closing ones go first, then the longest idle, then the slowest reader; never a stream.
bool Server::make_room() {
  using State = Connection::State;
  for (const State state : {State::leaving, State::reading, State::writing}) {
    auto oldest = connections_.end();
    for (auto each = connections_.begin(); each != connections_.end(); ++each)
      if (each->second.state() == state &&
          (oldest == connections_.end() || each->first < oldest->first))
        oldest = each;
    if (oldest == connections_.end()) continue;
    connections_.erase(oldest);  // closing its descriptor ends the watch
    return true;
  }
  return false;
}

void Server::serve(Id id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // it was closed earlier in this round
  Connection& connection = found->second;
  if (events & (EPOLLERR | EPOLLHUP))
    connection.hang_up();
  else if (events & EPOLLIN)
    hear(connection);
  if (events & EPOLLOUT) connection.write();
  settle(found);
}

void Server::hear(Connection& connection) {
  const std::optional<Heard> heard = connection.read();
  if (!heard) return;
  Response response = answer(*heard, access_, site_);
  if (response.topic && streams() >= limits_.streams)
    response = sentence(503, "Too many pages watch this server; close one.");
  const Request* request = std::get_if<Request>(&*heard);
  connection.respond(response, request && request->method == "HEAD");
  connection.write();
  if (connection.topic()) begin_stream(connection, *request);
}

void Server::begin_stream(Connection& connection, const Request& request) {
  connection.has_already(request.last_event_id);
  if (site_.refresh()) next_refresh_ = {};  // the others get it too
  connection.offer(site_.current(*connection.topic()));
}

void Server::refresh() {
  if (Clock::now() < next_refresh_ || streams() == 0) return;
  const auto begun = Clock::now();
  site_.refresh();
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto stream = each++;
    if (stream->second.state() != Connection::State::streaming) continue;
    stream->second.offer(site_.current(*stream->second.topic()));
    settle(stream);
  }
  const auto end = Clock::now();
  next_refresh_ = end + std::max<Clock::duration>(limits_.refresh, refresh_share * (end - begun));
}

void Server::expire() {
  const auto now = Clock::now();
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto late = each++;
    if (late->second.deadline() > now) continue;
    late->second.expire();
    settle(late);
  }
  if (is_accepting_ || accept_again_ > now) return;
  is_accepting_ = true;
  watch(listener_.socket.number(), listener_id, EPOLLIN, EPOLL_CTL_MOD);
}

// Updates its epoll events from its state, or closes it.
void Server::settle(Connections::iterator found) {
  Connection& connection = found->second;
  if (connection.state() == Connection::State::gone)
    connections_.erase(found);
  else
    watch(connection.socket(), found->first, connection.wanted_events(), EPOLL_CTL_MOD);
}

}  // namespace sweetspot::serve::http
