#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/end_points.h"
#include "report/epochs.h"
#include "report/forms.h"
#include "report/over_seeds.h"
#include "stats/moments.h"

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

Json epoch_json(const Answer& answer, std::span<const std::int64_t> epochs) {
  Json result = json(answer);
  result["cells"] = Json::array();
  for (const EpochCell& c : epoch_cells(answer.trials, epochs))
    result["cells"].push_back(
        {{"batch", c.setting.batch},
         {"accumulation", c.setting.accumulation},
         {"workers", c.setting.workers},
         {"precision", c.setting.precision},
         {"epochs", c.epochs},
         {"trials", c.train_seconds.size()},
         {"train_seconds", estimate(c.train_seconds, mean_seconds(c.train_seconds))},
         {"test_accuracy", estimate(c.test_accuracy, mean_share(c.test_accuracy))}});
  result["end_points"] = end_point_json(answer.trials);
  return result;
}

// Words of ours only: nothing here that a spreadsheet could take for a formula.
std::string epoch_csv(std::span<const trial::Trial> trials) {
  std::string text =
      "trial,device,batch,accumulation,precision,workers,learning_rate,seed,outcome,contended,"
      "epoch,epoch_seconds,train_seconds,train_loss,train_accuracy,test_loss,test_accuracy,noise_"
      "scale_samples\r\n";
  std::size_t number = 0;
  for (const trial::Trial& t : trials) {
    const trial::Setting& s = t.setting;
    const std::string head =
        fmt::format("{},{},{},{},{},{},{},{},{},{}", ++number, t.device, s.batch, s.accumulation,
                    s.precision, s.workers, s.learning_rate, s.seed, name(t.outcome),
                    t.contention.contended ? "true" : "false");
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

}  // namespace sweetspot::report
