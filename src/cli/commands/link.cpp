#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/link_file.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "core/error.h"
#include "core/text.h"
#include "report/forms.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct LinkFlags {
  RankFlags ranks;
  bool json = false;
  std::string save;
};

// The median of some, which neighbours disturb the least, of sums from 4 bytes to 16 MiB.
std::vector<stats::AllReduceTime> measure(collective::Group& group) {
  constexpr std::size_t most_floats = 4 << 20;
  constexpr int rounds = 21;
  std::vector<float> values(most_floats, 1e-30f);
  std::vector<stats::AllReduceTime> times;
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

Json json_of(const std::vector<stats::AllReduceTime>& times,
             const std::optional<stats::Link>& link) {
  Json json = result_object();
  json["ranks"] = times.front().ranks;
  json["link"] = nullptr;
  if (link)
    json["link"] = {{"latency_seconds", link->latency_seconds},
                    {"bytes_per_second", link->bytes_per_second}};
  json["all_reduces"] = Json::array();
  for (const stats::AllReduceTime& time : times)
    json["all_reduces"].push_back({{"bytes", time.bytes}, {"seconds", time.seconds}});
  return json;
}

std::string text_of(const std::vector<stats::AllReduceTime>& times,
                    const std::optional<stats::Link>& link) {
  report::Table table({{"bytes"}, {"all-reduce"}, {"by the link"}});
  for (const stats::AllReduceTime& time : times)
    table.add({core::format_bytes(static_cast<core::Bytes>(time.bytes)),
               core::format_duration(core::Seconds(time.seconds)),
               link ? core::format_duration(
                          core::Seconds(stats::all_reduce_seconds(*link, time.ranks, time.bytes)))
                    : std::string(report::unknown)});
  return table.text() +
         (link ? fmt::format(
                     "link between {} ranks: {} latency, {}/s; as --link {:.3g}B/s,{:.3g}us\n",
                     times.front().ranks,
                     core::format_duration(core::Seconds(link->latency_seconds)),
                     core::format_bytes(static_cast<core::Bytes>(link->bytes_per_second)),
                     link->bytes_per_second, 1e6 * link->latency_seconds)
               : "the times do not grow with the bytes: no link fits them\n");
}

int link(const LinkFlags& flags, collective::Group* group, Output& output) {
  if (!group) throw core::InputError("a link is between ranks; add --ranks 2 or more");
  const std::vector<stats::AllReduceTime> times = measure(*group);
  if (group->rank() > 0) return 0;
  const std::optional<stats::Link> found = stats::fit_link(times);
  if (!flags.save.empty())
    report::write_file(flags.save, json_of(times, found).dump());
  else if (flags.json)
    output.print_json(json_of(times, found));
  else
    output.print(text_of(times, found));
  return 0;
}

}  // namespace

std::optional<stats::Link> read_link(const std::string& json) {
  const Json link = Json::parse(json)["link"];
  if (link.is_null()) return std::nullopt;
  return stats::Link{link["latency_seconds"], link["bytes_per_second"]};
}

void add_link(CLI::App& app, Action& chosen, const std::vector<std::string>& given) {
  CLI::App* command = app.add_subcommand(
      "link", "what sums over ranks cost: all-reduces timed, their latency and bandwidth");
  const auto flags = std::make_shared<LinkFlags>();
  add_ranks_flag(*command, flags->ranks);
  command->add_option("--save", flags->save, "write the result as JSON into a file instead")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "the result as one JSON object on stdout");
  command->footer("\nExample:\n  sweetspot link --ranks 2");
  command->callback([&chosen, flags, given] {
    chosen = [flags, given](Output& output) {
      return run_ranks(flags->ranks,
                       {given, [](collective::Group&) {},
                        [&](collective::Group* group) { return link(*flags, group, output); }});
    };
  });
}

}  // namespace sweetspot::cli
