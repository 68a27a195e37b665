#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/placeholders.h"
#include "trial/setting.h"

namespace sweetspot::trial {

// monostate: unknown.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

// How a Value has a member.
template <class Member, class T = std::remove_cvref_t<Member>>
using ElementOf =
    std::conditional_t<std::is_same_v<T, int>, std::int64_t,
                       std::conditional_t<std::is_same_v<T, std::optional<double>>, double, T>>;

// A field of a setting, declared once for everything that stores, sends, compares, tries or shows
// settings: a new one is a member of Configuration and a row of the table.
struct SettingField {
  using Member = std::variant<std::int64_t Setting::*, std::uint64_t Setting::*, double Setting::*,
                              int Configuration::*, std::string Configuration::*,
                              std::optional<double> Configuration::*>;
  const char* key;  // in JSON, in CSV and in the store, with its unit
  Member member;
  const char* placeholder = nullptr;  // of a program: {lr} and SWEETSPOT_LR; else it has none
  const char* title = nullptr;        // of its column, shown when it varies; else it has none
  const char* unit = "";              // of its values in words: "4 workers", "500 W"
  const char* about = "";
  const char* tried = nullptr;        // the study key's word for its values to try; else one is
  const char* preposition = nullptr;  // "at" 500 W, of a field whose values are variants

  bool is_of_configuration() const { return member.index() >= 3; }
  // Calls visit(the member) of a setting, or of a configuration that has it.
  template <class Whole, class Visit>
  void in(Whole& whole, Visit&& visit) const {
    std::visit(
        [&](auto its) {
          if constexpr (requires { whole.*its; })
            visit(whole.*its);
          else if constexpr (requires { whole.configuration.*its; })
            visit(whole.configuration.*its);
        },
        member);
  }
  Value of(const Setting& setting) const;
  Value of(const Configuration& configuration) const;  // unknown if it has none
  std::string words(const Value& value) const;         // "4", "bf16", "500 W"; empty if unknown
  std::string phrase(const Value& value) const;        // "4 workers", "bf16", "500 W", "prefetch 3"
};
std::span<const SettingField> setting_fields();
const SettingField& setting_field(std::string_view key);  // that there is
// Those in which the settings differ.
std::vector<const SettingField*> varying(std::span<const Setting> settings);

// As a program takes it: "0.001"; empty if unknown.
std::string plain(const Value& value);
// {batch}, {micro_batch} and the others, with their values.
std::vector<core::Placeholder> placeholders_of(const Setting& setting);

// Values to try, by the fields' keys, each of its field's type.
using Tried = std::map<std::string, std::vector<Value>, std::less<>>;
// Each with each of the others, those of the table's first field outermost.
std::vector<Setting> variants_of(const Setting& base, const Tried& tried);

}  // namespace sweetspot::trial
