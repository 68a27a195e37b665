#pragma once
#include <mutex>
#include <string>
#include <thread>

#include "core/descriptor.h"
#include "serve/http/server.h"

namespace sweetspot::tests {

namespace http = serve::http;

// A site of one page, "/", and one topic whose event is the last one set.
class FakeSite : public http::Site {
 public:
  http::Response respond(const http::Request& request) override;
  bool refresh() override { return true; }
  http::Event current(std::int64_t topic) override;

  void tell(const std::string& json);  // from any thread
  void end();                          // the next event is the last
  std::string page = "the page";

 private:
  std::mutex mutex_;
  std::string json_ = "0";
  bool is_last_ = false;
};

// A server on a free loopback port, in its own thread.
class Running {
 public:
  static constexpr const char* token = "secret-token";

  explicit Running(http::Site& site, const http::Limits& limits = {});
  ~Running();

  const std::string& host() const { return host_; }

 private:
  std::string host_;
  core::Descriptor stop_;
  std::thread thread_;
};

// One connection; exceeding the harness's patience (a minute) fails the test.
class Client {
 public:
  explicit Client(const std::string& host);

  bool send(const std::string& bytes);              // false if the server has closed it
  std::string read_until(const std::string& text);  // all of it, or what came before the end
  std::string read_all();                           // to the end
  void finish_sending();

 private:
  bool read_some();

  core::Descriptor socket_;
  std::string read_;
};

// "GET /events?token=… HTTP/1.1" with this Host and what else is wanted.
std::string request(const std::string& target, const std::string& host,
                    const std::string& method = "GET", const std::string& fields = "");
// The whole answer to one request.
std::string ask(const std::string& host, const std::string& bytes);
// Its status.
int status_of(const std::string& response);
std::string body_of(const std::string& response);

}  // namespace sweetspot::tests
