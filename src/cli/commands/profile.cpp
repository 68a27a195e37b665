#include "workload/native/profile.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/flags/flags.h"
#include "cli/flags/native_flags.h"
#include "cli/live/terminal.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/signals.h"
#include "core/json_values.h"
#include "core/number.h"
#include "core/text.h"
#include "report/formats.h"
#include "report/table.h"
#include "telemetry/contention.h"
#include "workload/native/chrome_trace.h"
#include "workload/native/workload.h"

namespace sweetspot::cli {
namespace {

namespace native = workload::native;
using Json = nlohmann::ordered_json;
using native::OperationTime;

constexpr int phase_bar_width = 24;

struct ProfileFlags {
  NativeFlags native;
  std::string batches = "16,128,1024";
  native::ProfileOptions options;
  std::optional<std::filesystem::path> trace;
  RankFlags ranks;
};

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }
std::string percent(double share) { return fmt::format("{:.1f}%", share * 100); }

double samples_per_second(const native::Profile& profile) {
  return static_cast<double>(profile.setting.batch) / profile.step_seconds;
}

double total_seconds(const std::vector<OperationTime>& operations) {
  double total = 0;
  for (const OperationTime& operation : operations) total += operation.seconds();
  return total;
}

std::string phases_text(const native::Profile& profile, bool utf8) {
  report::Table table({{"phase", true}, {"ms"}, {"share"}, {"", true}});
  for (std::size_t i = 0; i < trial::phase_count; ++i) {
    const double share = profile.phases[i] / profile.step_seconds;
    table.add({std::string(name(static_cast<trial::Phase>(i))), milliseconds(profile.phases[i]),
               percent(share), share_bar(share, phase_bar_width, utf8)});
  }
  return table.text();
}

// The lower bound of an operation here, and the multiple of it that it takes.
struct Floor {
  std::optional<double> seconds, times;
};
Floor floor_of(const OperationTime& operation, const advise::Roofline& roofline) {
  const auto seconds = advise::floor_seconds(native::cost_of(operation), roofline);
  return {seconds, seconds ? std::optional(operation.seconds() / *seconds) : std::nullopt};
}

// A layer in the table: all its operations together.
struct Line {
  OperationTime time;
  std::optional<double> floor;
};
std::vector<Line> lines_of(const std::vector<OperationTime>& operations,
                           const advise::Roofline& roofline) {
  std::vector<Line> lines;
  std::optional<double> before;
  for (const OperationTime& operation : operations) {
    const std::optional<double> floor = floor_of(operation, roofline).seconds;
    if (lines.empty() || lines.back().time.name != operation.name) {
      lines.push_back({operation, floor});
    } else {
      Line& line = lines.back();
      line.time.forward_seconds += operation.forward_seconds;
      line.time.backward_seconds += operation.backward_seconds;
      line.time.update_seconds += operation.update_seconds;
      // Operations that share one layer's work have the same lower bound, which counts once.
      if (floor && floor != before) line.floor = line.floor.value_or(0) + *floor;
    }
    before = floor;
  }
  return lines;
}

// The table is at most 80 columns wide.
std::string clipped(const std::string& name) {
  constexpr std::size_t most = 21;
  return name.size() <= most ? name : name.substr(0, most - 1) + "…";
}

std::string operations_text(const native::Profile& profile, const advise::Roofline& roofline) {
  report::Table table({{"operation, ms", true},
                       {"forward"},
                       {"backward"},
                       {"update"},
                       {"floor"},
                       {"times"},
                       {"share"}});
  const std::vector<OperationTime> operations = operation_times(profile);
  const double total = total_seconds(operations);
  for (const auto& [time, floor] : lines_of(operations, roofline))
    table.add({clipped(core::printable(time.name)), milliseconds(time.forward_seconds),
               milliseconds(time.backward_seconds), milliseconds(time.update_seconds),
               floor ? milliseconds(*floor) : "–",
               floor ? fmt::format("{:.1f}", time.seconds() / *floor) : "–",
               percent(time.seconds() / total)});
  return table.text();
}

// What the graph saves: all operations launched separately, against a training step.
std::string graph_text(const native::Profile& profile) {
  if (!profile.in_graph || profile.ranks > 1) return "";  // ranks wait for each other in both
  const double apart = total_seconds(operation_times(profile));
  return fmt::format(
      "launched one by one the operations take {} a step, in the graph the step takes {}: the "
      "graph saves {}\n\n",
      core::format_duration(core::Seconds(apart)),
      core::format_duration(core::Seconds(profile.step_seconds)),
      percent(1 - profile.step_seconds / apart));
}

// "batch 256 as 2 ranks × 4 × 32"
std::string parts_text(const native::Profile& profile) {
  const trial::Setting& setting = profile.setting;
  if (profile.ranks * setting.accumulation == 1) return "";
  return fmt::format(" as {}{}{}",
                     profile.ranks > 1 ? fmt::format("{} ranks × ", profile.ranks) : "",
                     setting.accumulation > 1 ? fmt::format("{} × ", setting.accumulation) : "",
                     setting.micro_batch() / profile.ranks);
}

std::string ranks_text(const native::Profile& profile) {
  const auto waited = native::reduction_wait_seconds(profile);
  return waited ? fmt::format(
                      "times are the first rank's; of its optimizer phase, {} is waiting for the "
                      "other ranks' gradients\n\n",
                      core::format_duration(core::Seconds(*waited)))
                : "";
}

std::string text_of(const native::Run& run, const native::Profile& profile,
                    const advise::Roofline& roofline) {
  const bool utf8 = is_utf8_locale();
  return fmt::format("{} on {}, batch {}{}, {}: {} a step, {} samples/s\n\n{}\n{}\n{}{}",
                     core::printable(run.network.name), core::printable(run.dataset.name),
                     profile.setting.batch, parts_text(profile), device_words(run.options),
                     core::format_duration(core::Seconds(profile.step_seconds)),
                     core::format_count(samples_per_second(profile)), phases_text(profile, utf8),
                     operations_text(profile, roofline), graph_text(profile), ranks_text(profile));
}

Json json_of(const native::Profile& profile, const advise::Roofline& roofline) {
  const trial::Setting& setting = profile.setting;
  Json json{{"setting",
             {{"batch", setting.batch},
              {"micro_batch", setting.micro_batch() / profile.ranks},
              {"accumulation", setting.accumulation},
              {"ranks", profile.ranks},
              {"precision", setting.configuration.precision},
              {"workers", setting.configuration.workers},
              {"prefetch", setting.configuration.prefetch}}},
            {"steps", profile.plain_steps},
            {"step_seconds", profile.step_seconds},
            {"samples_per_second", samples_per_second(profile)},
            {"reduction_wait_seconds", native::reduction_wait_seconds(profile)}};
  for (std::size_t i = 0; i < trial::phase_count; ++i)
    json["phases"][std::string(name(static_cast<trial::Phase>(i)))] =
        profile.phases[i] / profile.step_seconds;
  const std::vector<OperationTime> operations = operation_times(profile);
  const double total = total_seconds(operations);
  json["graph"] = nullptr;
  if (profile.in_graph)
    json["graph"] = {{"step_seconds", profile.step_seconds},
                     {"separate_seconds", total},
                     {"saved_share", 1 - profile.step_seconds / total}};
  json["profiled_steps"] = profile.steps.size();
  json["operations"] = Json::array();
  for (const OperationTime& operation : operations) {
    const Floor floor = floor_of(operation, roofline);
    json["operations"].push_back({{"name", operation.name},
                                  {"implementation", operation.implementation},
                                  {"forward_seconds", operation.forward_seconds},
                                  {"backward_seconds", operation.backward_seconds},
                                  {"update_seconds", operation.update_seconds},
                                  {"floor_seconds", floor.seconds},
                                  {"times_floor", floor.times},
                                  {"share", operation.seconds() / total}});
  }
  return json;
}

Json json_of(const native::Run& run, const std::vector<native::Profile>& profiles,
             const std::vector<trial::Contention>& contentions, const advise::Roofline& roofline) {
  Json json = result_object();
  json["model"] = run.network.name;
  json["data"] = run.dataset.name;
  json["device"] = name(run.options.device);
  json["profiles"] = Json::array();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    json["profiles"].push_back(json_of(profiles[i], roofline));
    json["profiles"].back()["contention"] = {
        {"contended", contentions[i].contended},
        {"reason", contentions[i].contended ? Json(contentions[i].reason) : Json(nullptr)}};
  }
  json["environment"] = environment(run.options.threads, run.options.device);
  return json;
}

