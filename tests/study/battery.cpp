#include "study/battery.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "study/memory_store.h"

namespace sweetspot::study {
namespace {

namespace fake = workload::fake;

// Consecutive random numbers of one stream.
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

bool fits(const StudyKey& study_key, std::int64_t batch) {
  return !study_key.limits.memory.limit ||
         fake::memory(study_key.machine, batch) <= *study_key.limits.memory.limit;
}

}  // namespace

StudyKey draw_question(std::uint32_t number) {
  Draw draw(number);
  StudyKey study_key;
  fake::Options& machine = study_key.machine;
  machine.per_sample_seconds = draw.log_uniform(2e-6, 1e-3);
  machine.fixed_seconds = machine.per_sample_seconds * draw.log_uniform(0.3, 300);
  study_key.limits.max = draw.whole(64, 65536);
  const double cliffs = draw.uniform(0, 1);
  for (int i = 0; i < (cliffs < 0.3 ? 0 : cliffs < 0.7 ? 1 : 2); ++i) {
    const bool slower = draw.chance(0.65);
    const double share = draw.uniform(0.05, 0.4);  // of throughput, lost or gained
    machine.cliffs.push_back({draw.whole(4, 8192), slower ? 1 / (1 - share) : 1 - share / 1.4});
  }
  if (draw.chance(0.4)) machine.padded_to = std::int64_t{8} << draw.whole(1, 4) / 2;
  machine.noise_share = draw.log_uniform(0.002, 0.1);
  if (draw.chance(0.3)) machine.slow_step_probability = draw.uniform(0, 0.03);
  machine.side_by_side = draw.chance(0.7);
  machine.drift_share = draw.uniform(0, 0.05), machine.drift_seconds = draw.log_uniform(5, 60);
  machine.neighbour_share = draw.uniform(0, 0.4);
  machine.neighbour_seconds = draw.log_uniform(0.3, 3);
  machine.neighbour_slowdown = draw.uniform(1.03, 1.5);
  machine.run_deviation = draw.uniform(0, machine.side_by_side ? 0.005 : 0.02);
  machine.seed = number;
  if (draw.chance(0.6)) {
    machine.memory_per_sample = static_cast<core::Bytes>(draw.log_uniform(1e4, 1e7));
    machine.memory_fixed = static_cast<core::Bytes>(draw.log_uniform(1e6, 1e9));
    machine.predicts_memory = draw.chance(0.5);
    study_key.linear_memory = draw.chance(0.8);
    if (!study_key.linear_memory) machine.memory_padded_to = 64;
    study_key.limits.memory.limit = fake::memory(machine, draw.whole(16, 8192));
  }
  return study_key;
}

Verdict tune_for(const StudyKey& study_key) {
  Verdict verdict;
  workload::fake::FakeWorkload workload(study_key.machine);
  tests::Kept kept;
  tests::MemoryWriter writer(kept);
  tuning::TuneOptions options;
  options.limits = study_key.limits;
  Observer nobody;
  const std::atomic<int> stop{0};
  const tuning::TuneResult result = tune(workload, writer, options, nobody, stop);
  if (result.recommendation()) verdict.recommendation = *result.recommendation();
  verdict.seconds = workload.seconds_passed();
  for (const trial::Trial& trial : result.trials) {
    verdict.above_cap |= !fits(study_key, trial.setting.batch);
    ++verdict.batches;
  }
  // The truth, by trying every batch that fits and whose step takes less than a second.
  const auto speed = [&](std::int64_t batch) {
    return fake::samples_per_second(study_key.machine, batch);
  };
  double best = 0;
  for (std::int64_t batch = 1; batch <= study_key.limits.max && fits(study_key, batch) &&
                               fake::step_seconds(study_key.machine, batch) <= 1;
       ++batch)
    if (speed(batch) > best) best = speed(batch), verdict.true_best = batch;
  while (speed(++verdict.true_knee) < (1 - study_key.limits.tolerance) * best) {
  }
  if (!verdict.recommendation) return verdict;
  const std::int64_t answer = verdict.recommendation->batch;
  verdict.share_of_best = speed(answer) / best;
  for (std::int64_t batch = 1; 2 * batch <= answer; ++batch)
    verdict.smaller_share = std::max(verdict.smaller_share, speed(batch) / best);
  return verdict;
}

}  // namespace sweetspot::study
