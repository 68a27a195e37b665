#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sweetspot::serve::http {

// Shared by all recipients: a thousand readers hold one copy.
using Bytes = std::shared_ptr<const std::string>;
Bytes bytes(std::string text);

constexpr std::string_view plain_text = "text/plain; charset=utf-8";
constexpr std::string_view json_text = "application/json";
constexpr std::string_view html_text = "text/html; charset=utf-8";

struct Response {
  int status = 200;
  std::string_view type = plain_text;
  Bytes body{};
  std::string policy = "default-src 'none'";  // for the content; framing is always forbidden
  // Instead of a body, the events of this topic.
  std::optional<std::int64_t> topic{};
};

// One sentence, in plain text.
Response sentence(int status, std::string_view text);

// Everything before the body. Each response is the last of its connection, so that no byte after a
// request is parsed as another one.
std::string head_of(const Response& response);

// Server-sent events in wire format. A reader that already has this id is not sent it.
struct Event {
  std::string id;
  Bytes bytes;
  bool is_last = false;  // the stream ends after it
};
Event event(std::string_view name, std::string_view json);  // one line; the id is of its content
constexpr std::string_view heartbeat = ":\n\n";

}  // namespace sweetspot::serve::http
