#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/server.h"
#include "store/store.h"

namespace sweetspot::serve {

// The studies of a store as live pages. Read-only. Its routes:
//   /         the page of ?study=N, or of the currently newest study
//   /events   `study` events: page_data() of that study whenever it changes; `gone` if it is
//             deleted
//   /steps    page_steps() of ?trial=ID
//   /studies  the list of studies
class Dashboard : public http::Site {
 public:
  // The page passes the token on in its own URLs; empty if none is required.
  Dashboard(const store::Store& store, std::string token);

  http::Response respond(const http::Request& request) override;
  bool refresh() override;
  http::Event current(std::int64_t topic) override;

 private:
  http::Response page(const http::Request& request);
  http::Response events(const http::Request& request);
  http::Response steps(const http::Request& request);
  http::Response list(const http::Request& request);
  http::Event read(std::int64_t topic);

  const store::Store& store_;
  std::string token_;
  // As of the last refresh.
  std::unique_ptr<store::Follower> follower_;
  std::vector<trial::Study> studies_;
  std::string problem_;  // why they could not be read
  std::map<std::int64_t, http::Event> events_;
};

}  // namespace sweetspot::serve