// The largest batch opens the run, so that one beyond the data set is rejected immediately.
native::Run open_for(native::Options options, const std::vector<std::int64_t>& batches,
                     const native::Say& say) {
  for (const std::int64_t batch : batches) {
    options.pipeline.batch = batch;
    check(options);
  }
  options.pipeline.batch = *std::max_element(batches.begin(), batches.end());
  return native::open(options, say);
}

trial::Setting setting_at(const native::Run& run, std::int64_t batch) {
  trial::Setting setting = native::setting_of(run.options);
  setting.batch = batch;
  return setting;
}

// The others make the same steps as the first, which reports them.
int profile_as_other_rank(const ProfileFlags& flags, const native::Options& options,
                          const std::vector<std::int64_t>& batches) {
  const native::Run run = open_for(options, batches, [](std::string_view) {});
  const StopOnSignal stop(true);
  for (const std::int64_t batch : batches) {
    if (native::as_first_rank_says(run.options.ranks, false)) break;
    native::profile(run, setting_at(run, batch), flags.options, StopOnSignal::stopped());
  }
  return 0;
}

int profile(const ProfileFlags& flags, collective::Group* group, Output& output) {
  const std::vector<std::int64_t> batches = core::parse_range(flags.batches, "--batch");
  native::Options options = flags_of_rank(flags.native, flags.ranks, group).resolved();
  const JoinedGpus gpus = join_gpus(flags.ranks, options.device, options.ranks);
  if (!options.ranks.is_first()) return profile_as_other_rank(flags, options, batches);
  if (flags.trace) report::check_can_write(*flags.trace, "--trace");
  native::Run run = open_for(options, batches, Output::talk);
  if (const auto reason = settle_precision(flags.native, run, batches.front()))
    Output::talk(*reason);
  const advise::Roofline roofline = device_roofline(run.options);
  const StopOnSignal stop(group != nullptr);
  std::vector<native::Profile> profiles;
  std::vector<trial::Contention> contentions;  // of each
  for (const std::int64_t batch : batches) {
    if (native::as_first_rank_says(run.options.ranks, StopOnSignal::stopped() != 0)) break;
    const telemetry::Look before = telemetry::look(telemetry::this_machine());
    profiles.push_back(
        native::profile(run, setting_at(run, batch), flags.options, StopOnSignal::stopped()));
    contentions.push_back(
        telemetry::contention(before, telemetry::look(telemetry::this_machine())));
    if (!flags.native.json) output.print(text_of(run, profiles.back(), roofline));
    if (contentions.back().contended)
      Output::talk(fmt::format("the machine was contended at batch {} ({}): alone it may be faster",
                               batch, contentions.back().reason));
  }
  if (flags.native.json) output.print_json(json_of(run, profiles, contentions, roofline));
  if (flags.trace) {
    report::write_file(*flags.trace, workload::native::chrome_trace(profiles));
    Output::talk(fmt::format("trace written to {}; open it in chrome://tracing or Perfetto",
                             core::printable(flags.trace->string())));
  }
  return StopOnSignal::stopped() != 0 ? signal_exit + StopOnSignal::stopped() : 0;
}

}  // namespace

