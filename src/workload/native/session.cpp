#include "workload/native/session.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "workload/native/feed.h"
#include "workload/native/resident.h"
#include "workload/steps_per_call.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// What the sessions of a native workload have in common: while it is open, each holds the plan of
// its micro-batch in a trainer that it may share. What it tells of memory is what it would take by
// itself: the trainer with that plan, and what it took when it was made and at its own steps.
class NativeSession : public Session {
 public:
  ~NativeSession() override { shared_->release(micro_batch_); }
  trial::Step step(const Until&) final;
  Seen seen() const final;

 protected:
  NativeSession(std::shared_ptr<SharedTrainer> shared, const Options& options);
  // The last line of a constructor: what was taken since this part was made is the session's own.
  void count_memory();
  virtual trial::Step run_step() = 0;

  SharedTrainer& shared() const { return *shared_; }
  std::int64_t micro_batch() const { return micro_batch_; }

 private:
  std::shared_ptr<SharedTrainer> shared_;
  std::int64_t micro_batch_;
  core::MemoryByUse held_before_, own_;
};

NativeSession::NativeSession(std::shared_ptr<SharedTrainer> shared, const Options& options)
    : shared_(std::move(shared)), micro_batch_(options.micro_batch()) {
  shared_->acquire(micro_batch_);
  held_before_ = shared_->held();
}

void NativeSession::count_memory() {
  own_ += shared_->held();
  own_ -= held_before_;
}

trial::Step NativeSession::step(const Until&) {
  held_before_ = shared_->held();
  const trial::Step step = run_step();
  count_memory();
  return step;
}

Seen NativeSession::seen() const {
  Seen seen;
  core::MemoryByUse memory = shared_->memory(micro_batch_);
  seen.memory_by_use = memory += own_;
  seen.memory = memory.total();
  return seen;
}

// Divides the rest of a step's time, which is not waiting for data, into its phases.
void divide(trial::Step& step, double data_wait, const engine::StepResult& work) {
  const auto set = [&](trial::Phase which, double seconds) {
    step.phases[static_cast<std::size_t>(which)] = seconds;
  };
  set(trial::Phase::data_wait, data_wait);
  set(trial::Phase::forward, work.forward.count());
  set(trial::Phase::backward, work.backward.count());
  set(trial::Phase::optimizer, work.update.count());
  const core::Seconds working = work.forward + work.backward + work.update;
  set(trial::Phase::overhead, std::max(0.0, step.seconds - data_wait - working.count()));
}

// Of a large batch a part tells the shares as well, and takes less to convert.
constexpr core::Bytes most_bytes = 64 * core::MiB;

// Where steps follow each other without a clock between the phases, they share the time as they do
// in a step that is launched by itself.
class PhaseShares {
 public:
  PhaseShares(const Run& run, const Options& options) : run_(run), options_(options) {}
  // Before the first of these steps, not when the session is opened: another rank may lack the
  // memory for it, and steps are made by all.
  void sample_once(engine::Trainer& trainer);
  void divide(trial::Step& step, double data_wait) const;

 private:
  const Run& run_;
  const Options options_;
  std::optional<engine::StepResult> sample_;
};

void PhaseShares::sample_once(engine::Trainer& trainer) {
  if (sample_) return;
  const data::Samples& samples = run_.dataset.train;
  const auto size = static_cast<std::size_t>(samples.sample_size());
  const std::size_t count = std::clamp<std::size_t>(
      most_bytes / (size * sizeof(float)), 1, static_cast<std::size_t>(options_.micro_batch()));
  std::vector<float> inputs(count * size);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] =
        samples.bytes.empty() ? samples.floats[i] : static_cast<float>(samples.bytes[i]) / 255;
  const engine::BatchView batch{static_cast<std::int64_t>(count), inputs.data(),
                                samples.labels.empty() ? nullptr : samples.labels.data(),
                                samples.targets.empty() ? nullptr : samples.targets.data()};
  trainer.accumulate(batch, options_.micro_batch());  // warms up
  sample_ = trainer.step(batch, options_.micro_batch());
}

void PhaseShares::divide(trial::Step& step, double data_wait) const {
  const auto& [forward, backward, update] =
      std::tuple(sample_->forward, sample_->backward, sample_->update);
  const double whole = (forward + backward + update).count();
  const double scale = whole > 0 ? (step.seconds - data_wait) / whole : 0;
  native::divide(step, data_wait,
                 {0, 0, scale * forward, scale * backward, scale * update, {}, {}});
}

// Batches come from the pipeline, and each is a step of the CPU.
class CpuSession final : public NativeSession {
 public:
  CpuSession(const Run& run, const Options& options, std::shared_ptr<SharedTrainer> shared)
      : NativeSession(std::move(shared), options), feed_(run.dataset.train, options.pipeline) {
    count_memory();
  }

