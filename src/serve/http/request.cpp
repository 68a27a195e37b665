#include "serve/http/request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

#include "core/text.h"

namespace sweetspot::serve::http {
namespace {

namespace beast = boost::beast::http;

constexpr std::string_view line_end = "\r\n", head_end = "\r\n\r\n";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}
bool is_visible(char c) { return c > ' ' && c < 0x7f; }

bool all(std::string_view text, bool (*is)(char)) {
  return !text.empty() && std::ranges::all_of(text, is);
}

std::string_view std_view(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Returns the text before the separator; `text` becomes the rest, or empty.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? "" : text.substr(end + 1);
  return taken;
}

void read_target(std::string_view target, Request& request) {
  if (!all(target, is_visible) || target.front() != '/' || target.find('#') != target.npos)
    throw Refusal{400, "The target has to be a path."};
  request.path = take_until(target, '?');
  while (!target.empty()) {
    std::string_view value = take_until(target, '&');
    const std::string_view name = take_until(value, '=');
    if (!all(name, is_lower) || !all(value, is_word))
      throw Refusal{400, "The query is not of this server."};
    if (!request.query.emplace(name, value).second)
      throw Refusal{400, "A parameter is given twice."};
  }
}

void read_fields(const beast::fields& fields, Request& request) {
  const auto count = static_cast<std::size_t>(std::distance(fields.begin(), fields.end()));
  if (count > HeadReader::most_fields) throw Refusal{431, "There are too many header fields."};
  if (fields.count(beast::field::host) != 1)
    throw Refusal{400, "The Host field is missing, or given twice."};
  const std::size_t lengths = fields.count(beast::field::content_length);
  const std::size_t codings = fields.count(beast::field::transfer_encoding);
  const std::string_view length = std_view(fields[beast::field::content_length]);
  if (lengths + codings > 1 || length.find(',') != length.npos)
    throw Refusal{400, "The length is not one number."};
  request.has_body = codings > 0 || (lengths > 0 && length != "0");
  request.host = core::lower(std_view(fields[beast::field::host]));
  request.last_event_id = std_view(fields["Last-Event-ID"]);
  request.fetch_site = std_view(fields["Sec-Fetch-Site"]);
  request.fetch_mode = std_view(fields["Sec-Fetch-Mode"]);
}

Refusal refusal(beast::error error, std::string_view head) {
  const std::string_view line = head.substr(0, head.find(line_end));
  const std::string_view version = line.substr(line.rfind(' ') + 1);
  switch (error) {
    case beast::error::bad_version:
      if (version.size() == 8 && version.starts_with("HTTP/"))
        return {505, "This server speaks HTTP/1.1."};
      [[fallthrough]];
    case beast::error::bad_method:
    case beast::error::bad_target:
      return {400, "The request line is not HTTP."};
    case beast::error::bad_content_length:
    case beast::error::bad_transfer_encoding:
      return {400, "The length is not one number."};
    default:
      return {400, "A header field is not HTTP."};
  }
}

Request parse(std::string_view head) {
  beast::request_parser<beast::empty_body> parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // Access refuses any
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(head), error);
  if (error) throw refusal(static_cast<beast::error>(error.value()), head);
  Request request;
  request.method = std_view(parser.get().method_string());
  read_target(std_view(parser.get().target()), request);
  read_fields(parser.get(), request);
  return request;
}

// Stricter than Beast: lines must end in CR LF, these must not occur elsewhere, and no line
// continues the one before it.
bool is_well_formed(char previous, char c) {
  if (previous == '\r' || c == '\n') return previous == '\r' && c == '\n';
  if (previous == '\n' && (c == ' ' || c == '\t')) return false;
  return c == '\r' || c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
}

}  // namespace

std::optional<Heard> HeadReader::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (!is_well_formed(text_.empty() ? '\0' : text_.back(), c))
      return Refusal{400, "The request is not HTTP."};
    text_ += c;
    if (text_.size() == most_line_bytes && text_.find('\n') == std::string::npos)
      return Refusal{414, "The target is too long."};
    if (text_.size() == most_bytes) return Refusal{431, "The head is too long."};
    if (!text_.ends_with(head_end)) continue;
    try {
      return parse(text_);
    } catch (const Refusal& refusal) {
      return refusal;
    }
  }
  return std::nullopt;
}

}  // namespace sweetspot::serve::http
