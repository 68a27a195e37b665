#include "message.h"

#include <charconv>
#include <cmath>

namespace sweetspot::client {
namespace {

using Scalar = std::variant<std::monostate, std::string, double>;

// RFC 8259 from left to right; each function returns false at the first error.
class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  template <class Take>  // of key and value
  bool object(const Take& take, int depth) {
    if (!next('{')) return false;
    if (next('}')) return true;
    do {
      std::string key;
      Scalar value;
      if (!string(key) || !next(':') || !this->value(value, depth)) return false;
      take(key, value);
    } while (next(','));
    return next('}');
  }

  bool at_end() {
    skip_space();
    return at_ == end_;
  }

 private:
  static constexpr int deepest = 32;

  bool value(Scalar& value, int depth) {
    skip_space();
    if (at_ == end_ || depth > deepest) return false;
    switch (*at_) {
      case '{':
        return object([](const std::string&, const Scalar&) {}, depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        return string(value.emplace<std::string>());
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number(value.emplace<double>());
    }
  }

  bool array(int depth) {
    if (!next('[')) return false;
    if (next(']')) return true;
    Scalar ignored;
    do {
      if (!value(ignored, depth)) return false;
    } while (next(','));
    return next(']');
  }

  bool string(std::string& text) {
    if (!next('"')) return false;
    text.clear();
    while (at_ != end_) {
      const char c = *at_++;
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\')
        text += c;
      else if (!escape(text))
        return false;
    }
    return false;
  }

  bool escape(std::string& text) {
    if (at_ == end_) return false;
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char c = *at_++;
    if (c == 'u') return unicode(text);
    const std::size_t which = names.find(c);
    if (which == std::string_view::npos) return false;
    text += meanings[which];
    return true;
  }

  // No text that the client reads contains any: it is replaced.
  bool unicode(std::string& text) {
    unsigned code = 0;
    if (end_ - at_ < 4) return false;
    const auto [stop, error] = std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc() || stop != at_ + 4) return false;
    at_ += 4;
    text += code < 0x80 ? static_cast<char>(code) : '?';
    return true;
  }

  bool number(double& number) {
    if (*at_ != '-' && (*at_ < '0' || *at_ > '9')) return false;  // "inf" is not a number
    const auto [stop, error] = std::from_chars(at_, end_, number);
    if (error != std::errc() || !std::isfinite(number)) return false;
    at_ = stop;
    return true;
  }

  bool word(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }

  bool next(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }

  const char *at_, *end_;
};

template <class Number>
std::string digits(Number number) {
  char buffer[32];  // of the longest double: -1.7976931348623157e+308
  const auto [stop, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  return {buffer, stop};
}

}  // namespace

std::optional<Message> Message::parse(std::string_view line) {
  Message message;
  Reader reader(line);
  const auto take = [&](const std::string& key, const Scalar& value) {
    if (const auto* text = std::get_if<std::string>(&value)) message.fields_[key] = *text;
    if (const auto* number = std::get_if<double>(&value)) message.fields_[key] = *number;
  };
  if (!reader.object(take, 0) || !reader.at_end()) return std::nullopt;
  return message;
}

std::optional<std::string> Message::text(const std::string& key) const {
  const auto found = fields_.find(key);
  const auto* text = found == fields_.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? std::optional(*text) : std::nullopt;
}

std::optional<double> Message::number(const std::string& key) const {
  const auto found = fields_.find(key);
  const auto* number = found == fields_.end() ? nullptr : std::get_if<double>(&found->second);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<std::int64_t> Message::whole(const std::string& key, std::int64_t least) const {
  constexpr double most = 0x1p53;  // up to here a double is exact
  const auto value = number(key);
  if (!value || *value < static_cast<double>(least) || *value > most) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

Line& Line::add(std::string_view key, std::string_view text) {
  name(key);
  quote(text);
  return *this;
}

Line& Line::add(std::string_view key, double number) {
  name(key);
  text_ += std::isfinite(number) ? digits(number) : "null";
  return *this;
}

Line& Line::add(std::string_view key, std::int64_t number) {
  name(key);
  text_ += digits(number);
  return *this;
}

Line& Line::add(std::string_view key, bool value) {
  name(key);
  text_ += value ? "true" : "false";
  return *this;
}

void Line::name(std::string_view key) {
  if (text_.size() > 1) text_ += ',';
  quote(key);
  text_ += ':';
}

void Line::quote(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    // Control characters are invalid in the name of a device.
    if (static_cast<unsigned char>(c) < 0x20)
      text_ += ' ';
    else if (c == '"' || c == '\\')
      (text_ += '\\') += c;
    else
      text_ += c;
  }
  text_ += '"';
}

}  // namespace sweetspot::client
