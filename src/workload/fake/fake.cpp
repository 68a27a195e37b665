#include "workload/fake/fake.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/random.h"

namespace sweetspot::workload::fake {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

class FakeSession : public Session {
 public:
  FakeSession(const Options& options, const trial::Setting& setting)
      : options_(options),
        setting_(setting),
        random_(options.seed, core::Purpose::synthetic, static_cast<std::uint32_t>(setting.batch)) {
  }

  trial::Step step() override {
    const double number = static_cast<double>(steps_);
    trial::Step step;
    step.samples = setting_.batch;
    const double computing =
        step_seconds(options_, setting_.micro_batch()) * static_cast<double>(setting_.accumulation);
    step.seconds =
        std::max(computing, loading()) * (1 + options_.drift_share_per_step * number) * noise();
    fill_phases(
        step, std::max(options_.data_wait_share, loading() > 0 ? 1 - computing / loading() : 0.0));
    ++steps_;
    return step;
  }

  bool takes_real_time() const override { return false; }

  std::optional<core::Bytes> memory() const override {
    return fake::memory(options_, setting_.micro_batch());
  }

 private:
  double loading() const {
    return options_.load_seconds_per_sample * static_cast<double>(setting_.batch) /
           std::max(1, setting_.workers);
  }

  // Two streams of the session's generator: even indices for noise, odd ones for the tail.
  double noise() const {
    const double normal = 1 + options_.noise_share * random_.normal(2 * steps_);
    const auto words = random_.words(2 * steps_ + 1);
    const double chance = words[0] * 0x1p-32, length = words[1] * 0x1p-32;
    const double tail = chance < options_.slow_step_probability ? 1 + 9 * length : 1;
    return std::max(normal, 0.05) * tail;  // no noise makes time run backwards
  }

  static void fill_phases(trial::Step& step, double data_wait_share) {
    const double rest = step.seconds * (1 - data_wait_share);
    const auto phase = [&](trial::Phase which) -> double& {
      return step.phases[static_cast<std::size_t>(which)];
    };
    phase(trial::Phase::data_wait) = step.seconds * data_wait_share;
    phase(trial::Phase::forward) = rest * 0.35;
    phase(trial::Phase::backward) = rest * 0.55;
    phase(trial::Phase::optimizer) = rest * 0.05;
    phase(trial::Phase::overhead) = rest * 0.05;
  }

  Options options_;
  trial::Setting setting_;
  core::Random random_;
  std::uint64_t steps_ = 0;
};

}  // namespace

double step_seconds(const Options& options, std::int64_t batch) {
  double seconds =
      options.fixed_seconds +
      options.per_sample_seconds * static_cast<double>(round_up(batch, options.padded_to));
  for (const Cliff& cliff : options.cliffs)
    if (batch >= cliff.from_batch) seconds *= cliff.factor;
  return seconds;
}

double samples_per_second(const Options& options, std::int64_t batch) {
  return static_cast<double>(batch) / step_seconds(options, batch);
}

core::Bytes memory(const Options& options, std::int64_t batch) {
  return options.memory_fixed + options.memory_per_sample * static_cast<core::Bytes>(round_up(
                                                                batch, options.memory_padded_to));
}

std::optional<core::Bytes> FakeWorkload::predict(const trial::Setting& setting) const {
  if (!options_.predicts_memory) return std::nullopt;
  return memory(options_, setting.micro_batch());
}

std::unique_ptr<Session> FakeWorkload::open(const trial::Setting& setting) {
  if (options_.out_of_memory_above && setting.micro_batch() > *options_.out_of_memory_above)
    throw std::bad_alloc();
  return std::make_unique<FakeSession>(options_, setting);
}

}  // namespace sweetspot::workload::fake
