#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sweetspot::serve::http {

// Shared by all who are being sent it: a thousand readers hold one copy.
using Bytes = std::shared_ptr<const std::string>;
Bytes bytes(std::string text);

constexpr std::string_view plain_text = "text/plain; charset=utf-8";
constexpr std::string_view json_text = "application/json";
constexpr std::string_view html_text = "text/html; charset=utf-8";

struct Response {
  int status = 200;
  std::string_view type = plain_text;
  Bytes body{};
  std::string policy = "default-src 'none'";  // of the content; framing is forbidden to all
  // Instead of a body, the events of this topic as they come.
  std::optional<std::int64_t> topic{};
};

// One sentence, in plain text.
Response sentence(int status, std::string_view text);

// Everything before the body. Each response is the last of its connection, so that no byte behind a
// request is ever taken for another one.
std::string head_of(const Response& response);

// Server-sent events, as they go over the wire. A reader that already has this id is not sent it.
struct Event {
  std::string id;
  Bytes bytes;
  bool is_last = false;  // the stream ends behind it
};
Event event(std::string_view name, std::string_view json);  // of one line; the id tells its content
constexpr std::string_view heartbeat = ":\n\n";

}  // namespace sweetspot::serve::http
