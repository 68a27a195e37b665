#include "cli/flags/study_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>

#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/power_guard.h"
#include "cli/stored_study.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "report/formats.h"

namespace sweetspot::cli {
namespace {

void share_flag(CLI::App& app, const std::string& flag, double& target, double most,
                const std::string& help) {
  text_flag(app, flag, "SHARE", help, [=, &target](const std::string& text) {
    target = core::parse_share(text, flag, most);
  })->default_str(fmt::format("{:g}%", 100 * target));
}

}  // namespace

void add_study_flags(CLI::App& app, StudyFlags& flags) {
  app.add_option_function<std::vector<std::string>>(
         "--memory-limit",
         [&flags](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) parse_memory_limit(text, flags.memory_limit);
         },
         "memory limit of a run on its compute device, such as 4GiB; gpu=16GiB: on each GPU; "
         "host=8GiB: on the host; may be repeated")
      ->type_name("BYTES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  share_flag(app, "--memory-share", flags.memory_share, 1,
             "share of the free memory that a run may take");
  share_flag(app, "--tolerance", flags.tolerance, 0.5,
             "share of the best throughput that a smaller batch may give up");
  share_flag(app, "--precision-of-estimate", flags.precision, 0.5,
             "target half-width of the 95% interval of each throughput");
  text_flag(app, "--budget", "TIME", "measuring time, such as 2m; then answer with what is known",
            [&flags](const std::string& text) {
              flags.budget = core::parse_duration(text, "--budget");
              if (flags.budget->count() <= 0)
                throw core::InputError("--budget must be positive, such as 5m");
            });
  text_flag(app, "--power-limits", "WATTS",
            "GPU power limits to try, such as 300W,500W,700W; set for the trials and restored "
            "afterwards (needs root)",
            [&flags](const std::string& text) {
              const std::vector<double> watts = parse_power_limits(text);
              flags.tried[power_limits_key] = {watts.begin(), watts.end()};
            });
  text_flag(app, "--name", "NAME",
            "name the study: another name starts a separate study, and report and studies accept "
            "names in place of numbers",
            [&flags](const std::string& text) { flags.name = parse_study_label(text); });
  app.add_flag("--fresh", flags.fresh, "measure again what the store already has");
  app.add_flag("--verbose", flags.verbose, "report every round and trial on stderr");
  app.add_flag("--plot", flags.plot, "also draw the throughput over the batch");
  db_flag(app, flags.db);
  app.add_option("--export-csv", flags.csv, "write the trials here as CSV")->type_name("FILE");
  app.add_option("--export-markdown", flags.markdown, "write the result here as markdown")
      ->type_name("FILE");
  app.add_option("--workload", flags.workload)->group("");  // hidden: a fake one, for tests
}

void add_either_workload_flags(CLI::App& app, StudyFlags& flags) {
  // A program takes these too, as placeholders.
  constexpr std::array shared{"--json", "--accumulation", "--workers", "--lr", "--precision"};
  const std::vector<CLI::Option*> before = app.get_options();
  add_workload_flags(app, flags.native);
  for (CLI::Option* option : app.get_options())
    if (std::ranges::find(before, option) == before.end() &&
        std::ranges::find(shared, option->get_name()) == shared.end())
      flags.command.native_only.push_back(option);
  add_command_flags(app, flags.command);
}

void check_exports(const StudyFlags& flags) {
  if (flags.csv) report::check_can_write(*flags.csv, "--export-csv");
  if (flags.markdown) report::check_can_write(*flags.markdown, "--export-markdown");
}

void parse_memory_limit(const std::string& text, MemoryLimits& limits) {
  constexpr const char* flag = "--memory-limit";
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::string device = equals == part.npos ? "" : part.substr(0, equals);
    if (equals != part.npos && device != "gpu" && device != "host")
      throw core::InputError(
          fmt::format("{} '{}' names no known device; write gpu=16GiB, host=8GiB or 16GiB", flag,
                      core::printable(part)));
    std::optional<core::Bytes>& limit = device == "gpu"    ? limits.gpu
                                        : device == "host" ? limits.host
                                                           : limits.any;
    if (limit)
      throw core::InputError(fmt::format("{} limits {} twice; leave one out", flag,
                                         device == "gpu"    ? "a GPU"
                                         : device == "host" ? "the host"
                                                            : "a run"));
    limit = core::parse_bytes(equals == part.npos ? part : part.substr(equals + 1), flag);
  }
}

namespace {

std::optional<core::Bytes> within_share(const StudyFlags& flags,
                                        const std::optional<core::Bytes>& limit,
                                        const std::optional<core::Bytes>& free) {
  if (!free) return limit;
  const auto share = static_cast<core::Bytes>(static_cast<double>(*free) * flags.memory_share);
  return limit ? std::min(*limit, share) : share;
}

}  // namespace

std::optional<core::Bytes> memory_allowed(const StudyFlags& flags, std::optional<core::Bytes> free,
                                          bool on_gpu) {
  const std::optional<core::Bytes>& named =
      on_gpu ? flags.memory_limit.gpu : flags.memory_limit.host;
  return within_share(flags, named ? named : flags.memory_limit.any, free);
}

std::optional<core::Bytes> host_memory_allowed(const StudyFlags& flags,
                                               std::optional<core::Bytes> free) {
  return within_share(flags, flags.memory_limit.host, free);
}

}  // namespace sweetspot::cli
