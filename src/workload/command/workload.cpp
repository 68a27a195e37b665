#include "workload/command/workload.h"

#include <utility>

#include "core/error.h"
#include "workload/command/options.h"
#include "workload/command/programs.h"
#include "workload/command/session.h"

namespace sweetspot::workload::command {

CommandWorkload::CommandWorkload(Options options)
    : programs_(std::make_unique<Programs>(std::move(options))) {}

CommandWorkload::~CommandWorkload() {
  try {
    programs_->finish({});
  } catch (...) {
  }
}

std::string CommandWorkload::name() const { return title(programs_->options()); }

std::string CommandWorkload::device() const { return programs_->device(); }

About CommandWorkload::about() const {
  About about{.rests_between_steps = false};
  if (!programs_->options().batch_arrives)
    about.batch_handover = batch_destinations_words(programs_->options());
  return about;
}

std::unique_ptr<Session> CommandWorkload::open(const trial::Setting& setting) {
  return std::make_unique<CommandSession>(*programs_, setting);
}

std::function<void(const Until&)> CommandWorkload::finish() {
  programs_->release();
  return [this](const Until& until) { programs_->finish(until); };
}

namespace {

std::optional<double> value_of(const TestResult& told, trial::Target::Metric wanted) {
  const auto& named = wanted == trial::Target::Metric::accuracy ? told.accuracy : told.loss;
  return named ? named : told.printed;
}

}  // namespace

CommandTraining::CommandTraining(Options options)
    : metric_(options.metric.value_or(trial::Target::Metric::accuracy)),
      programs_(std::make_unique<Programs>(std::move(options))) {}

CommandTraining::~CommandTraining() {
  try {
    programs_->finish({});
  } catch (...) {
  }
}

std::string CommandTraining::device() const { return programs_->device(); }

Trained CommandTraining::train(const trial::Setting& setting, int /*epochs*/,
                               TrainingObserver& observer, const Until& until) {
  CommandSession session(*programs_, setting);
  Trained trained;
  trial::Evaluation timed;
  // Steps whose time is unknown took as long as the others.
  const auto with_untimed = [&] {
    trial::Evaluation at = timed;
    if (timed.steps == 0) return at;
    const std::int64_t untimed = session.untimed_updates();
    at.steps += untimed, at.samples += untimed * setting.batch;
    at.train_seconds *= static_cast<double>(at.steps) / static_cast<double>(timed.steps);
    return at;
  };
  const auto evaluate = [&] {
    trial::Evaluation at = with_untimed();
    bool goes_on = true;
    for (const TestResult& told : session.take_results()) {
      const std::optional<double> value = value_of(told, metric_);
      if (!value) continue;
      at.noise_scale = told.noise_scale;
      (metric_ == trial::Target::Metric::accuracy ? at.test_accuracy : at.test_loss) = value;
      goes_on = observer.evaluated(at) && goes_on;
    }
    return goes_on;
  };
  try {
    do {
      const trial::Step step = session.step(until);
      timed.steps += step.updates, timed.samples += step.samples;
      timed.train_seconds += step.seconds;
      observer.progress({1, 0, static_cast<double>(timed.samples) / timed.train_seconds});
      if (until.stop != 0) throw Ended(trial::Outcome::cancelled, "it was stopped");
    } while (evaluate());
  } catch (const Ended& ended) {
    trained.outcome = ended.outcome;
    trained.note = ended.what();
    evaluate();  // what it printed last
  }
  const trial::Evaluation end = with_untimed();
  const Account account = session.close();
  trained.steps = end.steps, trained.samples = end.samples;
  trained.memory_measured = account.memory_peak;
  trained.noise_scale = account.noise_scale;
  if (trained.outcome == trial::Outcome::ok) trained.note = account.note;
  return trained;
}

}  // namespace sweetspot::workload::command
