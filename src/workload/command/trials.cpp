#include "workload/command/trials.h"

#include <utility>

#include "core/error.h"
#include "workload/command/hook.h"
#include "workload/command/program_file.h"
#include "workload/command/template.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

Trials::Trials(Options options)
    : options_((check(options), std::move(options))),
      secrets_(options_),
      terminal_(options_.terminal == Terminal::yes) {
  if (options_.setup) {
    const auto failed = run_hook("--setup", *options_.setup, options_.environment, options_,
                                 secrets_, [this] { return told_to_give_up(options_); });
    if (failed) throw core::InputError(*failed + "; nothing was run");
  }
  check_program_file(options_);
}

std::unique_ptr<Program> Trials::start(const trial::Setting& setting) {
  if (options_.budget && !deadline_) deadline_ = monotonic_seconds() + options_.budget->count();
  if (failed_conclude_) throw Ended(trial::Outcome::crashed, *failed_conclude_);
  if (options_.prepare) {
    const auto no_time = [this] { return told_to_give_up(options_) || time_is_up(); };
    const auto failed = run_hook("--prepare", expand(*options_.prepare, setting),
                                 trial_environment(options_, setting), options_, secrets_, no_time);
    if (no_time()) throw Ended(trial::Outcome::cancelled, "it was stopped");
    if (failed) throw Ended(trial::Outcome::crashed, *failed);
  }
  if (kept_) {
    kept_->wait(0);
    if (kept_->answer(setting)) return std::move(kept_);
    end_kept();
  }
  return std::make_unique<Program>(options_, setting, terminal_);
}

void Trials::conclude(const trial::Setting& setting) {
  if (!options_.conclude) return;
  failed_conclude_ =
      run_hook("--conclude", expand(*options_.conclude, setting),
               trial_environment(options_, setting), options_, secrets_, after_grace(options_));
}

bool Trials::time_is_up() const { return deadline_ && monotonic_seconds() >= *deadline_; }

bool Trials::try_terminal() {
  if (options_.terminal != Terminal::automatic || std::exchange(tried_terminal_, true))
    return false;
  terminal_ = true;
  return true;
}

void Trials::finish() {
  if (std::exchange(finished_, true)) return;
  end_kept();
  if (!options_.cleanup) return;
  const auto failed = run_hook("--cleanup", *options_.cleanup, options_.environment, options_,
                               secrets_, after_grace(options_));
  if (failed) throw core::InputError(*failed + "; every trial had been run");
}

void Trials::end_kept() {
  if (!kept_) return;
  const double deadline = monotonic_seconds() + options_.grace.count();
  if (kept_->say_done())  // it may have something to save
    while (!kept_->ended() && monotonic_seconds() < deadline && !told_to_give_up(options_))
      kept_->wait(0.1);
  kept_->end(options_.grace);
  kept_.reset();
}

}  // namespace sweetspot::workload::command
