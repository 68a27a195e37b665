#pragma once
#include <span>
#include <string_view>

namespace sweetspot::model::zoo {

struct Entry {
  std::string_view name, json;
};
// In the order they are listed to the user; the default model first.
std::span<const Entry> entries();

}  // namespace sweetspot::model::zoo
