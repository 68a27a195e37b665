#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace sweetspot::study {

// A machine recorded by bench_rounds: log seconds per weight update of several batches, in rounds.
// Interpolated linearly over octaves between recorded batches.
class Recording {
 public:
  explicit Recording(const std::filesystem::path& file);

  const std::string& machine() const { return machine_; }
  const std::string& device() const { return device_; }
  const std::string& model() const { return model_; }
  const std::vector<std::int64_t>& batches() const { return batches_; }
  std::size_t twin() const { return twin_; }  // the batch that was entered twice
  std::int64_t rounds() const { return static_cast<std::int64_t>(table_.size()); }
  std::int64_t smallest() const { return batches_.front(); }
  std::int64_t largest() const { return batches_.back(); }

  double seconds(std::int64_t batch, std::int64_t round) const;
  // Whether the machine was slowed for this batch or the next larger recorded one.
  bool slowed(std::int64_t batch, std::int64_t round) const;
  // Of the batch that was entered twice: its two columns, by round.
  std::vector<std::pair<double, double>> twins() const;
  // Over the whole recording, by the estimator that tunes use over their few rounds.
  double true_speed(double batch) const;  // samples per second
  double true_best() const;
  // The smallest batch within the tolerance of the best, interpolated between recorded ones.
  double true_knee(double tolerance) const;

 private:
  double interpolated(const std::vector<double>& column_values, double batch) const;

  std::string machine_, device_, model_;
  std::vector<std::int64_t> batches_;      // ascending
  std::size_t twin_ = 0;                   // the batch of the last column
  std::vector<std::vector<float>> table_;  // by round: each batch, and the twin
  std::vector<std::uint32_t> slowed_;      // by round: a bit for each batch
  std::vector<double> calm_;               // log seconds of each batch
};

// Trains on it in virtual time, starting at some round and wrapping around. A round ends when a
// batch is switched to that was already in it.
class ReplayWorkload : public workload::Workload {
 public:
  ReplayWorkload(const Recording& recording, std::int64_t first_round)
      : recording_(recording), round_(std::make_shared<Round>(Round{first_round, {}, 0})) {}
  std::string name() const override { return recording_.model(); }
  std::string device() const override { return recording_.device(); }
  workload::Switching switching() const override { return {.in_place = true}; }
  workload::About about() const override { return {.takes_real_time = false}; }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override;

 private:
  struct Round {
    std::int64_t number = 0;
    std::vector<std::int64_t> done;  // batches
    std::int64_t running = 0;        // the batch
  };
  class ReplaySession;
  const Recording& recording_;
  std::shared_ptr<Round> round_;
};

}  // namespace sweetspot::study
