#include "report/paper/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "core/text.h"
#include "report/epochs.h"
#include "report/formats.h"
#include "report/paper/experiment.h"
#include "report/table.h"

namespace sweetspot::report::paper {
namespace {

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::size_t seeds(const Experiment& experiment) {
  std::vector<std::uint64_t> list;
  for (const Device& device : experiment.devices)
    for (const trial::Trial& trial : device.trials) list.push_back(trial.setting.seed);
  std::ranges::sort(list);
  return static_cast<std::size_t>(std::ranges::unique(list).begin() - list.begin());
}

std::string contention(const Experiment& experiment) {
  std::size_t all = 0, contended = 0;
  for (const Device& device : experiment.devices)
    for (const trial::Trial& trial : device.trials) ++all, contended += trial.contention.contended;
  if (contended == 0)
    return fmt::format("The machine was quiet: none of {} was contended.", plural(all, "trial"));
  return fmt::format(
      "The machine was contended in {} of {}: other work took cores or slowed them down, and a "
      "quiet machine may answer otherwise.",
      contended, plural(all, "trial"));
}

}  // namespace

std::vector<std::string> method(const Experiment& experiment) {
  std::string batches;
  for (const std::int64_t batch : experiment.batches)
    batches += (batches.empty() ? "" : ", ") + std::to_string(batch);
  std::vector<std::string> list{
      fmt::format("{}, {}; {} epochs at batches {}.", core::printable(experiment.workload),
                  experiment.training, experiment.epochs, batches),
      fmt::format("One run yields the points of all its epochs; a time is that of training alone, "
                  "evaluation apart. {} a batch; the order of the batches is shuffled, so that a "
                  "drift of the machine does not look like an effect of the batch.",
                  plural(seeds(experiment), "seed") + " (from 1000, the paper's, on)"),
      "Intervals are 95%: of times by Student's t over epochs, of accuracies by Student's t over "
      "seeds, or with one seed by Wilson's over the test images.",
      contention(experiment),
      "The paper's text names neither optimizer, loss, filters, dropout rates, learning rate nor "
      "the version of TensorFlow: docs/zoo.md says what was chosen."};
  if (experiment.quick)
    list.push_back(
        "A quick run: a few of the batches only; the same command without --quick adds the "
        "others and repeats nothing.");
  return list;
}

namespace {

std::vector<std::int64_t> epochs_of(const Experiment& experiment) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 1; i <= experiment.epochs; ++i) list.push_back(i);
  return list;
}

std::string heading(const Device& device) {
  return fmt::format("{} ({})", device.is_gpu() ? "GPU" : "CPU", core::printable(device.hardware));
}

std::string device_tables(const Experiment& experiment, const std::string& mark) {
  std::string text;
  for (const Device& device : experiment.devices)
    text += fmt::format("{}{}\n\n{}\n", mark, heading(device),
                        epoch_tables(device.trials, epochs_of(experiment)));
  return text;
}

std::string verdict_mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "✓";
    case Verdict::does_not_hold:
      return "✗";
    case Verdict::undecided:
      return "?";
    case Verdict::not_tested:
      return "–";
  }
  return "";
}

}  // namespace

std::string text(const Experiment& experiment, const std::vector<Claim>& claims) {
  std::string out = device_tables(experiment, "");
  out += "What the paper says, and what this machine says to it\n\n";
  for (const Claim& claim : claims) {
    out += fmt::format("{} {} ({}): {}\n    {}\n", verdict_mark(claim.verdict), claim.says,
                       claim.source, words(claim.verdict), claim.evidence);
    if (!claim.overhead.empty()) out += fmt::format("    {}\n", claim.overhead);
  }
  out += "\n";
  for (const std::string& sentence : method(experiment)) out += fmt::format("- {}\n", sentence);
  return out;
}

std::string markdown(const Experiment& experiment, const std::vector<Claim>& claims) {
  std::string out = "# The paper on this machine\n\n";
  if (!experiment.message.empty()) out += experiment.message + "\n\n";
  Table table({{"the paper says", true}, {"where", true}, {"here", true}, {"evidence", true}});
  for (const Claim& claim : claims)
    table.add({claim.says, claim.source, fmt::format("**{}**", words(claim.verdict)),
               claim.overhead.empty() ? claim.evidence : claim.evidence + "; " + claim.overhead});
  out += table.text() + "\n" + device_tables(experiment, "## ") + "## How\n\n";
  for (const std::string& sentence : method(experiment)) out += fmt::format("- {}\n", sentence);
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

Json device_json(const Device& device, const Experiment& experiment) {
  ShownStudy study;
  study.trials = device.trials;
  std::vector<std::int64_t> epochs;
  for (std::int64_t i = 1; i <= experiment.epochs; ++i) epochs.push_back(i);
  const Json all = epoch_json(study, epochs);
  const auto fixed = fixed_step_seconds(curve(device, experiment));
  return {{"device", device.name},
          {"hardware", device.hardware},
          {"study", device.study},
          {"step_fixed_seconds",
           fixed ? Json{{"mean", fixed->mean}, {"low", fixed->low}, {"high", fixed->high}}
                 : Json(nullptr)},
          {"cells", all["cells"]},
          {"end_points", all["end_points"]},
          {"trials", all["trials"]}};
}

}  // namespace

Json json(const Experiment& experiment, const std::vector<Claim>& claims) {
  Json result{{"schema_version", schema_version},
              {"status", experiment.status},
              {"message", core::unless_empty(experiment.message)},
              {"workload", experiment.workload},
              {"quick", experiment.quick}};
  result["claims"] = Json::array();
  for (const Claim& claim : claims)
    result["claims"].push_back({{"id", claim.id},
                                {"says", claim.says},
                                {"source", claim.source},
                                {"verdict", name(claim.verdict)},
                                {"evidence", claim.evidence},
                                {"overhead", core::unless_empty(claim.overhead)}});
  result["devices"] = Json::array();
  for (const Device& device : experiment.devices)
    result["devices"].push_back(device_json(device, experiment));
  result["no_gpu"] = core::unless_empty(experiment.no_gpu);
  result["method"] = method(experiment);
  result["cost"] = {{"seconds", experiment.seconds}, {"resumed_trials", experiment.resumed}};
  result["environment"] = Json::parse(experiment.environment_json, nullptr, false);
  if (result["environment"].is_discarded()) result["environment"] = Json::object();
  return result;
}

}  // namespace sweetspot::report::paper
