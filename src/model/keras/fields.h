#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.h"

namespace sweetspot::model::keras {

// The current position in the file, for messages.
struct Place {
  std::string source;
  std::string layer;    // "'conv2d'", "#3" while the name is unknown, empty outside the layers
  std::string path;     // "kernel_initializer.config." inside a field
  bool keras3 = false;  // a few functions changed in Keras 3
};
// "net.json: layer 'conv2d', field 'groups': 2 is not supported, only 1"
[[noreturn]] void refuse(const Place& place, std::string_view field, std::string_view why);
// The value from the file, short enough for a sentence.
std::string shown(const nlohmann::json& value);

// A JSON object of which every field must be read: finish() rejects unknown ones, since they may
// change what the network computes.
class Fields {
 public:
  Fields(const nlohmann::json& object, Place place);  // `object` must outlive it

  const Place& place() const { return place_; }
  [[noreturn]] void refuse(std::string_view field, std::string_view why) const;

  // Null and absent are the same: Keras writes null for unused fields.
  const nlohmann::json* find(std::string_view field);
  const nlohmann::json& need(std::string_view field);
  std::string need_text(std::string_view field);
  Fields need_object(std::string_view field);

  // A size is at least 1 and at most max_size.
  std::int64_t as_size(std::string_view field, const nlohmann::json& value) const;
  std::int64_t need_size(std::string_view field);
  std::optional<double> number(std::string_view field, double low, double high);
  bool flag(std::string_view field, bool otherwise);
  std::optional<Window> window(std::string_view field);        // 3 or [3, 3]
  std::optional<std::int64_t> length(std::string_view field);  // 3 or [3]
  // Integers from 0: n, [a, b] or [[a, b], [c, d]], as many as the value has.
  std::vector<std::int64_t> counts(std::string_view field);
  // One of the words of an enumeration, in Python's or JavaScript's spelling.
  std::string word(std::string_view field, std::string_view otherwise);

  void only_number(std::string_view field, double value);  // rejected unless absent or this number
  void only_off(std::initializer_list<std::string_view> fields);  // absent or false
  void only_last_axis(std::string_view field, const Shape& input);
  void ignore(std::initializer_list<std::string_view> fields);
  void finish() const;

 private:
  const nlohmann::json* object_;
  Place place_;
  std::set<std::string, std::less<>> known_;
};

constexpr std::int64_t max_size = std::int64_t{1} << 31;  // of any one dimension

// A Keras object written as {"class_name", "config", …}.
struct ClassAndConfig {
  std::string class_name;
  Fields config;
};
// Rejects classes that are not Keras' own: their names may be the same, their arithmetic is not.
ClassAndConfig class_and_config(Fields object);
// Rejects every type except float32, given as a name or as a policy.
void only_float32(Fields& fields, std::string_view field);

}  // namespace sweetspot::model::keras
