#include "search/battery.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace sweetspot::search {
namespace {

namespace fake = workload::fake;

// Draws in a row from one stream.
class Draw {
 public:
  explicit Draw(std::uint32_t number) : random_(3, core::Purpose::synthetic, number) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_.uniform(next_++));
  }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  std::int64_t whole(double low, double high) {
    return static_cast<std::int64_t>(log_uniform(low, high));
  }

 private:
  core::Random random_;
  std::uint64_t next_ = 0;
};

bool fits(const Question& question, std::int64_t batch) {
  return !question.limits.memory_limit ||
         fake::memory(question.machine, batch) <= *question.limits.memory_limit;
}

}  // namespace

Question draw_question(std::uint32_t number) {
  Draw draw(number);
  Question question;
  fake::Options& machine = question.machine;
  machine.per_sample_seconds = draw.log_uniform(2e-6, 1e-3);
  machine.fixed_seconds = machine.per_sample_seconds * draw.log_uniform(0.3, 300);
  question.limits.max = draw.whole(64, 65536);
  const double cliffs = draw.uniform(0, 1);
  for (int i = 0; i < (cliffs < 0.3 ? 0 : cliffs < 0.7 ? 1 : 2); ++i) {
    const bool slower = draw.chance(0.65);
    const double share = draw.uniform(0.05, 0.4);  // of throughput, lost or won
    machine.cliffs.push_back({draw.whole(4, 8192), slower ? 1 / (1 - share) : 1 - share / 1.4});
  }
  if (draw.chance(0.4)) machine.padded_to = std::int64_t{8} << draw.whole(1, 4) / 2;
  question.noise_share = draw.uniform(0.005, 0.1);
  question.heavy_tails = draw.chance(0.3);
  if (draw.chance(0.6)) {
    machine.memory_per_sample = static_cast<core::Bytes>(draw.log_uniform(1e4, 1e7));
    machine.memory_fixed = static_cast<core::Bytes>(draw.log_uniform(1e6, 1e9));
    machine.predicts_memory = draw.chance(0.5);
    question.linear_memory = draw.chance(0.8);
    if (!question.linear_memory) machine.memory_padded_to = 64;
    question.limits.memory_limit = fake::memory(machine, draw.whole(16, 8192));
  }
  return question;
}

trial::Trial run_trial(const Question& question, std::int64_t batch, std::uint32_t number) {
  trial::Trial trial;
  trial.setting.batch = batch;
  if (!fits(question, batch)) {
    trial.outcome = trial::Outcome::out_of_memory;
    return trial;
  }
  const core::Random random(static_cast<std::uint64_t>(batch), core::Purpose::synthetic, number);
  double share = question.noise_share / 1.96 * random.normal(0);
  // A disturbed trial is slower than its interval says.
  if (question.heavy_tails && random.uniform(1) < 0.1f)
    share -= question.noise_share * (1 + 2 * static_cast<double>(random.uniform(2)));
  const double speed = fake::samples_per_second(question.machine, batch) * std::exp(share);
  trial.samples_per_second = {speed, speed * std::exp(-question.noise_share),
                              speed * std::exp(question.noise_share)};
  trial.memory_measured = fake::memory(question.machine, batch);
  return trial;
}

Predict predict_of(const Question& question) {
  if (!question.machine.predicts_memory) return {};
  return [&question](std::int64_t batch) -> std::optional<core::Bytes> {
    return fake::memory(question.machine, batch);
  };
}

Result search_for(const Question& question) {
  Result result;
  const Predict predict = predict_of(question);
  for (std::uint32_t number = 0; number < 100; ++number) {
    const Next asked = next(result.trials, question.limits, predict);
    if (!asked.batch) break;
    result.above_cap |= !fits(question, *asked.batch);
    result.trials.push_back(run_trial(question, *asked.batch, number));
  }
  result.choice = choose(result.trials, question.limits, predict);
  // The truth, by trying every batch that fits.
  const auto speed = [&](std::int64_t batch) {
    return fake::samples_per_second(question.machine, batch);
  };
  double best = 0;
  for (std::int64_t batch = 1; batch <= question.limits.max && fits(question, batch); ++batch)
    if (speed(batch) > best) best = speed(batch), result.true_best = batch;
  while (speed(++result.true_knee) < (1 - question.limits.tolerance) * best) {
  }
  if (!result.choice) return result;
  result.share_of_best = speed(result.choice->batch) / best;
  for (std::int64_t batch = 1; 4 * batch <= 3 * result.choice->batch; ++batch)
    result.smaller_share = std::max(result.smaller_share, speed(batch) / best);
  return result;
}

}  // namespace sweetspot::search
