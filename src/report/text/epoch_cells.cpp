#include <algorithm>
#include <tuple>

#include "report/epochs.h"

namespace sweetspot::report {
namespace {

auto place(const EpochCell& cell) {
  const trial::Setting& s = cell.setting;
  return std::tie(s.batch, s.accumulation, s.workers, s.prefetch, s.precision, s.learning_rate,
                  cell.epochs);
}

// The first so many epochs of a trial as a cell of its own; nothing when it has fewer.
std::optional<EpochCell> cell_of(const trial::Trial& trial, int epochs) {
  const auto has_epoch = [&](int number) {
    return static_cast<std::size_t>(number) <= trial.epochs.size();
  };
  if (trial.outcome != trial::Outcome::ok || !has_epoch(epochs)) return std::nullopt;
  EpochCell cell{trial.setting, epochs, {0}, {}};
  for (int i = 0; i < epochs; ++i)
    cell.train_seconds[0] += trial.epochs[static_cast<std::size_t>(i)].train_seconds;
  if (const auto accuracy = trial.epochs[static_cast<std::size_t>(epochs - 1)].test_accuracy)
    cell.test_accuracy = {*accuracy};
  return cell;
}

}  // namespace

std::vector<EpochCell> epoch_cells(std::span<const trial::Trial> trials,
                                   std::span<const std::int64_t> epochs) {
  std::vector<EpochCell> cells;
  for (const trial::Trial& trial : trials)
    for (const std::int64_t number : epochs) {
      auto one = cell_of(trial, static_cast<int>(number));
      if (!one) continue;
      const auto known = std::find_if(cells.begin(), cells.end(), [&](const EpochCell& cell) {
        return place(cell) == place(*one);
      });
      if (known == cells.end()) {
        cells.push_back(std::move(*one));
        continue;
      }
      const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(known->train_seconds, one->train_seconds);
      append(known->test_accuracy, one->test_accuracy);
    }
  std::sort(cells.begin(), cells.end(),
            [](const EpochCell& a, const EpochCell& b) { return place(a) < place(b); });
  return cells;
}

}  // namespace sweetspot::report
