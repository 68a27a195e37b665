#include "workload/native/workload.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "workload/native/epochs.h"
#include "workload/native/memory.h"
#include "workload/native/native_workload.h"
#include "workload/native/noise.h"
#include "workload/native/profile.h"
#include "workload/native/resident.h"

namespace sweetspot::workload::native {
std::string NativeWorkload::name() const {
  return fmt::format("{} on {}", core::printable(run_.network.name),
                     core::printable(run_.dataset.name));
}
std::string NativeWorkload::device() const { return native::name(run_.options.device); }
About NativeWorkload::about() const {
  return {.samples = static_cast<std::int64_t>(run_.dataset.train.count),
          .has_loader = !is_resident(run_.options, run_.dataset)};
}
std::optional<core::Bytes> NativeWorkload::predict(const trial::Setting& setting,
                                                   Extent extent) const {
  const Options options =
      extent == Extent::session ? options_at(run_, setting) : training_options_at(run_, setting);
  return native::predict(run_.network, options, run_.dataset).total();
}

std::vector<trial::OperationCost> NativeWorkload::operations(const trial::Setting& setting) {
  constexpr core::Seconds time{0.1};
  std::vector<trial::OperationCost> costs;
  for (const OperationTime& each : operation_times(profile_operations(run_, setting, time)))
    costs.push_back(cost_of(each));
  return costs;
}
std::optional<trial::GradientNoise> NativeWorkload::gradient_noise(const trial::Setting& setting,
                                                                   std::int64_t largest,
                                                                   core::Seconds time,
                                                                   const std::atomic<int>& stop) {
  return measure_noise(run_, setting, largest, time, stop);
}
std::optional<trial::RateRun> NativeWorkload::try_rate(const trial::Setting& setting,
                                                       std::int64_t steps,
                                                       const std::atomic<int>& stop) {
  return native::try_rate(run_, setting, steps, stop);
}
std::optional<core::Bytes> NativeWorkload::evaluate(const trial::Setting& setting,
                                                    const std::atomic<int>& stop) {
  if (!run_.options.evaluate) return std::nullopt;
  const Options options = training_options_at(run_, setting);
  const std::unique_ptr<Epochs> epochs = make_epochs(run_, options, stop);
  epochs->start(0);
  epochs->next(1);
  epochs->evaluate();
  return epochs->memory().total();
}
std::unique_ptr<Session> NativeWorkload::open(const trial::Setting& setting) {
  return sessions_.open(run_, session_options_at(run_, setting));
}

std::unique_ptr<Workload> make_workload(Run run) {
  return std::make_unique<NativeWorkload>(std::move(run));
}

std::unique_ptr<Session> open_session(const Run& run, const trial::Setting& setting) {
  return Sessions().open(run, session_options_at(run, setting));
}

Options session_options_at(const Run& run, const trial::Setting& setting) {
  const Options options = options_at(run, setting);
  if (static_cast<std::uint64_t>(options.batch()) > run.dataset.train.count)
    throw core::InputError(fmt::format("a batch of {} is larger than the data set's {} samples",
                                       options.batch(), run.dataset.train.count));
  return options;
}

Options options_at(const Run& run, const trial::Setting& setting) {
  Options options = run.options;
  options.precision = precision_named(setting.configuration.precision);
  options.seed = options.pipeline.seed = setting.seed;
  options.pipeline.batch = setting.batch;
  options.pipeline.workers = setting.configuration.workers;
  options.pipeline.prefetch = setting.configuration.prefetch;
  options.pipeline.drop_last = true;
  options.accumulation = setting.accumulation;
  options.optimizer.learning_rate = setting.learning_rate;
  options.evaluate = false;
  check(options);
  return options;
}

Options training_options_at(const Run& run, const trial::Setting& setting) {
  Options options = options_at(run, setting);
  options.pipeline.drop_last = run.options.pipeline.drop_last;
  options.evaluate = run.options.evaluate;
  return options;
}

trial::Setting setting_of(const Options& options) {
  trial::Setting setting;
  setting.batch = options.batch();
  setting.accumulation = options.accumulation;
  setting.configuration.workers = options.pipeline.workers;
  setting.configuration.prefetch = options.pipeline.prefetch;
  setting.learning_rate = options.optimizer.learning_rate;
  setting.configuration.precision = name(options.precision);
  setting.seed = options.seed;
  return setting;
}

}  // namespace sweetspot::workload::native
