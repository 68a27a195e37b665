#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "core/descriptor.h"
#include "data/support.h"

namespace sweetspot::data {

// The mirror of https_server.py, in its own folder, until the end of the scope. Its certificate is
// trusted meanwhile.
class HttpsServer {
 public:
  HttpsServer();
  ~HttpsServer();
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;

  void serve(const std::string& name, const Bytes& bytes) const;
  std::string url(const std::string& how) const;  // a folder that answers this way
  std::string proxy() const;
  std::vector<std::string> requests() const;  // so far: "GET /whole/name bytes=10-"

 private:
  TemporaryFolder folder_;
  core::Descriptor input_;
  pid_t process_ = 0;
  int secure_port_ = 0, plain_port_ = 0;
  ScopedVariable certificate_{"SSL_CERT_FILE", (folder_ / "certificate.pem").string()};
  ScopedVariable no_proxy_{"no_proxy", "localhost"};
};

}  // namespace sweetspot::data
