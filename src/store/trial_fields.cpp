#include "store/trial_fields.h"

#include <fmt/format.h>

namespace sweetspot::store {
namespace {

struct Names {
  std::vector<std::string> names;

  void operator()(std::string_view name, const auto&) { names.emplace_back(name); }
  void operator()(std::string_view name, const std::optional<trial::Interval>&) {
    for (const std::string_view part : {"mean", "low", "high"})
      names.push_back(fmt::format("{}_{}", name, part));
  }
  void operator()(std::string_view name, const std::optional<trial::PhaseSeconds>&) {
    for (std::size_t i = 0; i < trial::phase_count; ++i)
      names.push_back(fmt::format("{}_{}", name, trial::name(static_cast<trial::Phase>(i))));
  }
  void operator()(std::string_view name, const std::optional<core::MemoryByUse>&) {
    for (std::size_t i = 0; i < core::use_count; ++i)
      names.push_back(fmt::format("{}_{}_bytes", name, core::name(static_cast<core::Use>(i))));
  }
};

}  // namespace

const std::vector<std::string>& trial_columns() {
  static const std::vector<std::string> names = [] {
    Names visitor;
    const trial::Trial trial;
    each_field(trial, visitor);
    return visitor.names;
  }();
  return names;
}

const std::vector<std::string>& setting_columns() {
  static const std::vector<std::string> names = [] {
    Names visitor;
    const trial::Setting setting;
    each_setting_field(setting, visitor);
    return visitor.names;
  }();
  return names;
}

}  // namespace sweetspot::store
