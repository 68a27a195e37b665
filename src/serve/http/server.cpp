#include "serve/http/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <memory>

#include "core/error.h"

namespace sweetspot::serve::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr rlim_t spare_descriptors = 32;             // for the store, and whatever else is open
constexpr Milliseconds pause_without_room{100};      // when the machine has no descriptor left
constexpr std::size_t most_ignored_bytes = 1 << 16;  // after the request, before we close
// The site may take at most this share of the time: a study runs concurrently.
constexpr int refresh_share = 20;

std::size_t affordable_connections(std::size_t asked) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return asked;
  const rlim_t spare = std::min(spare_descriptors, files.rlim_cur / 2);
  return std::min<std::size_t>(asked, files.rlim_cur - spare);
}

enum class State { reading, writing, streaming, leaving };

class Connection;

class Server {
 public:
  Server(Listener listener, const Access& access, Site& site, const Limits& limits);

  void run(int stop);

  // For connections.
  const Patience& patience() const { return limits_.patience; }
  Response respond(const Heard& heard);
  Event current(std::int64_t topic) { return site_.current(topic); }
  void stream_began();
  void forget(std::uint64_t id) { connections_.erase(id); }

 private:
  std::size_t streams() const;
  void accept();
  bool make_room();
  void refresh();

  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer accept_again_{io_}, next_refresh_{io_};
  const Access& access_;
  Site& site_;
  Limits limits_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;  // oldest first
  std::uint64_t next_id_ = 0;
};

// One client: one request, one response, then it is closed; or it streams for as long as it likes.
// The handlers that wait keep it alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::uint64_t id, Server& server)
      : socket_(std::move(socket)), id_(id), server_(server), timer_(socket_.get_executor()) {}

  State state() const { return state_; }

  void begin() {
    enter(State::reading, server_.patience().head);
    read();
  }

  // For a stream: sends the newest event unless its reader has it, or is still busy with another:
  // events carry the whole state, so that one may be skipped.
  void offer() {
    if (state_ != State::streaming || is_writing() || is_ending_) return;
    const Event event = server_.current(topic_);
    if (event.id == event_id_) return;
    event_id_ = event.id;
    is_ending_ = event.is_last;
    write(event.bytes);
  }

  void hang_up() {
    server_.forget(id_);
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  bool is_writing() const { return sending_[0] != nullptr; }

  void enter(State state, Milliseconds patience) {
    state_ = state;
    timer_.expires_after(patience);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error && self->timer_.expiry() <= Clock::now()) self->expire();  // else it was set anew
    });
  }

  void expire() {
    static const Bytes beat = bytes(std::string(heartbeat));
    if (state_ == State::reading) return respond(Refusal{408, "The request took too long."});
    if (state_ != State::streaming || is_writing()) return hang_up();
    write(beat);
  }

  void read() {
    if (std::exchange(is_reading_, true)) return;
    socket_.async_read_some(asio::buffer(received_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              self->is_reading_ = false;
                              if (error) return self->hang_up();
                              self->hear({self->received_.data(), size});
                            });
  }

  void hear(std::string_view bytes) {
    if (state_ == State::reading) {
      if (const auto heard = head_.feed(bytes)) return respond(*heard);
    } else if ((ignored_ += bytes.size()) > most_ignored_bytes) {
      return hang_up();
    }
    read();
  }

  void respond(const Heard& heard) {
    const Response response = server_.respond(heard);
    const Request* request = std::get_if<Request>(&heard);
    const bool head_only = request && request->method == "HEAD";
    const bool streams = response.topic && !head_only;
    head_ = {};
    state_ = streams ? State::streaming : State::writing;
    write(bytes(head_of(response)), head_only ? nullptr : response.body);
    if (!streams) return;
    topic_ = *response.topic;
    event_id_ = request->last_event_id;
    read();  // to notice that its reader leaves
    server_.stream_began();
  }

  void write(Bytes first, Bytes second = nullptr) {
    sending_ = {std::move(first), std::move(second)};
    enter(state_, server_.patience().drain);
    std::array<asio::const_buffer, 2> buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (sending_[i]) buffers[i] = asio::buffer(*sending_[i]);
    asio::async_write(socket_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
      self->sending_ = {};
      if (error) return self->hang_up();
      self->written();
    });
  }

  void written() {
    if (state_ == State::streaming && !is_ending_) {
      enter(State::streaming, server_.patience().heartbeat);
      return offer();
    }
    // If it were closed immediately, with unread bytes from the client, the kernel would discard
    // what we sent.
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    enter(State::leaving, server_.patience().farewell);
    read();
  }

  tcp::socket socket_;
  std::uint64_t id_;
  Server& server_;
  asio::steady_timer timer_;  // until the state has lasted too long
  State state_ = State::reading;
  HeadReader head_;
  std::array<char, 1024> received_;
  bool is_reading_ = false;
  std::size_t ignored_ = 0;         // bytes after the request
  std::array<Bytes, 2> sending_{};  // null if nothing is
  std::int64_t topic_ = 0;
  std::string event_id_;    // the last one sent
  bool is_ending_ = false;  // no event follows
};

