#pragma once
#include "serve/http/access_token.h"
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

}  // namespace sweetspot::serve::http
