#include "workload/command/client/message.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "core/text.h"
#include "trial/setting_fields.h"

namespace sweetspot::workload::command::client {

std::vector<std::string> Lines::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const bool whole = newline != std::string_view::npos;
    const std::string_view part = bytes.substr(0, newline);
    bytes.remove_prefix(whole ? newline + 1 : bytes.size());
    if (!skipping_ && begun_.size() + part.size() >= longest_line) {
      skipping_ = true, ++bad_;
      begun_.clear();
    }
    if (!skipping_) begun_ += part;
    if (!whole) break;
    if (!skipping_) lines.push_back(std::move(begun_));
    begun_.clear();
    skipping_ = false;
  }
  return lines;
}

void Lines::end() {
  if (!begun_.empty()) ++bad_;
  begun_.clear();
  skipping_ = false;
}

namespace {

using Json = nlohmann::json;

constexpr std::int64_t most = std::int64_t{1} << 53;  // exact in every language's numbers
constexpr std::int64_t most_updates = 1 << 20;        // per line: no overflow times any batch

struct BadLine {};

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> whole(const Json& object, const char* key, std::int64_t least,
                                  std::int64_t greatest = most) {
  const Json* value = find(object, key);
  if (!value) return std::nullopt;
  if (!value->is_number_integer() || *value < least || *value > greatest) throw BadLine();
  return value->get<std::int64_t>();
}

std::optional<core::Bytes> bytes(const Json& object, const char* key) {
  const auto count = whole(object, key, 0);
  return count ? std::optional(static_cast<core::Bytes>(*count)) : std::nullopt;
}

std::optional<double> real(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (!value) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) throw BadLine();
  return value->get<double>();
}

std::optional<double> not_negative(const Json& object, const char* key) {
  const auto value = real(object, key);
  if (value && *value < 0) throw BadLine();
  return value;
}

template <class Value>
Value needed(const std::optional<Value>& value) {
  if (!value) throw BadLine();
  return *value;
}

// It goes into the store and onto terminals, so it is truncated and made printable.
std::string text(const Json& object, const char* key, std::size_t longest = 64) {
  const Json* value = find(object, key);
  if (!value) return "";
  if (!value->is_string()) throw BadLine();
  return std::string(
      core::shortened(core::printable(value->get_ref<const std::string&>()), longest));
}

Hello hello(const Json& object) {
  needed(whole(object, "protocol", 1));
  const Json* session = find(object, "session");
  if (session && !session->is_boolean()) throw BadLine();
  return {text(object, "client"), session && session->get<bool>()};
}

StepEnd step_end(const Json& object) {
  StepEnd step;
  step.at_seconds = needed(not_negative(object, "at_seconds"));
  step.samples = whole(object, "samples", 0);
  step.updates = whole(object, "updates", 1, most_updates).value_or(1);
  step.dropped = whole(object, "dropped", 0).value_or(0);
  step.data_wait_seconds = not_negative(object, "data_wait_seconds");
  if (const Json* loss = find(object, "loss")) {
    if (!loss->is_number()) throw BadLine();
    step.loss = loss->get<double>();
  }
  return step;
}

convergence::GradientNorms norms(const Json& object) {
  const auto size = [&](const char* key) {
    return static_cast<double>(needed(whole(object, key, 1)));
  };
  return {size("small_batch"), needed(not_negative(object, "small_squared_norm")),
          size("big_batch"), needed(not_negative(object, "big_squared_norm"))};
}

Failed failed(const Json& object) {
  constexpr std::size_t longest = 1500;  // enough for PyTorch's memory message
  const auto outcome = trial::outcome_named(text(object, "outcome"));
  using trial::Outcome;
  if (outcome != Outcome::out_of_memory && outcome != Outcome::crashed &&
      outcome != Outcome::refused)
    throw BadLine();
  return {*outcome, text(object, "reason", longest), bytes(object, "kept_bytes").value_or(0)};
}

Message message(const Json& object) {
  const Json* type = find(object, "type");
  if (!type || !type->is_string()) throw BadLine();
  if (*type == "hello") return hello(object);
  if (*type == "begin") return Begin{needed(not_negative(object, "at_seconds"))};
  if (*type == "step") return step_end(object);
  if (*type == "memory")
    return DeviceMemory{needed(bytes(object, "peak_bytes")), bytes(object, "allocated_bytes"),
                        bytes(object, "capacity_bytes"), text(object, "device"),
                        text(object, "how")};
  if (*type == "epoch") return Epoch{needed(whole(object, "batches", 1))};
  if (*type == "metric") return Metric{real(object, "accuracy"), real(object, "loss")};
  if (*type == "noise") return norms(object);
  if (*type == "failed") return failed(object);
  if (*type == "ready") return Ready{};
  return Unknown{};
}

std::string line(const Json& object) { return object.dump() + "\n"; }

}  // namespace

std::optional<Message> parse(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  try {
    return message(object);
  } catch (const BadLine&) {
    return std::nullopt;
  }
}

std::string setting_line(const trial::Setting& setting) {
  Json object{{"type", "setting"}, {"micro_batch", setting.micro_batch()}};
  for (const trial::SettingField& field : trial::setting_fields())
    if (field.placeholder && std::string_view(field.key) != "seed")
      field.in(setting, [&](const auto& its) { object[field.key] = its; });
  return line(object);
}

std::string enough_line() { return line({{"type", "enough"}}); }
std::string done_line() { return line({{"type", "done"}}); }

}  // namespace sweetspot::workload::command::client
