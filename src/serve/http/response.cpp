#include "serve/http/response.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <functional>

namespace sweetspot::serve::http {

Bytes bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

Response sentence(int status, std::string_view text) {
  Response response;
  response.status = status;
  response.body = bytes(fmt::format("{}\n", text));
  return response;
}

std::string head_of(const Response& response) {
  const auto status = static_cast<boost::beast::http::status>(response.status);
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\n"
      "Date: {:%a, %d %b %Y %H:%M:%S} GMT\r\n"
      "Connection: close\r\n"
      "Cache-Control: no-store\r\n"
      "Content-Security-Policy: {}; frame-ancestors 'none'\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n",
      response.status, std::string(obsolete_reason(status)), fmt::gmtime(std::time(nullptr)),
      response.policy);
  if (response.status == 405) head += "Allow: GET, HEAD\r\n";
  if (response.topic)
    head += "Content-Type: text/event-stream\r\n";
  else if (response.status != 204)
    head += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", response.type,
                        response.body ? response.body->size() : 0);
  return head + "\r\n";
}

Event event(std::string_view name, std::string_view json) {
  const std::string id = fmt::format("{:x}", std::hash<std::string_view>{}(json));
  return {id, bytes(fmt::format("event: {}\nid: {}\ndata: {}\n\n", name, id, json))};
}

}  // namespace sweetspot::serve::http
