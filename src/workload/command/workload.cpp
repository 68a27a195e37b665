#include "workload/command/workload.h"

#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/hook.h"
#include "workload/command/program.h"
#include "workload/command/session.h"
#include "workload/command/template.h"
#include "workload/command/workspace.h"

namespace sweetspot::workload::command {

CommandWorkload::CommandWorkload(Options options)
    : options_((check(options), std::move(options))),
      secrets_(options_),
      terminal_(options_.terminal),
      caller_(options_.caller.value_or(-1)) {
  if (options_.setup) {
    const auto failed = run_hook("--setup", *options_.setup, options_, secrets_, {});
    if (failed) throw core::InputError(*failed + "; nothing was run");
  }
  if (!options_.caller) check_program_file(options_);
}

CommandWorkload::~CommandWorkload() {
  try {
    end({});
  } catch (...) {
  }
}

std::string CommandWorkload::name() const { return title(options_); }

std::string CommandWorkload::device() const { return device_.value_or("cpu"); }

About CommandWorkload::about() const {
  About about{.rests_between_steps = false};
  if (!options_.batch_arrives) about.batch_destination = core::joined(batch_destinations(options_));
  return about;
}

std::unique_ptr<Session> CommandWorkload::open(const trial::Setting& setting) {
  return std::make_unique<CommandSession>(*this, setting);
}

std::unique_ptr<Program> CommandWorkload::start(const trial::Setting& setting, const Until& until) {
  if (failed_conclude_) throw Ended(trial::Outcome::crashed, *failed_conclude_);
  if (kept_) {
    kept_->wait(0);
    if (!kept_->asks() || kept_->ended()) end_kept(until);
  }
  if (!kept_) {
    workspace_.reset();  // of a trial that did not begin: the same file may be in both
    workspace_ = std::make_unique<Workspace>(options_, handed(options_, setting));
  }
  if (options_.prepare) {
    const auto failed = run_hook("--prepare", *options_.prepare, options_, secrets_, until,
                                 core::Seconds(0), HookedTrial{setting, *workspace_});
    if (until.told_to_give_up() || until.time_is_up())
      throw Ended(trial::Outcome::cancelled, "it was stopped");
    if (failed) throw Ended(trial::Outcome::crashed, *failed);
  }
  if (kept_) {
    if (kept_->answer(setting)) return std::move(kept_);
    end_kept(until);
  }
  return new_program(setting);
}

std::unique_ptr<Program> CommandWorkload::new_program(const trial::Setting& setting) {
  if (!options_.caller)
    return std::make_unique<StartedProgram>(options_, setting, terminal_ == Terminal::yes,
                                            *workspace_, gpus_, host_memory_limit());
  if (!caller_) throw Ended(trial::Outcome::cancelled, "the program that called has gone away");
  return std::make_unique<CallingProgram>(options_, setting, std::move(caller_), gpus_);
}

std::optional<core::Bytes> CommandWorkload::host_memory_limit() const {
  const auto& limit = options_.memory_limit;
  const auto& without_gpu = options_.memory_limit_without_gpu;
  if (!without_gpu) return limit;
  const std::vector<gpu::Device>* gpus = gpus_.within(core::Seconds(0));
  const bool known_without = device_ == "cpu" || (gpus && gpus->empty());
  if (!known_without) return limit;
  return limit ? std::min(*limit, *without_gpu) : *without_gpu;
}

void CommandWorkload::conclude(const trial::Setting& setting, const Until& until) {
  if (options_.conclude && workspace_)
    failed_conclude_ = run_hook("--conclude", *options_.conclude, options_, secrets_, {until.stop},
                                options_.grace, HookedTrial{setting, *workspace_});
  if (!kept_) workspace_.reset();
}

void CommandWorkload::keep(std::unique_ptr<Program> program) { kept_ = std::move(program); }

void CommandWorkload::note(const Account& account) {
  if (!account.device.empty()) device_ = account.device;
  if (account.start_up_seconds) start_up_ = core::Seconds(*account.start_up_seconds);
}

bool CommandWorkload::try_terminal() {
  if (terminal_ != Terminal::automatic) return false;
  terminal_ = Terminal::yes;
  return true;
}

void CommandWorkload::terminal_was_no_help() {
  if (options_.terminal == Terminal::automatic) terminal_ = Terminal::no;
}

std::function<void(const Until&)> CommandWorkload::finish() {
  if (kept_) kept_->release();
  return [this](const Until& until) { end(until); };
}

void CommandWorkload::end(const Until& until) {
  end_kept(until);
  workspace_.reset();
  const auto cleanup = std::exchange(options_.cleanup, std::nullopt);
  if (!cleanup) return;
  const auto failed =
      run_hook("--cleanup", *cleanup, options_, secrets_, {until.stop}, options_.grace);
  if (failed) throw core::InputError(*failed + "; every trial had been run");
}

void CommandWorkload::end_kept(const Until& until) {
  if (kept_) kept_->finish(until);
  kept_.reset();
}

namespace {

std::optional<double> value_of(const TestResult& told, trial::Target::Metric wanted) {
  const auto& named = wanted == trial::Target::Metric::accuracy ? told.accuracy : told.loss;
  return named ? named : told.printed;
}

}  // namespace

Trained CommandTraining::train(const trial::Setting& setting, int /*epochs*/,
                               TrainingObserver& observer, const Until& until) {
  CommandSession session(workload_, setting);
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
