#include "workload/fake/fake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace sweetspot::workload::fake {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Random streams besides the sessions' own, which is 0.
constexpr std::uint32_t runs_stream = 1, neighbours_stream = 2;

bool is_too_large(const Options& options, const trial::Setting& setting) {
  return options.out_of_memory_above && setting.micro_batch() > *options.out_of_memory_above;
}

// Log-normal with median 1.
double run_factor(const Options& options, std::int64_t batch, std::uint64_t opened_before) {
  const core::Random random(options.seed, core::Purpose::synthetic,
                            static_cast<std::uint32_t>(batch), runs_stream);
  return std::exp(options.run_deviation * random.normal(opened_before));
}

// Present or not for a whole cell of time, each cell independently: a random telegraph signal.
bool has_neighbour(const Options& options, double at_seconds) {
  const core::Random random(options.seed, core::Purpose::synthetic, 0, neighbours_stream);
  const auto cell = static_cast<std::uint64_t>(at_seconds / options.neighbour_seconds);
  return random.uniform(cell) < options.neighbour_share;
}

class FakeSession : public Session {
 public:
  FakeSession(const Options& options, const trial::Setting& setting, std::uint64_t opened_before,
              std::shared_ptr<double> clock)
      : options_(options),
        setting_(setting),
        random_(options.seed, core::Purpose::synthetic, static_cast<std::uint32_t>(setting.batch)),
        first_draw_(opened_before << 32),
        run_factor_(run_factor(options, setting.batch, opened_before)),
        clock_(std::move(clock)) {}

  trial::Step step(const Until&) override {
    if (is_too_large(options_, setting_) && steps_ + 1 >= *options_.out_of_memory_at_step)
      throw core::OutOfMemory(
          fmt::format("the fake machine has no memory for a batch of {}; use a smaller one",
                      setting_.micro_batch()));
    const double number = static_cast<double>(steps_);
    trial::Step step;
    step.samples = setting_.batch;
    const double computing =
        step_seconds(options_, setting_.micro_batch()) * static_cast<double>(setting_.accumulation);
    step.seconds = std::max(computing, loading()) * (1 + options_.drift_share_per_step * number) *
                   noise() * run_factor_ * slowdown(options_, *clock_);
    *clock_ += step.seconds;
    fill_phases(
        step, std::max(options_.data_wait_share, loading() > 0 ? 1 - computing / loading() : 0.0));
    ++steps_;
    return step;
  }

  Seen seen() const override {
    Seen seen;
    seen.memory = fake::memory(options_, setting_.micro_batch());
    return seen;
  }

 private:
  double loading() const {
    return options_.load_seconds_per_sample * static_cast<double>(setting_.batch) /
           std::max(1, setting_.configuration.workers);
  }

