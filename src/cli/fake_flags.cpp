#include "cli/fake_flags.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <sstream>

#include "cli/study_flags.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::cli {

workload::fake::Options parse_fake(const std::string& text) {
  workload::fake::Options options;
  options.samples = 60000;
  const std::string what = "--workload";
  const std::map<std::string, std::function<void(const std::string&)>> readers{
      {"fixed", [&](auto& v) { options.fixed_seconds = core::parse_duration(v, what).count(); }},
      {"sample",
       [&](auto& v) { options.per_sample_seconds = core::parse_duration(v, what).count(); }},
      {"noise", [&](auto& v) { options.noise_share = parse_share(v, what, 1); }},
      {"wait", [&](auto& v) { options.data_wait_share = parse_share(v, what, 1); }},
      {"memory-fixed", [&](auto& v) { options.memory_fixed = core::parse_bytes(v, what); }},
      {"memory-sample", [&](auto& v) { options.memory_per_sample = core::parse_bytes(v, what); }},
      {"oom-above", [&](auto& v) { options.out_of_memory_above = core::parse_whole(v, what, 0); }},
      {"samples", [&](auto& v) { options.samples = core::parse_whole(v, what, 1); }}};
  const std::size_t colon = text.find(':');
  std::istringstream parts(colon == std::string::npos ? "" : text.substr(colon + 1));
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const auto reader = readers.find(part.substr(0, equals));
    if (equals == std::string::npos || reader == readers.end())
      throw core::InputError(fmt::format("--workload does not know '{}'; see cli/fake_flags.cpp",
                                         core::printable(part)));
    reader->second(part.substr(equals + 1));
  }
  return options;
}

}  // namespace sweetspot::cli
