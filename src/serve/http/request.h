#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sweetspot::serve::http {

// One request's head. Nothing in it is ever decoded, so that nothing can be decoded twice: routes
// are compared as sent, and values are plain words.
struct Request {
  std::string method;
  std::string path;                          // "/events", without the query
  std::map<std::string, std::string> query;  // letters, digits, "-" and "_" only
  std::string host;                          // in lower case
  std::string last_event_id, fetch_site, fetch_mode;
  bool has_body = false;
};

// Why a request is not answered, for its sender.
struct Refusal {
  int status = 400;
  std::string_view sentence;
};

using Heard = std::variant<Request, Refusal>;

// Parses one head from pieces of any size. Strict where HTTP allows leniency (lone line feeds,
// folded lines, blanks before a colon, two lengths): ambiguity between parsers is how requests are
// smuggled.
class HeadReader {
 public:
  static constexpr std::size_t most_line_bytes = 2048, most_bytes = 8192, most_fields = 64;

  // nullopt until the head is complete, or known to be invalid. What follows a head is ignored.
  std::optional<Heard> feed(std::string_view bytes);

 private:
  std::string text_;
};

}  // namespace sweetspot::serve::http
