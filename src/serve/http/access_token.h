#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/request.h"
#include "serve/http/response.h"

namespace sweetspot::serve::http {

// 256 bits of the kernel's randomness, as 43 letters, digits, "-" and "_". MachineError when there
// are none.
std::string random_token();

// Who is answered at all.
class Access {
 public:
  // `hosts` are the Host fields under which the server may be asked, port and all: a page of
  // somebody else whose name was rebound to our address asks under its own. An empty token lets
  // everyone in.
  Access(std::vector<std::string> hosts, std::string token);

  const std::string& token() const { return token_; }
  // Why the request is not answered, whatever it asks for; nothing when it may be.
  std::optional<Response> refusal(const Request& request) const;
  bool has_token(const Request& request) const;

 private:
  std::vector<std::string> hosts_;
  std::string token_;
};

}  // namespace sweetspot::serve::http
