#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/request.h"
#include "serve/http/response.h"

namespace sweetspot::serve::http {

// 256 bits of the kernel's randomness, as 43 letters, digits, "-" and "_". MachineError if it is
// unavailable.
std::string random_token();

// Decides which requests are answered.
class Access {
 public:
  // `hosts` are the allowed Host fields, including the port: a foreign page whose name was rebound
  // to our address sends its own name. An empty token admits everyone.
  Access(std::vector<std::string> hosts, std::string token);

  const std::string& token() const { return token_; }
  // Why the request is not answered; nullopt if it may be.
  std::optional<Response> refusal(const Request& request) const;
  bool has_token(const Request& request) const;

 private:
  std::vector<std::string> hosts_;
  std::string token_;
};

}  // namespace sweetspot::serve::http
