#include "trial/setting_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace sweetspot::trial {
namespace {

using C = Configuration;

constexpr std::array<SettingField, 8> fields{{
    {.key = "batch",
     .member = &Setting::batch,
     .placeholder = "batch",
     .about = "samples per weight update"},
    {.key = "accumulation",
     .member = &Setting::accumulation,
     .placeholder = "accumulation",
     .title = "accumulation",
     .about = "micro-batches per weight update"},
    {.key = "precision",
     .member = &C::precision,
     .placeholder = "precision",
     .title = "precision",
     .tried = "precisions",
     .preposition = "in"},
    {.key = "workers",
     .member = &C::workers,
     .placeholder = "workers",
     .title = "workers",
     .unit = "worker",
     .about = "loader workers",
     .tried = "workers"},
    {.key = "prefetch", .member = &C::prefetch},
    {.key = "learning_rate", .member = &Setting::learning_rate, .placeholder = "lr"},
    {.key = "seed",
     .member = &Setting::seed,
     .placeholder = "seed",
     .title = "seed",
     .about = "of weights, shuffles and dropout"},
    {.key = "power_limit_watts",
     .member = &C::power_limit_watts,
     .title = "power limit",
     .unit = "W",
     .tried = "power_limits_watts",
     .preposition = "at"},
}};

Value value_of(const auto& member) { return member; }
Value value_of(int member) { return std::int64_t{member}; }
Value value_of(const std::optional<double>& member) { return member ? Value(*member) : Value(); }

}  // namespace

std::span<const SettingField> setting_fields() { return fields; }

const SettingField& setting_field(std::string_view key) {
  return *std::ranges::find(fields, key, &SettingField::key);
}

std::vector<const SettingField*> varying(std::span<const Setting> settings) {
  std::vector<const SettingField*> found;
  for (const SettingField& field : fields)
    if (std::ranges::any_of(settings, [&](const Setting& each) {
          return field.of(each) != field.of(settings.front());
        }))
      found.push_back(&field);
  return found;
}

Value SettingField::of(const Setting& setting) const {
  Value value;
  in(setting, [&](const auto& its) { value = value_of(its); });
  return value;
}

Value SettingField::of(const Configuration& configuration) const {
  Value value;
  in(configuration, [&](const auto& its) { value = value_of(its); });
  return value;
}

std::string SettingField::words(const Value& value) const {
  if (const auto* count = std::get_if<std::int64_t>(&value))
    return core::format_count(static_cast<double>(*count));
  if (const auto* real = std::get_if<double>(&value))
    return fmt::format("{:g}{}{}", *real, *unit ? " " : "", unit);
  return core::printable(plain(value));
}

std::string SettingField::phrase(const Value& value) const {
  std::string name = title ? title : key;
  std::ranges::replace(name, '_', ' ');
  if (std::holds_alternative<std::monostate>(value)) return "its own " + name;
  if (const auto* count = std::get_if<std::int64_t>(&value); count && *unit)
    return fmt::format("{} {}{}", *count, unit, *count == 1 ? "" : "s");
  if (std::holds_alternative<std::string>(value) || *unit) return words(value);
  return fmt::format("{} {}", name, words(value));
}

std::string plain(const Value& value) {
  return std::visit(
      []<class T>(const T& it) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else
          return fmt::format("{}", it);
      },
      value);
}

std::vector<core::Placeholder> placeholders_of(const Setting& setting) {
  std::vector<core::Placeholder> all;
  for (const SettingField& field : fields)
    if (field.placeholder)
      all.push_back({fmt::format("{{{}}}", field.placeholder), plain(field.of(setting))});
  all.insert(all.begin() + 1, {"{micro_batch}", std::to_string(setting.micro_batch())});
  return all;
}

std::vector<Setting> variants_of(const Setting& base, const Tried& tried) {
  std::vector<Setting> all{base};
  for (const SettingField& field : fields) {
    const auto found = tried.find(field.key);
    if (found == tried.end()) continue;
    std::vector<Setting> more;
    for (const Setting& each : all)
      for (const Value& value : found->second)
        field.in(more.emplace_back(each), [&](auto& its) {
          its = static_cast<std::remove_reference_t<decltype(its)>>(
              std::get<ElementOf<decltype(its)>>(value));
        });
    all = std::move(more);
  }
  return all;
}

}  // namespace sweetspot::trial
