// Any bytes as a request, in one piece and in many: the same answer, valid HTTP, and the page only
// with the right name and token.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "serve/http/server.h"

namespace {

using namespace sweetspot::serve::http;

constexpr std::string_view token = "secret-token";

struct OnePage : Site {
  Response respond(const Request& request) override {
    Response response = sentence(request.path == "/" ? 200 : 404, "a page");
    if (request.path == "/events") response.status = 200, response.topic = 1;
    return response;
  }
  bool refresh() override { return false; }
  Event current(std::int64_t) override { return event("study", "{}"); }
};

std::optional<Heard> hear(std::string_view bytes, std::size_t piece) {
  HeadReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (auto heard = reader.feed(bytes.substr(0, piece))) return heard;
  return std::nullopt;
}

// One status line, lines that end in CR LF only, one empty line at the end.
bool is_head(const std::string& head) {
  if (!head.starts_with("HTTP/1.1 ") || !head.ends_with("\r\n\r\n")) return false;
  if (head.find("\r\n\r\n") != head.size() - 4) return false;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const auto c = static_cast<unsigned char>(head[i]);
    const bool ends_line = c == '\r' ? head[i + 1] == '\n' : c == '\n' && head[i - 1] == '\r';
    if (c < ' ' && !ends_line) return false;
  }
  return true;
}

std::string told(std::string_view bytes, std::size_t piece) {
  static const Access access({"localhost:8177", "127.0.0.1:8177"}, std::string(token));
  OnePage site;
  const std::optional<Heard> heard = hear(bytes, piece);
  if (!heard) return "";
  const Response response = answer(*heard, access, site);
  if (!is_head(head_of(response))) __builtin_trap();
  const Request* request = std::get_if<Request>(&*heard);
  if (response.status == 200) {
    const bool named = request->host == "localhost:8177" || request->host == "127.0.0.1:8177";
    const bool reads = request->method == "GET" || request->method == "HEAD";
    if (!named || !reads || request->has_body || request->query.at("token") != token)
      __builtin_trap();
  }
  return std::to_string(response.status) + (response.body ? *response.body : "") +
         (request ? request->path + request->last_event_id : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = told(bytes, size + 1);
  if (told(bytes, 1) != whole || told(bytes, 7) != whole) __builtin_trap();
  return 0;
}
