#include "cli/json.h"

#include <nlohmann/json.hpp>

namespace sweetspot::cli {
namespace {

constexpr int schema_version = 1;

template <class T>
nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

nlohmann::ordered_json result_object() { return {{"schema_version", schema_version}}; }

nlohmann::ordered_json or_null(const std::optional<double>& value) { return value_or_null(value); }
nlohmann::ordered_json or_null(const std::optional<std::int64_t>& value) {
  return value_or_null(value);
}
nlohmann::ordered_json or_null(const std::optional<core::Bytes>& value) {
  return value_or_null(value);
}
nlohmann::ordered_json or_null(const std::optional<std::string>& value) {
  return value_or_null(value);
}

}  // namespace sweetspot::cli