void add_profile(CLI::App& app, Action& chosen, const std::vector<std::string>& given) {
  CLI::App* command = app.add_subcommand(
      "profile", "where a step's time goes, per phase and per operation, over batch sizes");
  const auto flags = std::make_shared<ProfileFlags>();
  command
      ->add_option("--batch", flags->batches,
                   "batches: 128 or 16,32,64 or 16..4096*2 or 100..1000+100")
      ->type_name("RANGE")
      ->capture_default_str();
  text_flag(*command, "--steps", "N", "steps to profile at each batch [half a second]",
            [flags](const std::string& text) {
              flags->options.steps = core::parse_whole(text, "--steps", 1);
            });
  command->add_option("--trace", flags->trace, "write the steps as a Chrome trace")
      ->type_name("FILE");
  add_workload_flags(*command, flags->native);
  add_rank_flags(*command, flags->ranks);
  command->footer(
      "\nExamples:\n  sweetspot profile --batch 32,256 --trace trace.json\n"
      "  sweetspot profile --batch 256 --ranks 2");
  command->callback([&chosen, flags, given] {
    chosen = [flags, given](Output& output) {
      return run_ranks(flags->ranks,
                       {given,
                        [&](collective::Group& group) {
                          open_for(flags_of_rank(flags->native, flags->ranks, &group).resolved(),
                                   core::parse_range(flags->batches, "--batch"), Output::talk);
                        },
                        [&](collective::Group* group) { return profile(*flags, group, output); }});
    };
  });
}

}  // namespace sweetspot::cli
