#include "workload/native/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "workload/native/feed.h"
#include "workload/native/memory.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(core::Seconds duration) { return duration.count(); }

class NativeSession final : public Session {
 public:
  NativeSession(const Run& run, const Options& options)
      : held_before_(core::live_buffers().total()),
        micro_batch_(options.micro_batch()),
        trainer_(engine::cpu::make_trainer(run.network, trainer_options(options, run.network))),
        feed_(run.dataset.train, options.pipeline) {
    trainer_->prepare(micro_batch_);
  }

  trial::Step step() override {
    const auto start = Clock::now();
    const data::Batch batch = feed_.next();
    const auto loaded = Clock::now();
    const engine::StepResult result = trainer_->step(view(batch), micro_batch_);
    const auto end = Clock::now();

    trial::Step step;
    step.seconds = seconds(end - start);
    step.samples = batch.count;
    const auto phase = [&](trial::Phase which) -> double& {
      return step.phases[static_cast<std::size_t>(which)];
    };
    phase(trial::Phase::data_wait) = seconds(loaded - start);
    phase(trial::Phase::forward) = seconds(result.forward);
    phase(trial::Phase::backward) = seconds(result.backward);
    phase(trial::Phase::optimizer) = seconds(result.update);
    phase(trial::Phase::overhead) = std::max(
        0.0, seconds(end - loaded) - seconds(result.forward + result.backward + result.update));
    return step;
  }

  std::optional<core::Bytes> memory() const override {
    return core::live_buffers().total() - held_before_;
  }

 private:
  core::Bytes held_before_;
  std::int64_t micro_batch_;
  std::unique_ptr<engine::Trainer> trainer_;
  Feed feed_;
};

class NativeWorkload final : public Workload {
 public:
  explicit NativeWorkload(Run run) : run_(std::move(run)) {}

  std::string name() const override {
    return fmt::format("{} on {}", core::printable(run_.network.name),
                       core::printable(run_.dataset.name));
  }
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override {
    return native::predict(run_.network, options_at(run_, setting), run_.dataset).total();
  }
  std::optional<std::int64_t> samples() const override {
    return static_cast<std::int64_t>(run_.dataset.train.count);
  }
  bool has_loader() const override { return true; }
  std::unique_ptr<Session> open(const trial::Setting& setting) override {
    return open_session(run_, setting);
  }

 private:
  const Run run_;
};

}  // namespace

std::unique_ptr<Workload> make_workload(Run run) {
  return std::make_unique<NativeWorkload>(std::move(run));
}

std::unique_ptr<Session> open_session(const Run& run, const trial::Setting& setting) {
  return std::make_unique<NativeSession>(run, options_at(run, setting));
}

Options options_at(const Run& run, const trial::Setting& setting) {
  if (setting.precision != "fp32")
    throw core::InputError(fmt::format("the CPU engine has no precision {}; use fp32",
                                       core::printable(setting.precision)));
  Options options = run.options;
  options.pipeline.batch = setting.batch;
  options.pipeline.workers = setting.workers;
  options.pipeline.prefetch = setting.prefetch;
  options.pipeline.drop_last = true;
  options.accumulation = setting.accumulation;
  options.optimizer.learning_rate = setting.learning_rate;
  options.evaluate = false;
  check(options);
  return options;
}

trial::Setting setting_of(const Options& options) {
  trial::Setting setting;
  setting.batch = options.batch();
  setting.accumulation = options.accumulation;
  setting.workers = options.pipeline.workers;
  setting.prefetch = options.pipeline.prefetch;
  setting.learning_rate = options.optimizer.learning_rate;
  return setting;
}

}  // namespace sweetspot::workload::native
