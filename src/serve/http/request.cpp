#include "serve/http/request.h"

#include <algorithm>

namespace sweetspot::serve::http {
namespace {

constexpr std::string_view line_end = "\r\n", head_end = "\r\n\r\n";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alphanumeric(char c) { return is_digit(c) || is_lower(c) || is_upper(c); }
bool is_word(char c) { return is_alphanumeric(c) || c == '-' || c == '_'; }
bool is_visible(char c) { return c > ' ' && c < 0x7f; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
// RFC 9110's tchar.
bool is_token(char c) {
  return is_alphanumeric(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool all(std::string_view text, bool (*is)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return copy;
}

// Returns the text before the separator; `text` becomes the rest, or empty.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? "" : text.substr(end + separator.size());
  return taken;
}

void read_query(std::string_view text, Request& request) {
  while (!text.empty()) {
    std::string_view value = take_until(text, "&");
    const std::string_view name = take_until(value, "=");
    if (!all(name, is_lower) || !all(value, is_word))
      throw Refusal{400, "The query is not of this server."};
    if (!request.query.emplace(name, value).second)
      throw Refusal{400, "A parameter is given twice."};
  }
}

void read_request_line(std::string_view line, Request& request) {
  const std::string_view method = take_until(line, " "), target = take_until(line, " ");
  const bool is_version =
      line.size() == 8 && line.starts_with("HTTP/") && is_digit(line[5]) && line[6] == '.';
  if (!all(method, is_token) || !all(target, is_visible) || !is_version || !is_digit(line[7]))
    throw Refusal{400, "The request line is not HTTP."};
  if (line != "HTTP/1.1" && line != "HTTP/1.0") throw Refusal{505, "This server speaks HTTP/1.1."};
  if (target.front() != '/' || target.find('#') != std::string_view::npos)
    throw Refusal{400, "The target has to be a path."};
  request.method = method;
  std::string_view query = target;
  request.path = take_until(query, "?");
  read_query(query, request);
}

class Fields {
 public:
  explicit Fields(Request& request) : request_(request) {}

  void read(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !all(line.substr(0, colon), is_token))
      throw Refusal{400, "A header field is not HTTP."};
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
    while (!value.empty() && is_blank(value.back())) value.remove_suffix(1);
    keep(lower(line.substr(0, colon)), value);
  }

  void finish() const {
    if (!has_host_) throw Refusal{400, "The Host field is missing."};
    if (has_length_ && is_chunked_) throw Refusal{400, "The length is given in two ways."};
  }

 private:
  void keep(const std::string& name, std::string_view value) {
    if (name == "host") {
      once(has_host_);
      request_.host = lower(value);
    } else if (name == "content-length") {
      once(has_length_);
      if (!all(value, is_digit)) throw Refusal{400, "The length is no number."};
      request_.has_body |= value != "0";
    } else if (name == "transfer-encoding") {
      once(is_chunked_);
      request_.has_body = true;
    } else if (name == "last-event-id") {
      request_.last_event_id = value;
    } else if (name == "sec-fetch-site") {
      request_.fetch_site = value;
    } else if (name == "sec-fetch-mode") {
      request_.fetch_mode = value;
    }
  }

  static void once(bool& seen) {
    if (seen) throw Refusal{400, "A header field is given twice."};
    seen = true;
  }

  Request& request_;
  bool has_host_ = false, has_length_ = false, is_chunked_ = false;
};

Request parse(std::string_view head) {
  Request request;
  read_request_line(take_until(head, line_end), request);
  Fields fields(request);
  std::size_t count = 0;
  for (std::string_view line; !(line = take_until(head, line_end)).empty();) {
    if (++count > HeadReader::most_fields) throw Refusal{431, "There are too many header fields."};
    fields.read(line);
  }
  fields.finish();
  return request;
}

bool is_control(char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; }

// Lines must end in CR LF, and these must not occur elsewhere.
bool is_well_formed(char previous, char c) {
  if (c == '\n') return previous == '\r';
  return previous != '\r' && (c == '\r' || !is_control(c));
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
