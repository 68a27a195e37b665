#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sweetspot::serve::http {

// One request's head. Nothing in it is ever decoded, so that there is nothing to decode twice:
// routes are compared as they were sent, and values are plain words.
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

// Takes the bytes of one head in whatever pieces they come. Strict where HTTP lets others be
// lenient (lone line feeds, folded lines, blanks before a colon, two lengths): what two programs
// may read in two ways is how requests are smuggled.
class HeadReader {
 public:
  static constexpr std::size_t most_line_bytes = 2048, most_bytes = 8192, most_fields = 64;

  // Nothing until the head is whole, or known to be wrong. What follows a head is not looked at.
  std::optional<Heard> feed(std::string_view bytes);

 private:
  std::string text_;
};

}  // namespace sweetspot::serve::http
