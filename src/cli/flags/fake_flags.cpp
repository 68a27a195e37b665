#include "cli/flags/fake_flags.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <sstream>

#include "cli/flags/study_flags.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::cli {
namespace {

bool parse_true_or_false(const std::string& text, const std::string& what) {
  if (text == "true" || text == "false") return text == "true";
  throw core::InputError(
      fmt::format("{} '{}' is neither true nor false", what, core::printable(text)));
}

double parse_period(const std::string& text, const std::string& what) {
  const double seconds = core::parse_duration(text, what).count();
  if (seconds > 0) return seconds;
  throw core::InputError(
      fmt::format("{} '{}' is no period; use more than 0", what, core::printable(text)));
}

}  // namespace

workload::fake::Options parse_fake(const std::string& text) {
  workload::fake::Options options;
  options.samples = 60000;
  const std::string what = "--workload";
  const auto learning = [&]() -> workload::fake::Learning& {
    return options.learning ? *options.learning : options.learning.emplace();
  };
  const std::map<std::string, std::function<void(const std::string&)>> readers{
      {"fixed", [&](auto& v) { options.fixed_seconds = core::parse_duration(v, what).count(); }},
      {"sample",
       [&](auto& v) { options.per_sample_seconds = core::parse_duration(v, what).count(); }},
      {"noise", [&](auto& v) { options.noise_share = core::parse_share(v, what, 1); }},
      {"wait", [&](auto& v) { options.data_wait_share = core::parse_share(v, what, 1); }},
      {"memory-fixed", [&](auto& v) { options.memory_fixed = core::parse_bytes(v, what); }},
      {"memory-sample", [&](auto& v) { options.memory_per_sample = core::parse_bytes(v, what); }},
      {"oom-above", [&](auto& v) { options.out_of_memory_above = core::parse_whole(v, what, 0); }},
      {"oom-at-step",
       [&](auto& v) { options.out_of_memory_at_step = core::parse_whole(v, what, 1); }},
      {"side-by-side", [&](auto& v) { options.side_by_side = parse_true_or_false(v, what); }},
      {"drift", [&](auto& v) { options.drift_share = core::parse_share(v, what, 1); }},
      {"drift-time", [&](auto& v) { options.drift_seconds = parse_period(v, what); }},
      {"neighbour", [&](auto& v) { options.neighbour_share = core::parse_share(v, what, 1); }},
      {"neighbour-time", [&](auto& v) { options.neighbour_seconds = parse_period(v, what); }},
      {"neighbour-slowdown",
       [&](auto& v) { options.neighbour_slowdown = core::parse_real(v, what, {1}, {1000}); }},
      {"run-deviation", [&](auto& v) { options.run_deviation = core::parse_share(v, what, 1); }},
      {"seed",
       [&](auto& v) { options.seed = static_cast<std::uint64_t>(core::parse_whole(v, what, 0)); }},
      {"learn-samples",
       [&](auto& v) { learning().samples_to_99 = core::parse_real(v, what, {1}, {1e12}); }},
      {"learn-critical",
       [&](auto& v) { learning().critical_batch = core::parse_real(v, what, {1}, {1e12}); }},
      {"learn-best", [&](auto& v) { learning().best_accuracy = core::parse_share(v, what, 1); }},
      {"learn-deviation",
       [&](auto& v) { learning().seed_deviation = core::parse_share(v, what, 1); }},
      {"diverges-above",
       [&](auto& v) { learning().diverges_above = core::parse_real(v, what, {0}, {1e6}); }},
      {"samples", [&](auto& v) { options.samples = core::parse_whole(v, what, 1); }}};
  const std::size_t colon = text.find(':');
  std::istringstream parts(colon == std::string::npos ? "" : text.substr(colon + 1));
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const auto reader = readers.find(part.substr(0, equals));
    if (equals == std::string::npos || reader == readers.end())
      throw core::InputError(fmt::format("--workload does not know '{}'; see cli/flags/fake_flags.cpp",
                                         core::printable(part)));
    reader->second(part.substr(equals + 1));
  }
  return options;
}

}  // namespace sweetspot::cli
