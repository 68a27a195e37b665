#include "workload/command/session.h"

#include <algorithm>
#include <utility>

#include "trial/trial.h"
#include "workload/command/libraries.h"

namespace sweetspot::workload::command {

CommandSession::CommandSession(CommandWorkload& workload, const trial::Setting& setting)
    : workload_(workload), setting_(setting), memory_(setting.batch, workload.gpu_history()) {}

CommandSession::~CommandSession() {
  try {
    close();
  } catch (...) {  // the process's own destructor kills what is left
  }
}

trial::Step CommandSession::step(const Until& until) {
  stop_ = &until.stop;
  failed_ = true;  // until proven otherwise
  try {
    std::optional<trial::Step> step;
    while (!step) step = next(until);
    failed_ = false;
    ++steps_;
    longest_step_seconds_ = std::max(longest_step_seconds_, step->seconds);
    if (program_) memory_.look(*program_);
    return *step;
  } catch (const Ended& ended) {
    failed_ = ended.outcome != trial::Outcome::ok;
    if (ended.outcome == trial::Outcome::out_of_memory && program_) memory_.ran_out(*program_);
    throw;
  }
}

std::optional<trial::Step> CommandSession::next(const Until& until) {
  if (!program_) program_ = workload_.start(setting_, until);
  if (program_->printed().findings().changed_batch) throw changed_its_batch(known());
  if (!whole_runs_)
    if (const auto step = program_->take_step()) return step;
  if (program_->ended()) return judge_its_end(until);
  judge_while_it_runs(until);
  if (program_) program_->wait(look_up_seconds);
  return std::nullopt;
}

void CommandSession::judge_while_it_runs(const Until& until) {
  if (until.told_to_give_up()) throw stopped();
  if (until.time_is_up()) throw out_of_time(known());
  if (program_->asks()) answer();
  if (program_->client_gone()) judge_without_a_client();
  const core::Seconds timeout = workload_.options().timeout;
  if (process::now_seconds() - program_->last_sign_at() > timeout.count())
    throw timed_out(known(), timeout);
  if (steps_ == 0 && !program_->client_tells()) judge_what_it_prints(until);
}

// Before its first step.
void CommandSession::judge_what_it_prints(const Until& until) {
  constexpr double telling_interval_seconds = 0.5, judging_interval_seconds = 2;
  const PrintedSteps& printed = program_->printed();
  const double now = process::now_seconds();
  const double since = program_->started_at();
  if (until.waiting && now >= next_told_at_) {
    next_told_at_ = now + telling_interval_seconds;
    const std::string last_line = workload_.secrets().redact(printed.last_line());
    until.waiting({now - since, printed.findings().lines, last_line});
  }
  const Options& options = workload_.options();
  if (options.samples_per_run || now < next_judged_at_) return;
  next_judged_at_ = now + judging_interval_seconds;
  const output::Suggestion::Kind kind = printed.suggestion().kind;
  std::optional<core::Seconds> time;
  if (until.deadline) time = until.deadline->time_since_epoch() - core::Seconds(since);
  if (!prints_in_vain(printed.talking_seconds(), kind, options.timeout, time)) return;
  const ProgramEnd known = this->known();
  if (known.findings.memory_evidence) return;  // its end will show
  if (kind == output::Suggestion::Kind::paste_regex || !workload_.try_terminal())
    throw unrecognised(known, core::Seconds(now - since));
  end_program();
  conclude_run(until);
}

// A session requests its first setting, or the next one.
void CommandSession::answer() {
  if (program_->answers() > 0) throw asked_again(known(), program_->must_start_anew());
  program_->answer(setting_);
}

// Usually the process is about to end, and its exit status says more.
void CommandSession::judge_without_a_client() {
  const double now = process::now_seconds();
  if (!client_gone_at_) client_gone_at_ = now;
  if (now - *client_gone_at_ >= workload_.options().grace.count()) throw client_went_away(known());
}

std::optional<trial::Step> CommandSession::judge_its_end(const Until& until) {
  end_program();
  // Whoever ends us may have ended it too: that is no verdict on the setting.
  if (until.told_to_give_up() || !program_->end_is_a_verdict()) throw stopped();
  const ProgramEnd end = known();
  const bool proper = end.ending.exit_code == 0 && !end.findings.memory_evidence;
  if (proper && workload_.options().samples_per_run && (whole_runs_ || steps_ == 0))
    return whole_run(until);
  if (proper && steps_ == 0 && !program_->client_tells()) {
    if (workload_.try_terminal()) {
      conclude_run(until);
      return std::nullopt;
    }
    workload_.terminal_was_no_help();
  }
  throw verdict(end);
}

trial::Step CommandSession::whole_run(const Until& until) {
  if (!whole_runs_) whole_runs_.emplace(*workload_.options().samples_per_run, setting_.batch);
  whole_runs_->ran(program_->ended_at() - program_->started_at());
  whole_runs_->tell(account_);
  conclude_run(until);
  return *whole_runs_->take();
}

// The next step starts the program again.
void CommandSession::conclude_run(const Until& until) {
  program_.reset();
  workload_.conclude(setting_, until);
}

std::int64_t CommandSession::untimed_updates() const {
  return program_ ? program_->steps().untimed_updates() : 0;
}

std::vector<TestResult> CommandSession::take_results() {
  return program_ ? program_->take_results() : std::vector<TestResult>();
}

Seen CommandSession::seen() const {
  constexpr std::size_t batches_of_a_worker = 2, most = 32;  // compilers start processes as well
  Seen seen;
  if (!program_) return seen;
  // Loaders of every framework keep about two batches per process.
  seen.loaded_ahead = std::min(most, batches_of_a_worker * program_->workers());
  seen.restart_seconds = program_->is_session() ? 0 : program_->start_up_seconds();
  if (memory_.rises(*program_)) seen.telling_seconds = MemoryGrowth::telling_seconds;
  const std::shared_ptr<gpu::Watch>& watch = program_->gpu_watch();
  watch->look();
  for (const gpu::Use& use : watch->uses())
    seen.gpus.push_back(
        {use.device.name, use.device.gpu, [watch](std::int64_t pid) { return watch->owns(pid); }});
  return seen;
}

Account CommandSession::close() {
  if (!program_) return account_;
  const Until until{*stop_};
  const bool stays = program_->stays(failed_, longest_step_seconds_, until);
  if (stays)
    memory_.tell(*program_, account_);
  else
    end_program();
  if (!account_.gpus.empty())
    account_.device = trial::device_of(account_.gpus);
  else if (account_.device.empty() && !failed_)
    account_.device = "cpu";
  if (!whole_runs_) tell_what_it_showed();
  workload_.note(account_);
  if (stays) workload_.keep(std::move(program_));
  conclude_run(until);
  return account_;
}

void CommandSession::tell_what_it_showed() {
  const Options& options = workload_.options();
  const PrintedSteps& printed = program_->printed();
  program_->tell(account_);
  if (const std::string note = regex_note(printed.findings()); !note.empty()) account_.note = note;
  if (account_.note.empty() && libraries_seen(options).empty())
    for (const Library& seen : libraries_in_output(program_->first_output(), options))
      account_.note = suggestion(seen);
  account_.last_output = workload_.secrets().redact(printed.last_of_both());
  // A session that survives its failure prints nothing about it.
  if (const auto& failed = program_->reported().failed()) {
    const std::string reason = workload_.secrets().redact(failed->reason);
    if (account_.last_output.find(reason) == std::string::npos)
      account_.last_output += (account_.last_output.empty() ? "" : "\n") + reason;
  }
  memory_.tell_needs(*program_, account_);
}

void CommandSession::end_program() {
  if (program_->ending()) return;
  program_->end();
  if (program_->answers() <= 1)  // its own time alone
    account_.cpu_seconds = account_.cpu_seconds.value_or(0) + program_->ending()->cpu_seconds;
  memory_.tell(*program_, account_);
}

ProgramEnd CommandSession::known() const {
  const Secrets& secrets = workload_.secrets();
  const PrintedSteps& printed = program_->printed();
  ProgramEnd known;
  if (const auto& ending = program_->ending()) known.ending = *ending;
  known.findings = printed.findings();
  for (auto* line : {&known.findings.changed_batch, &known.findings.memory_evidence})
    if (*line) *line = secrets.redact(**line);
  known.last_output = secrets.redact(printed.last_output());
  if (steps_ == 0) {
    known.suggestion = printed.suggestion();
    known.suggestion.regex = secrets.redact(known.suggestion.regex);
  }
  known.failed = program_->reported().failed();
  if (known.failed) known.failed->reason = secrets.redact(known.failed->reason);
  known.steps = steps_;
  known.bad_client_lines = program_->bad_client_lines();
  return known;
}

}  // namespace sweetspot::workload::command
