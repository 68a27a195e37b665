#include "report/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/interval.h"
#include "core/text.h"
#include "report/end_points.h"
#include "report/fields.h"
#include "report/formats.h"
#include "report/table.h"
#include "stats/interval.h"
#include "stats/moments.h"
#include "trial/setting_fields.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;

// The interval is unknown with one value, and so is the mean with none.
Json estimate(std::span<const double> values, const std::optional<stats::Interval>& interval) {
  return {{"mean", values.empty() ? Json(nullptr) : Json(stats::Moments(values).mean())},
          {"low", interval ? Json(interval->low) : Json(nullptr)},
          {"high", interval ? Json(interval->high) : Json(nullptr)}};
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

Json epoch_json(const ShownStudy& study, std::span<const std::int64_t> epochs) {
  Json result = json(study);
  result["cells"] = Json::array();
  for (const EpochCell& c : epoch_cells(study.trials, epochs)) {
    Json cell{{"batch", c.setting.batch}, {"accumulation", c.setting.accumulation}};
    for (const trial::SettingField& field : trial::setting_fields())
      if (field.is_of_configuration() && field.placeholder)
        cell[field.key] = json(field.of(c.setting));
    cell["epochs"] = c.epochs;
    cell["trials"] = c.train_seconds.size();
    cell["train_seconds"] = estimate(c.train_seconds, mean_seconds(c.train_seconds));
    cell["test_accuracy"] = estimate(c.test_accuracy, mean_share(c.test_accuracy));
    result["cells"].push_back(std::move(cell));
  }
  result["end_points"] = end_point_json(study.trials);
  return result;
}

// Words of ours only: nothing here that a spreadsheet could take for a formula.
std::string epoch_csv(std::span<const trial::Trial> trials) {
  std::string text = "trial,device";
  for (const trial::SettingField& field : trial::setting_fields())
    if (field.placeholder) text += fmt::format(",{}", field.key);
  text +=
      ",outcome,contended,epoch,epoch_seconds,train_seconds,train_loss,train_accuracy,test_loss,"
      "test_accuracy,noise_scale_samples\r\n";
  std::size_t number = 0;
  for (const trial::Trial& t : trials) {
    std::string head = fmt::format("{},{}", ++number, t.device);
    for (const trial::SettingField& field : trial::setting_fields())
      if (field.placeholder) head += fmt::format(",{}", trial::plain(field.of(t.setting)));
    head += fmt::format(",{},{}", name(t.outcome), t.contention.contended ? "true" : "false");
    if (t.epochs.empty()) text += head + ",,,,,,,,\r\n";
    double seconds = 0;
    for (const trial::Epoch& e : t.epochs) {
      seconds += e.train_seconds;
      text += fmt::format("{},{},{},{},{},{},{},{},{}\r\n", head, e.epoch, e.train_seconds, seconds,
                          cell(e.train_loss), cell(e.train_accuracy), cell(e.test_loss),
                          cell(e.test_accuracy), cell(e.noise_scale));
    }
  }
  return text;
}

namespace {

std::optional<stats::Interval> mean_between(std::span<const double> values, double least,
                                            double most) {
  auto found = stats::independent_mean(values);
  if (!found) return found;
  found->low = std::max(found->low, least), found->high = std::min(found->high, most);
  return found;
}

}  // namespace

std::optional<stats::Interval> mean_share(std::span<const double> values) {
  return mean_between(values, 0, 1);
}

std::optional<stats::Interval> mean_seconds(std::span<const double> values) {
  return mean_between(values, 0, std::numeric_limits<double>::infinity());
}

namespace {

auto place(const EpochCell& cell) {
  const trial::Setting& s = cell.setting;
  return std::tie(s.batch, s.accumulation, s.configuration, s.learning_rate, cell.epochs);
}

// The first so many epochs of a trial as a cell of its own; nothing when it has fewer.
std::optional<EpochCell> cell_of(const trial::Trial& trial, int epochs) {
  const auto has_epoch = [&](int number) {
    return static_cast<std::size_t>(number) <= trial.epochs.size();
  };
  if (trial.outcome != trial::Outcome::ok || !has_epoch(epochs)) return std::nullopt;
  EpochCell cell{trial.setting, epochs, {0}, {}};
  cell.setting.seed = 0;
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

namespace {

std::string count(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

double mean(std::span<const double> values) { return stats::Moments(values).mean(); }

// "98.19 ±0.12"; without the interval where there is but one value.
std::string words(std::span<const double> values, const std::optional<stats::Interval>& interval,
                  double unit, int digits) {
  if (values.empty()) return std::string(unknown);
  const std::string middle = fmt::format("{:.{}f}", unit * mean(values), digits);
  if (!interval) return middle;
  return middle + " " +
         core::format_interval(unit * (interval->high - interval->mean),
                               unit * (interval->mean - interval->low), digits);
}

using Words = std::string (*)(const EpochCell&);

std::string matrix(const std::vector<EpochCell>& cells, std::span<const std::int64_t> epochs,
                   Words cell_words) {
  std::vector<trial::Setting> settings;
  for (const EpochCell& cell : cells) settings.push_back(cell.setting);
  std::vector<const trial::SettingField*> varied = trial::varying(settings);
  std::erase_if(varied, [](const trial::SettingField* field) { return !field->title; });
  std::vector<Column> columns{{"batch"}};
  for (const trial::SettingField* field : varied) columns.push_back({field->title});
  for (const std::int64_t number : epochs)
    columns.push_back({fmt::format("{} epoch{}", number, number == 1 ? "" : "s")});
  Table table(std::move(columns));
  for (std::size_t at = 0; at < cells.size();) {
    const EpochCell& first = cells[at];
    std::vector<std::string> row{count(first.setting.batch)};
    for (const trial::SettingField* field : varied)
      row.push_back(field->words(field->of(first.setting)));
    for (const std::int64_t number : epochs) {
      const bool here =
          at < cells.size() && cells[at].setting == first.setting && cells[at].epochs == number;
      row.push_back(here ? cell_words(cells[at++]) : std::string(unknown));
    }
    table.add(std::move(row));
  }
  return table.text();
}

// Of a cell that there is.
bool only_contended(std::span<const trial::Trial> trials, const EpochCell& cell) {
  return std::ranges::all_of(trials, [&](const trial::Trial& t) {
    return t.setting.batch != cell.setting.batch || t.outcome != trial::Outcome::ok ||
           t.contention.contended;
  });
}

std::string failures(std::span<const trial::Trial> trials) {
  std::set<std::string> lines;  // once for all the seeds
  for (const trial::Trial& trial : trials)
    if (trial.outcome != trial::Outcome::ok)
      lines.insert(fmt::format("batch {}: {}{}\n", count(trial.setting.batch), name(trial.outcome),
                               trial.note.empty() ? "" : ", " + core::printable(trial.note)));
  std::string text;
  for (const std::string& line : lines) text += line;
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string accuracy_words(const EpochCell& cell) {
  return words(cell.test_accuracy, mean_share(cell.test_accuracy), 100, 2);
}

// Three digits, as the time is short or long.
std::string seconds_words(const EpochCell& cell) {
  const double seconds = mean(cell.train_seconds);
  return words(cell.train_seconds, mean_seconds(cell.train_seconds), 1,
               seconds < 1     ? 3
               : seconds < 100 ? 2
                               : 1);
}

std::string epoch_tables(std::span<const trial::Trial> trials,
                         std::span<const std::int64_t> epochs) {
  const std::vector<EpochCell> cells = epoch_cells(trials, epochs);
  std::string text;
  if (std::any_of(cells.begin(), cells.end(),
                  [](const auto& c) { return !c.test_accuracy.empty(); }))
    text +=
        "Test accuracy, %, by batch and epochs\n\n" + matrix(cells, epochs, accuracy_words) + "\n";
  if (!cells.empty())
    text +=
        "Training time, seconds, by batch and epochs\n\n" + matrix(cells, epochs, seconds_words);
  if (const std::string ends = end_point_table(trials); !ends.empty()) text += "\n" + ends;
  return text + failures(trials);
}

std::string epoch_sentence(std::span<const trial::Trial> trials,
                           std::span<const std::int64_t> epochs) {
  const std::int64_t last[] = {epochs.empty() ? 1 : epochs.back()};
  const std::vector<EpochCell> cells = epoch_cells(trials, last);
  if (cells.empty()) return "";
  const auto told = [](const EpochCell& cell) {
    return fmt::format("batch {} ({}{} s)", count(cell.setting.batch),
                       cell.test_accuracy.empty() ? "" : accuracy_words(cell) + "%, ",
                       seconds_words(cell));
  };
  const auto fastest =
      std::min_element(cells.begin(), cells.end(), [](const EpochCell& a, const EpochCell& b) {
        return mean(a.train_seconds) < mean(b.train_seconds);
      });
  const auto best =
      std::max_element(cells.begin(), cells.end(), [](const EpochCell& a, const EpochCell& b) {
        return mean(a.test_accuracy) < mean(b.test_accuracy);
      });
  const std::string after = fmt::format("After {} epoch{} ", last[0], last[0] == 1 ? "" : "s");
  const std::string end =
      only_contended(trials, *fastest) ? fmt::format("; {}.", advise::measured_while_busy) : ".";
  if (best->test_accuracy.empty())
    return fmt::format("{}the fastest is {}{}", after, told(*fastest), end);
  if (best == fastest)
    return fmt::format("{}{} is the most accurate and the fastest{}", after, told(*best), end);
  return fmt::format("{}the most accurate is {} and the fastest {}{}", after, told(*best),
                     told(*fastest), end);
}

std::string epoch_markdown(const ShownStudy& study, std::span<const std::int64_t> epochs) {
  std::string text =
      fmt::format("# Accuracy and training time of {}\n\n", core::printable(study.workload));
  const std::string sentence = epoch_sentence(study.trials, epochs);
  if (!sentence.empty()) text += sentence + "\n\n";
  if (!study.answer.message.empty()) text += study.answer.message + "\n\n";
  return text + epoch_tables(study.trials, epochs);
}

}  // namespace sweetspot::report