  // Two streams of the batch's generator: even indices for noise, odd ones for the tail. A session
  // continues where none was before: after reopening, other steps are slow.
  double noise() const {
    const auto number = first_draw_ + static_cast<std::uint64_t>(steps_);
    const double normal = 1 + options_.noise_share * random_.normal(2 * number);
    const auto words = random_.words(2 * number + 1);
    const double chance = words[0] * 0x1p-32, length = words[1] * 0x1p-32;
    const double tail = chance < options_.slow_step_probability ? 1 + 9 * length : 1;
    return std::max(normal, 0.05) * tail;  // noise must not make time run backwards
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
  std::uint64_t first_draw_;
  double run_factor_;
  std::shared_ptr<double> clock_;
  std::int64_t steps_ = 0;
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

double slowdown(const Options& options, double at_seconds) {
  const double phase = 2 * std::numbers::pi * at_seconds / options.drift_seconds;
  const double drift = 1 + options.drift_share * std::sin(phase);
  return has_neighbour(options, at_seconds) ? drift * options.neighbour_slowdown : drift;
}

std::optional<core::Bytes> FakeWorkload::predict(const trial::Setting& setting, Extent) const {
  if (!options_.predicts_memory) return std::nullopt;
  return memory(options_, setting.micro_batch());
}

std::unique_ptr<Session> FakeWorkload::open(const trial::Setting& setting) {
  if (is_too_large(options_, setting) && !options_.out_of_memory_at_step) throw std::bad_alloc();
  return std::make_unique<FakeSession>(options_, setting, opened_++, clock_);
}

namespace {

constexpr std::int64_t usual_samples = 60'000;
constexpr double best_accuracy = 0.992, lost_at_thousand = 0.03, most_luck = 0.0005;
constexpr double first_error = 0.1, error_of_99 = 0.01;

}  // namespace

double test_accuracy(const trial::Setting& setting, int epochs) {
  const core::Random random(setting.seed, core::Purpose::synthetic,
                            static_cast<std::uint32_t>(setting.batch));
  const double luck = most_luck * (2 * random.uniform(static_cast<std::uint64_t>(epochs)) - 1);
  const double lost = lost_at_thousand * static_cast<double>(setting.batch) / 1000;
  return best_accuracy - lost / (epochs * epochs) + luck;
}

// The error is a tenth at the start and a hundredth after as many samples as 99% takes.
double samples_to(const Learning& learning, const trial::Setting& setting, double accuracy) {
  constexpr std::uint32_t luck_stream = 3;
  const core::Random random(setting.seed, core::Purpose::synthetic, 0, luck_stream);
  const double wanted = learning.samples_to_99 *
                        (1 + static_cast<double>(setting.batch) / learning.critical_batch) *
                        std::exp(learning.seed_deviation * random.normal(0));
  return wanted * (first_error / (1 - accuracy) - 1) / (first_error / error_of_99 - 1);
}

double test_accuracy(const Learning& learning, const trial::Setting& setting, double samples) {
  const double progress = samples / samples_to(learning, setting, 1 - error_of_99);
  return std::min(learning.best_accuracy,
                  1 - first_error / (1 + (first_error / error_of_99 - 1) * progress));
}

std::optional<core::Bytes> FakeTraining::predict(const trial::Setting& setting) const {
  return workload_.predict(setting, Extent::whole_run);
}

double FakeTraining::accuracy(const trial::Setting& setting, int epochs,
                              std::int64_t samples) const {
  return learning_ ? test_accuracy(*learning_, setting, static_cast<double>(samples))
                   : test_accuracy(setting, epochs);
}

Trained FakeTraining::train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                            const Until& until) {
  constexpr std::int64_t diverging_step = 3;
  const std::unique_ptr<Session> session = workload_.open(setting);
  const std::int64_t samples = workload_.about().samples.value_or(usual_samples);
  Trained trained;
  trial::Evaluation at;
  const auto evaluate = [&](int number) {
    at.steps = trained.steps;
    at.test_accuracy = accuracy(setting, number, at.samples);
    if (learning_ && learning_->tells_noise_scale) at.noise_scale = learning_->critical_batch;
    return observer.evaluated(at);
  };
  for (int number = 1; number <= epochs; ++number) {
    trial::Epoch epoch;
    epoch.epoch = number;
    for (std::int64_t seen = 0; seen < samples;) {
      const double seconds = session->step().seconds;
      const std::int64_t taken = std::min(setting.batch, samples - seen);
      epoch.train_seconds += seconds, at.train_seconds += seconds;
      seen += taken, at.samples += taken, ++trained.steps;
      if (learning_ && learning_->diverges_above && trained.steps == diverging_step &&
          setting.learning_rate > *learning_->diverges_above) {
        trained.outcome = trial::Outcome::crashed;
        trained.note = "the loss became NaN at step 3";
        return trained;
      }
      const auto due = observer.evaluate_after();
      if (!due || at.samples < *due || seen == samples) continue;
      if (!evaluate(number)) {
        trained.samples = at.samples;
        return trained;
      }
    }
    observer.progress({number, 1, static_cast<double>(samples) / epoch.train_seconds});
    if (until.stop != 0) {
      trained.outcome = trial::Outcome::cancelled;
      return trained;
    }
    trained.samples += samples;
    const bool goes_on = evaluate(number);
    epoch.test_accuracy = at.test_accuracy;
    observer.epoch(epoch);
    if (!goes_on) break;
  }
  trained.memory_measured = session->seen().memory;
  return trained;
}

}  // namespace sweetspot::workload::fake
