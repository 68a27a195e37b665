#include "serve/http/access_token.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"

namespace sweetspot::serve::http {
namespace {

// In constant time. The length is not secret.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

// A page of another site, or of another port of this host, that loads from us without its reader's
// knowledge. Following a link to us is fine. Browsers say which it is; other programs do not.
bool is_of_another_page(const Request& request) {
  return (request.fetch_site == "cross-site" || request.fetch_site == "same-site") &&
         request.fetch_mode != "navigate";
}

}  // namespace

std::string random_token() {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<std::uint8_t, 43> random;  // 6 of each byte's bits: 258 in all
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw core::MachineError("the kernel gave no random numbers for the token; try again");
  std::string token;
  for (const std::uint8_t byte : random) token += letters[byte % letters.size()];
  return token;
}

Access::Access(std::vector<std::string> hosts, std::string token)
    : hosts_(std::move(hosts)), token_(std::move(token)) {}

bool Access::has_token(const Request& request) const {
  const auto given = request.query.find("token");
  return token_.empty() || (given != request.query.end() && is_same(given->second, token_));
}

std::optional<Response> Access::refusal(const Request& request) const {
  if (std::find(hosts_.begin(), hosts_.end(), request.host) == hosts_.end())
    return sentence(421,
                    "This server is not known by that name; open the URL that it printed, or "
                    "allow the name with --allow-host.");
  if (request.method != "GET" && request.method != "HEAD")
    return sentence(405, "This server can only be read.");
  if (request.has_body) return sentence(413, "This server takes no content.");
  if (is_of_another_page(request)) return sentence(403, "Other pages may not read this one.");
  return std::nullopt;
}

}  // namespace sweetspot::serve::http
