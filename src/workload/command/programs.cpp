#include "workload/command/programs.h"

#include <utility>

#include "core/error.h"
#include "workload/command/hook.h"
#include "workload/command/options.h"
#include "workload/command/template.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

Programs::Programs(Options options)
    : options_((check(options), std::move(options))),
      secrets_(options_),
      terminal_(options_.terminal == Terminal::yes) {
  if (options_.setup) {
    const auto failed = run_hook("--setup", *options_.setup, options_.environment, options_,
                                 secrets_, [] { return false; });
    if (failed) throw core::InputError(*failed + "; nothing was run");
  }
  if (!options_.caller) check_program_file(options_);
}

std::unique_ptr<Program> Programs::start(const trial::Setting& setting, const Until& until) {
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
    const auto no_time = [&] { return until.told_to_give_up() || until.time_is_up(); };
    const auto failed = run_trial_hook("--prepare", *options_.prepare, setting, no_time);
    if (no_time()) throw Ended(trial::Outcome::cancelled, "it was stopped");
    if (failed) throw Ended(trial::Outcome::crashed, *failed);
  }
  if (kept_) {
    if (kept_->answer(setting)) return std::move(kept_);
    end_kept(until);
  }
  if (options_.caller && std::exchange(caller_met_, true))
    throw Ended(trial::Outcome::cancelled, "the program that called has gone away");
  return std::make_unique<Program>(options_, setting, terminal_, *workspace_, gpus_,
                                   host_memory_limit());
}

std::optional<core::Bytes> Programs::host_memory_limit() const {
  const auto& limit = options_.memory_limit;
  const auto& without_gpu = options_.memory_limit_without_gpu;
  if (!without_gpu) return limit;
  const std::vector<gpu::Device>* gpus = gpus_.within(core::Seconds(0));
  const bool known_without = device_ == "cpu" || (gpus && gpus->empty());
  if (!known_without) return limit;
  return limit ? std::min(*limit, *without_gpu) : *without_gpu;
}

std::optional<std::string> Programs::run_trial_hook(const char* flag, const std::string& hook,
                                                    const trial::Setting& setting,
                                                    const std::function<bool()>& give_up) {
  const Configs& configs = workspace_->configs();
  const trial::Setting given = handed(options_, setting);
  return run_hook(flag, expand(hook, given, configs), trial_environment(options_, given, configs),
                  options_, secrets_, give_up, workspace_.get());
}

void Programs::conclude(const trial::Setting& setting, const Until& until) {
  if (options_.conclude && workspace_)
    failed_conclude_ = run_trial_hook("--conclude", *options_.conclude, setting,
                                      after_grace(until, options_.grace));
  if (!kept_) workspace_.reset();
}

bool Programs::try_terminal() {
  if (options_.terminal != Terminal::automatic || std::exchange(tried_terminal_, true))
    return false;
  terminal_ = true;
  return true;
}

void Programs::release() {
  // A program that called us gets its answer first.
  if (kept_ && !options_.caller && !released_) released_ = kept_->say_done();
}

void Programs::finish(const Until& until) {
  if (std::exchange(finished_, true)) return;
  end_kept(until);
  workspace_.reset();
  if (!options_.cleanup) return;
  const auto failed = run_hook("--cleanup", *options_.cleanup, options_.environment, options_,
                               secrets_, after_grace(until, options_.grace));
  if (failed) throw core::InputError(*failed + "; every trial had been run");
}

void Programs::end_kept(const Until& until) {
  if (!kept_) return;
  const double deadline = monotonic_seconds() + options_.grace.count();
  if (std::exchange(released_, false) || kept_->say_done())  // it may have something to save
    while (!kept_->ended() && monotonic_seconds() < deadline && !until.told_to_give_up())
      kept_->wait(0.1);
  kept_->end(options_.grace);
  kept_.reset();
}

}  // namespace sweetspot::workload::command
