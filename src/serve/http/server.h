#pragma once
#include <unordered_map>

#include "serve/http/access_token.h"
#include "serve/http/connection.h"
#include "serve/http/listener.h"
#include "serve/http/request.h"
#include "serve/http/response.h"

namespace sweetspot::serve::http {

// What is served. Called by one thread only.
class Site {
 public:
  virtual ~Site() = default;
  virtual Response respond(const Request& request) = 0;
  // Checks whether anything changed; polled while somebody streams. True if so.
  virtual bool refresh() = 0;
  // The state of a topic, as of the last refresh().
  virtual Event current(std::int64_t topic) = 0;
};

// The response to a request: an error, or the site's answer.
Response answer(const Heard& heard, const Access& access, Site& site);

struct Limits {
  std::size_t connections = 512;  // beyond it, the longest idle one is closed
  std::size_t streams = 100;      // beyond it, a new one must retry later
  Patience patience{};
  Milliseconds refresh{250};  // the site is polled at most this often
};

// One thread, one epoll, no waiting for any client: a thousand idle ones cost a thousand
// descriptors for ten seconds, and no thread.
class Server {
 public:
  Server(Listener listener, Access access, Site& site, const Limits& limits = {});

  // Until `stop` is readable. MachineError on a fatal system error.
  void run(int stop);

 private:
  using Id = std::uint64_t;
  using Connections = std::unordered_map<Id, Connection>;

  void watch(int descriptor, Id id, std::uint32_t events, int operation);
  void accept();
  bool make_room();
  void serve(Id id, std::uint32_t events);
  void hear(Connection& connection);
  void begin_stream(Connection& connection, const Request& request);
  void expire();
  void refresh();
  void settle(Connections::iterator connection);
  std::size_t streams() const;
  int wait_milliseconds() const;

  Listener listener_;
  Access access_;
  Site& site_;
  Limits limits_;
  core::Descriptor epoll_;
  Connections connections_;
  Id next_id_;
  Clock::time_point next_refresh_{}, accept_again_{};
  bool is_accepting_ = true;
};

}  // namespace sweetspot::serve::http
