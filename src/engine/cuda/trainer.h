#pragma once
#include <map>
#include <optional>
#include <vector>

#include "engine/cuda/parameters.h"
#include "engine/cuda/resident_split.h"
#include "engine/cuda/staging.h"
#include "engine/cuda/steps.h"

namespace sweetspot::engine::cuda {

class CudaTrainer final : public ResidentTrainer {
 public:
  CudaTrainer(const model::Network& network, const Options& options);
  ~CudaTrainer() override { cudaStreamSynchronize(stream_); }

  void prepare(std::int64_t micro_batch) override;
  void release(std::int64_t micro_batch) override;

  StepResult step(const BatchView& batch, std::int64_t micro_batch) override;
  StepResult accumulate(const BatchView& batch, std::int64_t micro_batch) override;
  StepProfile profile(const BatchView& batch, std::int64_t micro_batch) override;
  StepResult evaluate(const BatchView& batch) override;

  std::vector<Variable> variables() const override { return use(), parameters_.variables(); }
  std::vector<Variable> gradients() const override { return use(), parameters_.gradients(); }
  double squared_gradient_norm() const override { return gradient_squared_; }
  void assign(std::span<const Variable> variables) override {
    use(), parameters_.assign(variables);
  }
  void set_learning_rate(double learning_rate) override {
    use(), parameters_.set_learning_rate(learning_rate);
  }
  std::uint32_t steps_done() const override { return steps_done_; }
  void average_statistics(collective::Group& group) override;

  void upload(Split split, const ResidentSamples& samples) override;
  void start(std::span<const std::uint32_t> order, std::int64_t batch,
             std::int64_t micro_batch) override;
  void queue(const BatchView& batch, std::int64_t micro_batch) override;
  StepResult accumulate_resident(std::span<const std::uint32_t> order,
                                 std::int64_t micro_batch) override;
  std::vector<StepResult> finish() override;
  StepResult evaluate_resident() override;

  double loss_scale() const override { return use(), parameters_.read_state().loss_scale; }
  std::int64_t skipped_updates() const override { return use(), parameters_.read_state().skipped; }
  core::MemoryByUse memory() const override;

 private:
  Program compiled(std::int64_t micro_batch, bool training) const;
  void use() const { check(cudaSetDevice(options_.device), "choosing the device"); }
  void wait(const char* doing) const;
  const ResidentSplit& resident(Split split) const;
  Executor& executor_of(std::int64_t micro_batch);
  // Reserves history for this many more steps; starts a new one if none is pending.
  void make_room(std::size_t steps);
  void reset_slot() const;
  // Copies it to the device, and sets the cursor to its begin.
  void set_order(const ResidentSplit& train, std::span<const std::uint32_t> order);
  // Whether the next queued step computes its gradient's norm.
  bool measures_next(std::int64_t batch) const;
  // Waits, and collects the records of the queued steps.
  void collect();

  // `take(executor, first, count)` gives the source of a micro-batch.
  template <class Take>
  StepResult train(const BatchView& batch, std::int64_t micro_batch, bool updates, Take take);
  StepResult train(const BatchView& batch, std::int64_t micro_batch, bool updates);
  // The record of a step over this many samples, which ranks share.
  void read_record(StepResult& result, std::int64_t samples) const;
  // From mark `first` on, the clock has one before and one after each wait for other ranks.
  core::Seconds waited_for_ranks(std::size_t first) const;
  template <class Take>
  StepResult evaluate(std::int64_t samples, Take take);

  model::Network network_;
  Options options_;
  Chip chip_;
  Stream stream_;
  Clock clock_;
  Parameters parameters_;
  std::optional<GradientSums> sums_;  // of one of several ranks
  Steps steps_;
  Staging staging_;
  ResidentSplit splits_[2];
  std::map<std::int64_t, Executor> executors_;
  std::optional<Executor> evaluator_;
  std::uint32_t steps_done_ = 0;
  double gradient_squared_ = 0;  // norm, of the last accumulate()

  Pinned<std::uint32_t> orders_[2];  // alternating, since the copy of the last one may not be done
  Event copied_[2];
  int turn_ = 0;
  std::vector<std::int64_t> queued_;  // samples of each step queued and not yet collected
  std::vector<StepResult> results_;
};

}  // namespace sweetspot::engine::cuda