Server::Server(Listener listener, const Access& access, Site& site, const Limits& limits)
    : acceptor_(io_, listener.host.starts_with('[') ? tcp::v6() : tcp::v4(),
                listener.socket.release()),
      access_(access),
      site_(site),
      limits_(limits) {
  limits_.connections = affordable_connections(limits.connections);
}

void Server::run(int stop) {
  asio::posix::stream_descriptor stopping(io_, dup(stop));
  stopping.async_wait(asio::posix::descriptor_base::wait_read, [this](error_code) { io_.stop(); });
  accept();
  io_.run();
}

void Server::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error && (connections_.size() < limits_.connections || make_room())) {
      const auto connection = std::make_shared<Connection>(std::move(socket), next_id_, *this);
      connections_.emplace(next_id_++, connection);
      connection->begin();
    }
    if (!error || make_room()) return accept();
    accept_again_.expires_after(pause_without_room);
    accept_again_.async_wait([this](error_code) { accept(); });
  });
}

// Closing ones go first, then the longest idle, then the slowest reader; never a stream.
bool Server::make_room() {
  for (const State state : {State::leaving, State::reading, State::writing}) {
    const auto oldest = std::ranges::find_if(
        connections_, [state](const auto& each) { return each.second->state() == state; });
    if (oldest == connections_.end()) continue;
    const std::shared_ptr<Connection> closed = oldest->second;
    closed->hang_up();
    return true;
  }
  return false;
}

std::size_t Server::streams() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      connections_, [](const auto& each) { return each.second->state() == State::streaming; }));
}

Response Server::respond(const Heard& heard) {
  Response response = answer(heard, access_, site_);
  if (response.topic && streams() >= limits_.streams)
    return sentence(503, "Too many pages watch this server; close one.");
  return response;
}

void Server::stream_began() {
  if (streams() == 1) refresh();
}

void Server::refresh() {
  if (streams() == 0) return;
  const auto begun = Clock::now();
  site_.refresh();
  for (const auto& [id, connection] : connections_) connection->offer();
  const auto took = Clock::now() - begun;
  next_refresh_.expires_after(std::max<Clock::duration>(limits_.refresh, refresh_share * took));
  next_refresh_.async_wait([this](error_code error) {
    if (!error) refresh();
  });
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

void serve(Listener listener, const Access& access, Site& site, int stop, const Limits& limits) {
  try {
    Server(std::move(listener), access, site, limits).run(stop);
  } catch (const boost::system::system_error& error) {
    throw core::MachineError(
        fmt::format("cannot wait for connections: {}; start it again", error.code().message()));
  }
}

}  // namespace sweetspot::serve::http
