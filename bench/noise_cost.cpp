// What measuring the noise scale adds to the steps of the CPU engine. A shared machine drifts by
// more than that from one second to the next, so a trainer that measures and one that does not
// alternate step by step, in random order, and only neighbours are compared. Two trainers differ by
// 10% and more because of their memory layout, so each of many short rounds creates both again. The
// losses must be bitwise the same. Arguments: total seconds (80), and MODEL:BATCH of each row.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/number.h"
#include "engine/gradient_norms.h"
#include "median_interval.h"
#include "probe/proc/host.h"
#include "workload/native/feed.h"
#include "workload/native/train.h"

namespace sweetspot::bench {
namespace {

namespace native = workload::native;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t warm_up_steps = 3, short_round_steps = 12;
constexpr std::size_t rounds_to_small_norm = 8;  // one in this many

double since(Clock::time_point start) { return core::Seconds(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// For one pair of trainers, as shares of a step.
struct Round {
  double big = 0;               // the extra time of a step for the norm of its batch
  std::optional<double> small;  // the time of the small norm
  double step_seconds = 0;
};

class Comparison {
 public:
  Comparison(const std::string& model, std::int64_t batch) {
    options_.model = model;
    options_.pipeline.batch = batch;
    options_.data = fmt::format("synthetic:{}", batch);
    options_.evaluate = false;
    options_.threads = probe::proc::usable_cores();
    run_ = native::open(options_, [](std::string_view) {});
    between_ = engine::steps_between_norms(batch, engine::small_part(batch, batch));
  }
  std::int64_t steps_between_norms() const { return between_; }

  // Steps after the warm-up, or to the first small norm, which comes late.
  Round round(bool to_small_norm) {
    native::Feed feed(run_.dataset.train, options_.pipeline);
    const engine::BatchView batch = native::view(feed.next());
    std::unique_ptr<engine::Trainer> trainers[2];
    for (const bool measured : {false, true}) {
      options_.noise_scale = measured;
      trainers[measured] = native::make_trainer(run_, options_);
    }
    std::vector<double> plain, big, small;
    const std::int64_t last_step = to_small_norm
                                       ? std::max<std::int64_t>(between_ / 2, 2 * warm_up_steps)
                                       : warm_up_steps + short_round_steps;
    for (std::int64_t i = 0; i <= last_step; ++i) {
      const bool first = random_() % 2 == 0;
      double seconds[2], loss[2];
      for (const bool measured : {first, !first}) {
        const auto start = Clock::now();
        loss[measured] = trainers[measured]->step(batch, batch.count).loss;
        seconds[measured] = since(start);
      }
      if (loss[0] != loss[1]) throw std::runtime_error(options_.model + ": the losses differ");
      const bool has_small = i % between_ == between_ / 2;  // as engine::NormWindow has it
      if (has_small) small.push_back(seconds[1] / seconds[0] - 1);
      if (has_small || i < warm_up_steps) continue;
      plain.push_back(seconds[0]), big.push_back(seconds[1] / seconds[0] - 1);
    }
    Round round{median(big), std::nullopt, median(plain)};
    if (!small.empty()) round.small = median(small) - round.big;
    return round;
  }

 private:
  native::Options options_;
  native::Run run_;
  std::int64_t between_ = 1;
  std::mt19937 random_{1};
};

std::string percent(const std::vector<double>& shares) {
  const auto found = median_interval(shares);
  return fmt::format("{:.2f}% ({:.2f} to {:.2f})", 100 * found->mean, 100 * found->low,
                     100 * found->high);
}

void compare(const std::string& row, double seconds) {
  const std::size_t colon = row.find(':');
  const std::string model = row.substr(0, colon);
  const std::int64_t batch = core::parse_whole(row.substr(colon + 1), "the batch", 2, 1 << 20);
  Comparison comparison(model, batch);
  const auto between = static_cast<double>(comparison.steps_between_norms());
  std::vector<double> big, small, step;
  for (const auto start = Clock::now(); big.size() < 6 || since(start) < seconds;) {
    const Round round = comparison.round(big.size() % rounds_to_small_norm == 0);
    big.push_back(round.big), step.push_back(round.step_seconds);
    if (round.small) small.push_back(*round.small);
  }
  std::vector<double> all = big;
  for (double& share : all) share += median(small) / between;
  fmt::print("| {} | {} | {:.2f} | {} | {} | {:.0f}% of one in {} | {} |\n", model, batch,
             1e3 * median(step), percent(all), percent(big), 100 * median(small), between,
             all.size());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 80;
  std::vector<std::string> rows(argv + std::min(argc, 2), argv + argc);
  if (rows.empty())
    rows = {"paper-cnn:16",  "paper-cnn:128",  "paper-cnn:1024", "small-cnn:16",
            "small-cnn:128", "small-cnn:1024", "rgb64-cnn:16"};
  fmt::print("| network | batch | step, ms | cost (95%) | big norms | small norms | rounds |\n");
  fmt::print("|:--|--:|--:|--:|--:|--:|--:|\n");
  for (const std::string& row : rows) compare(row, seconds / static_cast<double>(rows.size()));
  return 0;
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  return sweetspot::bench::run(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_noise_cost: {}\n", error.what());
  return 1;
}
