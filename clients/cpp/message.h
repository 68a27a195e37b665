#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sweetspot::client {

// One line of the protocol: a JSON object. Nested values are checked and skipped, since the client
// does not need them.
class Message {
 public:
  // nullopt if the line is not a JSON object.
  static std::optional<Message> parse(std::string_view line);

  // nullopt if it is absent or of another type.
  std::optional<std::string> text(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least) const;

 private:
  std::map<std::string, std::variant<std::string, double>> fields_;
};

// Builds a line, including its "\n".
class Line {
 public:
  explicit Line(std::string_view type) { add("type", type); }
  Line& add(std::string_view key, std::string_view text);
  Line& add(std::string_view key, double number);  // with full precision
  Line& add(std::string_view key, std::int64_t number);
  Line& add(std::string_view key, bool value);
  std::string end() { return text_ + "}\n"; }

 private:
  void name(std::string_view key);
  void quote(std::string_view text);
  std::string text_ = "{";
};

}  // namespace sweetspot::client
