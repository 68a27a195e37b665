#include "cli/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "engine/cuda/cuda.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

// As visible to the program.
std::string visible_devices(const workload::command::Options& options) {
  constexpr const char* variable = "CUDA_VISIBLE_DEVICES";
  for (const auto& [name, value] : options.environment)
    if (name == variable) return value;
  const char* own = std::getenv(variable);
  return own ? own : "";
}

std::string bus_of(const workload::native::Device& device) {
  for (const engine::cuda::Device& found : engine::cuda::available().devices)
    if (device.gpu && found.index == *device.gpu) return found.bus_id;
  return "";
}

}  // namespace

void read_precisions(const std::string& text, StudyFlags& flags) {
  std::vector<trial::Value>& words = flags.tried["precision"];
  words.clear();
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');)
    if (!part.empty() && std::ranges::find(words, trial::Value(part)) == words.end())
      words.emplace_back(part);
  flags.native.precision = text.substr(0, text.find(','));
}

trial::Tried checked_tried(const StudyFlags& flags, const StudyWorkload& opened) {
  trial::Tried tried = flags.tried;
  // A single one is the workload's own.
  std::erase_if(
      tried, [](const auto& each) { return each.first == "precision" && each.second.size() < 2; });
  for (const auto& [key, values] : tried) {
    const trial::SettingField& field = trial::setting_field(key);
    if (!flags.command.given() || !field.placeholder) continue;
    const std::string placeholder = fmt::format("{{{}}}", field.placeholder);
    if (!workload::command::used(flags.command.options).contains(placeholder))
      throw core::InputError(
          fmt::format("several {} need {} in the program's arguments, variables or templates",
                      field.tried, placeholder));
  }
  if (!flags.command.given() && tried.contains("precision"))
    for (const trial::Value& word : tried["precision"]) {
      workload::native::Options options;
      options.device = opened.device;
      options.precision = workload::native::precision_named(std::get<std::string>(word));
      check(options);
    }
  return tried;
}

Limited limit_power(const StudyFlags& flags, const StudyWorkload& opened) {
  Limited limited;
  const auto asked = flags.tried.find(power_limits_key);
  if (asked == flags.tried.end()) return limited;
  if (!flags.command.given() && !opened.device.gpu)
    throw core::InputError("--power-limits are of GPUs, and this trains on the CPU; leave it out");
  std::vector<double> watts;
  for (const trial::Value& each : asked->second) watts.push_back(std::get<double>(each));
  limited.gpus = gpus_to_limit(flags.command.given() ? visible_devices(flags.command.options) : "",
                               bus_of(opened.device), watts);
  limited.guard = PowerGuard::start(limited.gpus, limited.refusal);
  return limited;
}

}  // namespace sweetspot::cli
