#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "report/paper/forms.h"

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

}  // namespace sweetspot::report::paper
