#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sweetspot::client {

// One line of the protocol: a JSON object. What is nested in it is checked and left out, since the
// client has no use for it.
class Message {
 public:
  // Nothing when the line is no JSON object.
  static std::optional<Message> parse(std::string_view line);

  // Nothing when it is not there or of another kind.
  std::optional<std::string> text(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least) const;

 private:
  std::map<std::string, std::variant<std::string, double>> fields_;
};

// Builds a line, its "\n" included.
class Line {
 public:
  explicit Line(std::string_view type) { add("type", type); }
  Line& add(std::string_view key, std::string_view text);
  Line& add(std::string_view key, double number);  // to its last digit
  Line& add(std::string_view key, std::int64_t number);
  Line& add(std::string_view key, bool value);
  std::string end() { return text_ + "}\n"; }

 private:
  void name(std::string_view key);
  void quote(std::string_view text);
  std::string text_ = "{";
};

}  // namespace sweetspot::client