 private:
  trial::Step run_step() override {
    const auto start = Clock::now();
    const data::Batch batch = feed_.next();
    const auto loaded = Clock::now();
    const engine::StepResult result = shared().trainer().step(view(batch), micro_batch());
    const auto end = Clock::now();

    trial::Step step;
    step.seconds = core::Seconds(end - start).count();
    step.samples = batch.whole;  // of all ranks
    divide(step, core::Seconds(loaded - start).count(), result);
    return step;
  }

  Feed feed_;
};

// The last batch of a step has nothing behind it to hide its copy: few of them per second.
constexpr double least_fed_seconds = 0.02;

// Batches come from the pipeline, and are copied to the GPU while it computes the previous one.
class FedGpuSession final : public NativeSession {
 public:
  FedGpuSession(const Run& run, const Options& options, std::shared_ptr<SharedTrainer> shared)
      : NativeSession(std::move(shared), options),
        trainer_(this->shared().gpu_trainer()),
        batch_(options.batch()),
        feed_(run.dataset.train, options.pipeline),
        ranks_(options.ranks),
        shares_(run, options),
        steps_per_call_(least_fed_seconds) {
    count_memory();
  }

 private:
  trial::Step run_step() override {
    shares_.sample_once(trainer_);
    trial::Step step;
    step.updates = of_first_rank(ranks_, steps_per_call_.steps());
    step.samples = step.updates * batch_;
    core::Seconds waited{0};
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < step.updates; ++i) {
      const auto before = Clock::now();
      const data::Batch batch = feed_.next();
      waited += Clock::now() - before;
      trainer_.queue(view(batch), micro_batch());
    }
    trainer_.finish();
    step.seconds = core::Seconds(Clock::now() - start).count();
    shares_.divide(step, waited.count());
    steps_per_call_.took(step.seconds);
    return step;
  }

  engine::cuda::ResidentTrainer& trainer_;
  std::int64_t batch_;
  Feed feed_;
  const RankOptions ranks_;
  PhaseShares shares_;
  StepsPerCall steps_per_call_;
};

// Starting and collecting steps takes the host some 30 µs: 0.3% of this.
constexpr double least_resident_seconds = 0.01;

// The data set is on the GPU.
class ResidentSession final : public NativeSession {
 public:
  ResidentSession(const Run& run, const Options& options, std::shared_ptr<SharedTrainer> shared)
      : NativeSession(std::move(shared), options),
        trainer_(this->shared().gpu_trainer()),
        batch_(options.batch()),
        steps_in_epoch_(static_cast<std::int64_t>(run.dataset.train.count) / batch_),
        orders_(run.dataset.train.count, options.pipeline),
        ranks_(options.ranks),
        shares_(run, options),
        steps_per_call_(least_resident_seconds) {
    count_memory();
  }

 private:
  trial::Step run_step() override {
    shares_.sample_once(trainer_);
    trial::Step step;
    step.updates = of_first_rank(ranks_, updates());
    step.samples = step.updates * batch_;
    const auto count = static_cast<std::size_t>(step.samples);
    const auto start = Clock::now();
    fill(count);
    const auto filled = Clock::now();
    trainer_.start(std::span(ahead_).first(count), batch_, micro_batch());
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(count));
    fill(count);  // while the device works
    trainer_.finish();
    step.seconds = core::Seconds(Clock::now() - start).count();
    shares_.divide(step, core::Seconds(filled - start).count());
    if (step.updates >= steps_per_call_.steps()) steps_per_call_.took(step.seconds);
    return step;
  }

  // As many as the pace asks for, in whole graphs, and no more than an epoch has.
  std::int64_t updates() const {
    return std::min(whole_graphs(steps_per_call_.steps()), steps_in_epoch_);
  }

  // Samples to come, epoch after epoch, each without its last, smaller batch.
  void fill(std::size_t count) {
    const auto in_epoch = static_cast<std::size_t>(steps_in_epoch_ * batch_);
    while (ahead_.size() < count) {
      const auto order = orders_.at(epoch_++).first(in_epoch);
      ahead_.insert(ahead_.end(), order.begin(), order.end());
    }
  }

  engine::cuda::ResidentTrainer& trainer_;
  std::int64_t batch_, steps_in_epoch_;
  Orders orders_;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> ahead_;
  const RankOptions ranks_;
  PhaseShares shares_;
  StepsPerCall steps_per_call_;
};

}  // namespace

std::unique_ptr<Session> Sessions::open(const Run& run, const Options& options) {
  std::weak_ptr<SharedTrainer>& trainer = trainers_[{options.precision, options.seed}];
  std::shared_ptr<SharedTrainer> shared = trainer.lock();
  if (!shared) trainer = shared = std::make_shared<SharedTrainer>(run, options);
  if (!options.device.gpu) return std::make_unique<CpuSession>(run, options, std::move(shared));
  if (is_resident(options, run.dataset))
    return std::make_unique<ResidentSession>(run, options, std::move(shared));
  return std::make_unique<FedGpuSession>(run, options, std::move(shared));
}

}  // namespace sweetspot::workload::native
