#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workload/training.h"
#include "workload/workload.h"

namespace sweetspot::workload::fake {

// From this batch on a step takes `factor` times as long: above 1 a cache is outgrown, below 1 a
// better algorithm takes over.
struct Cliff {
  std::int64_t from_batch = 1;
  double factor = 1;
};

// How a fake network learns: its error falls with the samples it has seen, of which a batch B needs
// 1 + B/critical_batch times as many as a small one (convergence::BatchTradeOff).
struct Learning {
  double samples_to_99 = 60'000;  // to an accuracy of 99%, in small batches
  double critical_batch = 500;
  double best_accuracy = 1;                // that it ever reaches
  double seed_deviation = 0;               // of the logarithm of the samples, between seeds
  bool tells_noise_scale = true;           // which is the critical batch
  std::optional<double> diverges_above{};  // this learning rate, at its third step
};

// A machine and a model with exact arithmetic, so that the right answer is known.
struct Options {
  std::string name = "fake";
  double fixed_seconds = 0.002, per_sample_seconds = 1e-5;
  std::vector<Cliff> cliffs{};
  std::int64_t padded_to = 1;          // a batch costs as much as the next multiple of this
  double data_wait_share = 0.05;       // of the step; the rest is shared by the other phases
  double load_seconds_per_sample = 0;  // by one worker; what they do not hide is waited for
  double noise_share = 0;              // standard deviation of a step's time
  double slow_step_probability = 0;    // a heavy tail: such a step takes up to ten times as long
  double drift_share_per_step = 0;     // contention: each step of a session is slower by this share
  core::Bytes memory_fixed = 0, memory_per_sample = 0;
  std::int64_t memory_padded_to = 1;  // memory grows in steps of this many samples
  bool predicts_memory = true;
  // Such a batch cannot be opened or, if a step is given, counted from 1, fails there.
  std::optional<std::int64_t> out_of_memory_above{}, out_of_memory_at_step{};
  std::optional<std::int64_t> samples{};
  std::uint64_t seed = 1000;
  std::optional<Learning> learning{};

  bool side_by_side = true;
  // The machine over time, the same for all sessions: slower and faster by up to this share in a
  // sine wave of this period, and slower by a factor while there is a neighbour.
  double drift_share = 0, drift_seconds = 60;
  double neighbour_share = 0, neighbour_seconds = 1;  // of the time, in episodes of at least this
  double neighbour_slowdown = 1.5;
  double run_deviation = 0;  // standard deviation of the logarithm of a session's own factor
};

// For one pass without noise; a session's steps consist of one per micro-batch.
double step_seconds(const Options& options, std::int64_t batch);
double samples_per_second(const Options& options, std::int64_t batch);
core::Bytes memory(const Options& options, std::int64_t batch);
// The slowdown relative to an idle machine at this time.
double slowdown(const Options& options, double at_seconds);

// Virtual time: a step's seconds are computed and nothing sleeps. A session's noise depends only on
// the seed, the batch and the step's number, so that a repeated trial is the same trial, unless
// run_deviation says otherwise. All sessions share one clock, which their steps advance.
class FakeWorkload : public Workload {
 public:
  explicit FakeWorkload(Options options) : options_(std::move(options)) {}
  std::string name() const override { return options_.name; }
  About about() const override {
    return {.samples = options_.samples, .takes_real_time = false, .has_loader = true};
  }
  std::optional<core::Bytes> predict(const trial::Setting& setting, Extent) const override;
  std::unique_ptr<Session> open(const trial::Setting& setting) override;
  Switching switching() const override { return {.in_place = options_.side_by_side}; }
  double seconds_passed() const { return *clock_; }

 private:
  Options options_;
  std::shared_ptr<double> clock_ = std::make_shared<double>(0);  // the sessions may outlive this
  std::uint64_t opened_ = 0;
};

// After this many epochs at this batch: fewer updates have learned less. A seed shifts it by up to
// a twentieth of a percent either way.
double test_accuracy(const trial::Setting& setting, int epochs);
// For a network that learns by a law, after this many samples.
double test_accuracy(const Learning& learning, const trial::Setting& setting, double samples);
// The samples to reach an accuracy that is below the best.
double samples_to(const Learning& learning, const trial::Setting& setting, double accuracy);

// Epochs of a fake machine's steps, in virtual time.
class FakeTraining : public Training {
 public:
  explicit FakeTraining(Options options)
      : learning_(options.learning), workload_(std::move(options)) {}
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override;
  std::optional<std::int64_t> samples() const override { return workload_.about().samples; }
  Trained train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                const Until& until) override;
  bool takes_real_time() const override { return false; }

 private:
  double accuracy(const trial::Setting& setting, int epochs, std::int64_t samples) const;

  std::optional<Learning> learning_;
  FakeWorkload workload_;
};

}  // namespace sweetspot::workload::fake
