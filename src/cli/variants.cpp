#include "cli/variants.h"

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

std::vector<std::string> parse_precisions(const std::string& text, const StudyFlags& flags,
                                          const StudyWorkload& opened) {
  std::vector<std::string> words;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');)
    if (!part.empty() && std::ranges::find(words, part) == words.end()) words.push_back(part);
  if (words.size() < 2) return {};
  if (flags.command.given()) {
    if (!workload::command::used(flags.command.options).precision)
      throw core::InputError(
          "several precisions need {precision} in the program's arguments, variables or templates");
    return words;
  }
  for (const std::string& word : words) {
    workload::native::Options tried;
    tried.device = opened.device;
    tried.precision = workload::native::precision_named(word);
    check(tried);
  }
  return words;
}

Limited limit_power(const StudyFlags& flags, const StudyWorkload& opened) {
  Limited limited;
  if (flags.power_limits.empty()) return limited;
  if (!flags.command.given() && !opened.device.gpu)
    throw core::InputError("--power-limits are of GPUs, and this trains on the CPU; leave it out");
  limited.gpus = gpus_to_limit(flags.command.given() ? visible_devices(flags.command.options) : "",
                               bus_of(opened.device), flags.power_limits);
  limited.guard = PowerGuard::start(limited.gpus, limited.refusal);
  if (limited.guard) limited.watts = flags.power_limits;
  return limited;
}

std::vector<trial::Setting> variants_of(const trial::Setting& base,
                                        const std::vector<std::string>& precisions,
                                        const std::vector<double>& watts) {
  if (precisions.empty()) return variants_of(base, {base.configuration.precision}, watts);
  std::vector<std::optional<double>> limits(watts.begin(), watts.end());
  if (limits.empty()) limits.push_back(std::nullopt);
  std::vector<trial::Setting> variants;
  for (const std::string& precision : precisions)
    for (const std::optional<double>& limit : limits) {
      variants.push_back(base);
      variants.back().configuration.precision = precision,
      variants.back().configuration.power_limit_watts = limit;
    }
  return variants;
}

}  // namespace sweetspot::cli
