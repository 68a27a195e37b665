#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/shown_study.h"
#include "stats/interval.h"

namespace sweetspot::report {

// The results of this many epochs at one setting, in all its trials: one per seed. Failed trials do
// not count.
struct EpochCell {
  trial::Setting setting;  // the seed aside
  int epochs = 1;
  std::vector<double> train_seconds;  // of all those epochs together
  std::vector<double> test_accuracy;  // after the last of them; empty without evaluation
};
// By setting and then by epochs, both ascending.
std::vector<EpochCell> epoch_cells(std::span<const trial::Trial> trials,
                                   std::span<const std::int64_t> epochs);

// "98.19 ±0.12" in percent, "16.42 ±0.31" in seconds: the mean, and with several seeds the
// half-width of its 95% interval.
std::string accuracy_words(const EpochCell& cell);
std::string seconds_words(const EpochCell& cell);

// Two markdown tables of batch against epochs: the test accuracy and the training time, with the
// 95% interval over seeds; then the trials that failed, and why.
std::string epoch_tables(std::span<const trial::Trial> trials,
                         std::span<const std::int64_t> epochs);
// The most accurate batch and the fastest, in a sentence; empty if nothing was trained.
std::string epoch_sentence(std::span<const trial::Trial> trials,
                           std::span<const std::int64_t> epochs);
std::string epoch_markdown(const ShownStudy& study, std::span<const std::int64_t> epochs);
// One row per epoch of each trial.
std::string epoch_csv(std::span<const trial::Trial> trials);
// The object of `--json` as for any study, and `cells`.
nlohmann::ordered_json epoch_json(const ShownStudy& study, std::span<const std::int64_t> epochs);

// The mean over runs with different seeds and its 95% interval by Student's t, which with two runs
// is 12.7 standard errors wide: truncated to possible values, which does not reduce its coverage.
// nullopt below two values.
std::optional<stats::Interval> mean_share(std::span<const double> values);    // in [0, 1]
std::optional<stats::Interval> mean_seconds(std::span<const double> values);  // from 0

}  // namespace sweetspot::report
