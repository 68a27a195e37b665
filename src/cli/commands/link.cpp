#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/native_flags.h"
#include "cli/link_file.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/number.h"
#include "core/text.h"
#include "report/formats.h"
#include "report/table.h"
#include "workload/native/ranked_workload.h"
#include "workload/native/workload.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct LinkFlags {
  RankFlags ranks;
  core::Bytes gradient_bytes = 0;
  NativeFlags native;                 // of the measured steps
  std::optional<std::int64_t> batch;  // of all ranks; nullopt: no steps are measured
  std::string save;
};

// Everything that was measured.
struct Found {
  std::vector<collective::AllReduceTime> times;
  std::optional<collective::Link> link;
  std::optional<double> gradients_seconds;
  std::optional<trial::Scaling> scaling;
};

// The median of several, which is robust to contention, of all-reduces from 4 bytes to 16 MiB.
std::vector<collective::AllReduceTime> measure(collective::Group& group) {
  constexpr std::size_t most_floats = 4 << 20;
  constexpr int rounds = 21;
  std::vector<float> values(most_floats, 1e-30f);
  std::vector<collective::AllReduceTime> times;
  for (std::size_t floats = 1; floats <= most_floats; floats *= 4) {
    std::vector<double> seconds;
    for (int i = 0; i < rounds + 2; ++i) {
      group.barrier();
      const auto start = Clock::now();
      group.all_reduce({values.data(), floats});
      if (i >= 2) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::ranges::nth_element(seconds, seconds.begin() + rounds / 2);
    times.push_back(
        {group.size(), static_cast<double>(floats * sizeof(float)), seconds[rounds / 2]});
  }
  return times;
}

// All gradients of a step, bucket after bucket, as backward hands them over: started all at once
// they would pass through memory faster than in a step. The mean, since steps consist of all of
// them: ranks that take turns on a core are sometimes slow.
std::optional<double> measure_gradients(collective::Group& group, const LinkFlags& flags) {
  if (flags.gradient_bytes == 0) return std::nullopt;
  constexpr int rounds = 60;
  std::vector<float> values(flags.gradient_bytes / sizeof(float) + 1, 1e-30f);
  const core::Bytes usual = workload::native::RankOptions().bucket_bytes;
  const std::size_t bucket =
      std::max<std::size_t>(flags.ranks.bucket_bytes.value_or(usual) / sizeof(float), 1);
  const auto sum_all = [&] {
    for (std::size_t at = 0; at < values.size(); at += bucket)
      group.all_reduce({values.data() + at, std::min(bucket, values.size() - at)});
  };
  double seconds = 0;
  for (int i = 0; i < rounds + 2; ++i) {
    group.barrier();
    const auto start = Clock::now();
    sum_all();
    if (i >= 2) seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
  return seconds / rounds;
}

workload::native::Options options_of_rank(const LinkFlags& flags, collective::Group& group) {
  workload::native::Options options = flags_of_rank(flags.native, flags.ranks, &group).resolved();
  options.pipeline.batch = *flags.batch;
  return options;
}

// All-reduces cost more in a step than by themselves: ranks wait for the slowest one, and memory
// and caches are busy.
std::optional<trial::Scaling> measure_steps(collective::Group& group, const LinkFlags& flags) {
  if (!flags.batch) return std::nullopt;
  constexpr core::Seconds time{3};
  workload::native::Options options = options_of_rank(flags, group);
  const JoinedGpus gpus = join_gpus(flags.ranks, options.device, options.ranks);
  workload::native::Run run = workload::native::open(options, [](std::string_view) {});
  const trial::Setting setting = workload::native::setting_of(run.options);
  return workload::native::measure_scaling(std::move(run), setting, time);
}

Json json_of(const Found& found) {
  const auto& [times, link, gradients_seconds, scaling] = found;
  Json json = result_object();
  json["ranks"] = times.front().ranks;
  json["link"] = nullptr;
  if (link)
    json["link"] = {{"latency_seconds", link->latency_seconds},
                    {"bytes_per_second", link->bytes_per_second}};
  json["all_reduces"] = Json::array();
  for (const collective::AllReduceTime& time : times)
    json["all_reduces"].push_back({{"bytes", time.bytes}, {"seconds", time.seconds}});
  json["gradients_seconds"] = gradients_seconds;
  json["steps"] = nullptr;
  if (scaling)
    json["steps"] = {{"together_seconds", scaling->step_seconds},
                     {"alone_seconds", scaling->alone_seconds},
                     {"apart_seconds", scaling->apart_seconds},
                     {"efficiency_share", scaling->efficiency.mean}};
  return json;
}

std::string steps_text(const trial::Scaling& scaling) {
  const auto duration = [](double seconds) {
    return core::format_duration(core::Seconds(seconds));
  };
  return fmt::format(
      "a step: {} for one rank alone, {} for all at once but separately, {} together; efficiency "
      "{:.0f}%\n",
      duration(scaling.alone_seconds), duration(scaling.apart_seconds),
      duration(scaling.step_seconds), 100 * scaling.efficiency.mean);
}

std::string text_of(const Found& found) {
  const auto& [times, link, gradients_seconds, scaling] = found;
  report::Table table({{"bytes"}, {"all-reduce"}, {"by the link"}});
  for (const collective::AllReduceTime& time : times)
    table.add({core::format_bytes(static_cast<core::Bytes>(time.bytes)),
               core::format_duration(core::Seconds(time.seconds)),
               link ? core::format_duration(core::Seconds(
                          collective::all_reduce_seconds(*link, time.ranks, time.bytes)))
                    : std::string(report::unknown)});
  return table.text() +
         (link ? fmt::format(
                     "link between {} ranks: {} latency, {}/s; as --link {:.3g}B/s,{:.3g}us\n",
                     times.front().ranks,
                     core::format_duration(core::Seconds(link->latency_seconds)),
                     core::format_bytes(static_cast<core::Bytes>(link->bytes_per_second)),
                     link->bytes_per_second, 1e6 * link->latency_seconds)
               : "the times do not grow with the bytes: no link fits them\n") +
         (gradients_seconds ? fmt::format("all gradients of a step: {}\n",
                                          core::format_duration(core::Seconds(*gradients_seconds)))
                            : "") +
         (scaling ? steps_text(*scaling) : "");
}

int link(const LinkFlags& flags, collective::Group* group, Output& output) {
  if (!group) throw core::InputError("a link is between ranks; add --ranks 2 or more");
  Found found;
  found.times = measure(*group);
  found.gradients_seconds = measure_gradients(*group, flags);
  found.scaling = measure_steps(*group, flags);
  if (group->rank() > 0) return 0;
  found.link = collective::fit_link(found.times);
  if (!flags.save.empty())
    report::write_file(flags.save, json_of(found).dump());
  else if (flags.native.json)
    output.print_json(json_of(found));
  else
    output.print(text_of(found));
  return 0;
}

}  // namespace

LinkFile read_link(const std::string& text) {
  const Json json = Json::parse(text);
  LinkFile file;
  if (const Json& link = json["link"]; !link.is_null())
    file.link = collective::Link{link["latency_seconds"], link["bytes_per_second"]};
  if (const Json& seconds = json["gradients_seconds"]; !seconds.is_null())
    file.gradients_seconds = seconds.get<double>();
  if (const Json& steps = json["steps"]; !steps.is_null())
    file.steps = {steps["together_seconds"], steps["alone_seconds"], steps["apart_seconds"]};
  return file;
}

void add_link(CLI::App& app, Action& chosen, const std::vector<std::string>& given) {
  CLI::App* command =
      app.add_subcommand("link", "time all-reduces between ranks, and fit latency and bandwidth");
  const auto flags = std::make_shared<LinkFlags>();
  text_flag(*command, "--gradients", "SIZE",
            "also time the all-reduce of this many bytes, such as 5MB, in buckets, as in a step",
            [flags](const std::string& text) {
              flags->gradient_bytes = core::parse_bytes(text, "--gradients");
            });
  command->add_option("--save", flags->save, "write the result to a file as JSON instead")
      ->type_name("FILE");
  text_flag(*command, "--batch", "N",
            "also measure steps of this batch over all ranks: together, one rank alone, and all at "
            "once but separately",
            [flags](const std::string& text) {
              flags->batch = core::parse_whole(text, "--batch", 1, most_batch);
            });
  add_workload_flags(*command, flags->native);
  add_rank_flags(*command, flags->ranks);  // after --threads, which it looks for
  command->footer(
      "\nExamples:\n  sweetspot link --ranks 2 --gradients 5MB\n"
      "  sweetspot link --ranks 2 --model paper-cnn --batch 256");
  command->callback([&chosen, flags, given] {
    chosen = [flags, given](Output& output) {
      return run_ranks(flags->ranks,
                       {given,
                        [&](collective::Group& group) {
                          if (flags->batch)
                            workload::native::open(options_of_rank(*flags, group), Output::talk);
                        },
                        [&](collective::Group* group) { return link(*flags, group, output); }});
    };
  });
}

}  // namespace sweetspot::cli
