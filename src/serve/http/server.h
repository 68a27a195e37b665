#pragma once
#include <chrono>

#include "serve/http/access_token.h"
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

using Milliseconds = std::chrono::milliseconds;

// How long a client may take; its memory is bounded elsewhere.
struct Patience {
  Milliseconds head{10'000};       // from the connection to the end of the request
  Milliseconds drain{60'000};      // to take one response, or one event
  Milliseconds farewell{2'000};    // to close after the response
  Milliseconds heartbeat{15'000};  // an idle stream sends a comment
};

struct Limits {
  std::size_t connections = 512;  // beyond it, the longest idle one is closed
  std::size_t streams = 100;      // beyond it, a new one must retry later
  Patience patience{};
  Milliseconds refresh{250};  // the site is polled at most this often
};

// Answers until `stop` is readable, in this thread and without waiting for any client: a thousand
// idle ones cost a thousand descriptors for ten seconds, and no thread. MachineError on a fatal
// system error.
void serve(Listener listener, const Access& access, Site& site, int stop,
           const Limits& limits = {});

}  // namespace sweetspot::serve::http
