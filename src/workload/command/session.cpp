#include "workload/command/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "trial/trial.h"
#include "workload/command/gpu/watch.h"
#include "workload/command/hook.h"
#include "workload/command/libraries.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command {
namespace {

using gpu::GpuAccount;
using trial::Outcome;

constexpr double look_up_seconds = 0.1;  // to check for a stop, and to sample memory

Ended stopped() { return {Outcome::cancelled, "it was stopped before it was measured"}; }

std::string failed_without_a_step(const std::string& what, const std::string& last_output) {
  const std::string line = telling_line(last_output);
  return what + " before a step" + (line.empty() ? "" : ": " + line);
}

// What was measured so far may be enough: the caller knows. Fewer steps never are.
Ended out_of_time(const ProgramEnd& evidence) {
  constexpr std::int64_t fewest = 4;  // one to warm up, and three
  return {evidence.steps >= fewest ? Outcome::ok : Outcome::cancelled,
          evidence.steps > 0 ? "the budget ended before it was measured" : cut_off(evidence),
          trial::StopReason::time_limit};
}

}  // namespace

CommandSession::CommandSession(Programs& programs, const trial::Setting& setting)
    : programs_(programs), setting_(setting) {}

CommandSession::~CommandSession() {
  try {
    close();
  } catch (...) {  // the process's own destructor kills what is left
  }
}

void CommandSession::start(const Until& until) {
  ending_.reset();
  program_ = programs_.start(setting_, until);
  kept_before_ = program_->was_kept();
  const auto memory = kept_before_ ? program_->memory() : std::nullopt;
  host_peak_before_ = memory ? memory->peak : 0;
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
    look_at_memory();
    return *step;
  } catch (const Ended& ended) {
    failed_ = ended.outcome != Outcome::ok;
    if (ended.outcome == Outcome::out_of_memory && program_) note_lack();
    throw;
  }
}

std::optional<trial::Step> CommandSession::next(const Until& until) {
  if (!program_) start(until);
  if (program_->changed_its_batch())
    throw Ended(Outcome::refused,
                "it changed its batch by itself: " + *evidence().findings.changed_batch);
  if (!whole_runs_)
    if (const auto step = program_->step()) return step;
  if (program_->ended()) return judge_its_end(until);
  judge_while_it_runs(until);
  program_->wait(look_up_seconds);
  return std::nullopt;
}

void CommandSession::judge_while_it_runs(const Until& until) {
  if (until.told_to_give_up()) throw stopped();
  if (until.time_is_up()) throw out_of_time(evidence());
  if (program_->asks()) answer();
  if (program_->client_gone()) judge_without_a_client();
  if (steps_ == 0 && !program_->client_tells()) judge_what_it_prints(until);
  const core::Seconds timeout = programs_.options().timeout;
  if (monotonic_seconds() - program_->last_sign_at() > timeout.count())
    throw timed_out(evidence(), timeout);
}

// Before its first step.
void CommandSession::judge_what_it_prints(const Until& until) {
  constexpr double telling_interval_seconds = 0.5, judging_interval_seconds = 2;
  const double now = monotonic_seconds();
  if (until.waiting && now >= next_told_at_) {
    next_told_at_ = now + telling_interval_seconds;
    const std::string last_line = programs_.secrets().redact(program_->last_line());
    until.waiting({now - program_->started_at(), program_->findings().lines, last_line});
  }
  const Options& options = programs_.options();
  if (whole_runs_ || options.samples_per_run || now < next_judged_at_) return;
  next_judged_at_ = now + judging_interval_seconds;
  const output::Suggestion::Kind kind = program_->suggestion().kind;
  std::optional<core::Seconds> time;
  if (until.deadline)
    time = until.deadline->time_since_epoch() - core::Seconds(program_->started_at());
  if (!prints_in_vain(program_->talking_seconds(), kind, options.timeout, time)) return;
  const ProgramEnd known = evidence();
  if (known.findings.memory_evidence) return;  // its end will show
  if (kind != output::Suggestion::Kind::paste_regex && programs_.try_terminal()) {
    end_process();
    programs_.conclude(setting_, until);
    start(until);
    return;
  }
  throw unrecognised(known, core::Seconds(now - program_->started_at()));
}

// A session requests its first setting, or the next one.
void CommandSession::answer() {
  if (!program_->was_answered()) {
    program_->answer(setting_);
    return;
  }
  if (const auto& failed = program_->failed()) {
    MemoryMessage message;
    if (failed->outcome == Outcome::out_of_memory) message.read(failed->reason);
    const std::string figures = message.in_short();
    throw Ended(
        failed->outcome,
        (figures.empty() ? programs_.secrets().redact(failed->reason) : figures) + left_behind());
  }
  if (steps_ > 0) throw Ended(Outcome::ok, "it went on to the next setting by itself");
  const ProgramEnd now = evidence();
  if (now.findings.memory_evidence) throw lacked_memory(now);
  throw Ended(Outcome::crashed,
              failed_without_a_step("it asked for the next setting", now.last_output));
}

// The end of a sentence about unreleased memory, which the next batch would lack.
std::string CommandSession::left_behind() const {
  if (program_->failed()->kept == 0) return "";
  return fmt::format("; {} of memory did not come back{}",
                     core::format_bytes(program_->failed()->kept),
                     must_start_anew() ? ", so the program is started anew" : "");
}

bool CommandSession::must_start_anew() const {
  return program_->failed() && program_->failed()->kept > 0 && !programs_.options().caller;
}

// Usually the process is about to end, and its exit status says more.
void CommandSession::judge_without_a_client() {
  const double now = monotonic_seconds();
  if (!client_gone_at_) client_gone_at_ = now;
  if (now - *client_gone_at_ < programs_.options().grace.count()) return;
  if (steps_ > 0) throw Ended(Outcome::ok, "its client went away");
  throw Ended(Outcome::crashed,
              failed_without_a_step("its client went away", evidence().last_output));
}

std::optional<trial::Step> CommandSession::judge_its_end(const Until& until) {
  end_process();
  // Whoever ends us may have ended it too: that is no verdict on the setting.
  if (until.told_to_give_up() || programs_.options().caller) throw stopped();
  const ProgramEnd known = evidence();
  const bool proper = ending_->exit_code == 0 && !known.findings.memory_evidence;
  if (proper && (whole_runs_ || (steps_ == 0 && programs_.options().samples_per_run)))
    return whole_run(until);
  if (proper && steps_ == 0 && !program_->client_tells()) {
    if (programs_.try_terminal()) {
      programs_.conclude(setting_, until);
      start(until);
      return std::nullopt;
    }
    programs_.terminal_was_no_help();
  }
  throw verdict(known);
}

trial::Step CommandSession::whole_run(const Until& until) {
  whole_runs_ = true;
  account_.step_source = "whole runs";  // including the start-up of each
  trial::Step step;
  step.seconds = program_->ended_at() - program_->started_at();
  step.samples = *programs_.options().samples_per_run;
  if (step.samples > setting_.batch) {
    // A step is whole updates: the time of the remainder is subtracted in proportion.
    step.updates = step.samples / setting_.batch;
    const std::int64_t whole = step.updates * setting_.batch;
    step.seconds *= static_cast<double>(whole) / static_cast<double>(step.samples);
    step.samples = whole;
  }
  program_.reset();  // the next step is the next run
  programs_.conclude(setting_, until);
  return step;
}

std::int64_t CommandSession::untimed_updates() const {
  return program_ ? program_->untimed_updates() : 0;
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
  if (is_on_device() && course_.rises()) seen.telling_seconds = MemoryGrowth::telling_seconds;
  seen.gpus = gpus();
  return seen;
}

// A language's own memory on the host rises for many reasons.
bool CommandSession::is_on_device() const {
  return program_ && (program_->device_memory() || !program_->gpu_watch()->uses().empty());
}

// An allocator's cache may grow with every new size and is given back before memory runs out: it
// needs no more than its tensors grow by, and as much again as it wastes now.
std::optional<core::Bytes> CommandSession::memory_margin() const {
  const auto grown = course_.margin(), of_tensors = tensors_.margin();
  const auto& client = program_->device_memory();
  if (!grown || !of_tensors || !client || !client->allocated) return grown;
  return std::min(*grown, *of_tensors + client->peak - std::min(client->peak, *client->allocated));
}

Account CommandSession::close() {
  if (std::exchange(closed_, true) || !program_) return account_;
  const bool may_go_on = !failed_ || programs_.options().caller;  // which is not ours to end
  const bool keep = !must_start_anew() &&
                    (program_->asks() || (may_go_on && program_->is_session() && bring_to_ask()));
  if (!keep) end_process();
  if (keep) tell_memory();
  if (!account_.gpus.empty())
    account_.device = trial::device_of(account_.gpus);
  else if (account_.device.empty() && !failed_)
    account_.device = "cpu";
  if (!account_.device.empty()) programs_.note_device(account_.device);
  if (!whole_runs_) {
    account_.start_up_seconds = program_->start_up_seconds();
    account_.step_source = program_->step_source();
    if (const std::string note = regex_note(program_->findings()); !note.empty())
      account_.note = note;
    if (account_.note.empty() && libraries_seen(programs_.options()).empty())
      for (const Library& seen : libraries_in_output(program_->first_output(), programs_.options()))
        account_.note = suggestion(seen);
    account_.steps_total = program_->steps_total();
    account_.losses = program_->losses();
    account_.noise_scale = program_->noise_scale();
    account_.samples_per_step = program_->samples_per_step();
    account_.sample_stride = program_->sample_stride();
    account_.last_output = programs_.secrets().redact(program_->last_of_both());
    // A session that survives its failure prints nothing about it.
    if (const auto& failed = program_->failed()) {
      const std::string reason = programs_.secrets().redact(failed->reason);
      if (account_.last_output.find(reason) == std::string::npos)
        account_.last_output += (account_.last_output.empty() ? "" : "\n") + reason;
    }
    tell_lack();
    account_.memory_margin = memory_margin();
    account_.inputs_vary = is_on_device() && course_.rises_in_jumps();
  }
  if (keep)
    programs_.keep(std::move(program_));
  else
    program_.reset();
  programs_.conclude(setting_, {*stop_});
  return account_;
}

// So that it can get the next setting. It notices at its next step, which may take long.
bool CommandSession::bring_to_ask() {
  if (!program_->say_enough()) return false;
  const double deadline =
      monotonic_seconds() + programs_.options().grace.count() + 2 * longest_step_seconds_;
  while (!program_->asks()) {
    if (program_->ended() || program_->client_gone() || Until{*stop_}.told_to_give_up() ||
        (monotonic_seconds() > deadline && !programs_.options().caller))
      return false;
    program_->wait(look_up_seconds);
  }
  return true;
}

void CommandSession::end_process() {
  if (ending_) return;
  ending_ = program_->end(programs_.options().grace);
  if (!kept_before_) account_.cpu_seconds = account_.cpu_seconds.value_or(0) + ending_->cpu_seconds;
  tell_memory();
}

std::vector<SeenGpu> CommandSession::gpus() const {
  std::vector<SeenGpu> found;
  const std::shared_ptr<gpu::Watch>& watch = program_->gpu_watch();
  watch->look();
  for (const gpu::Use& use : watch->uses())
    found.push_back(
        {use.device.name, use.device.gpu, [watch](std::int64_t pid) { return watch->owns(pid); }});
  return found;
}

// The device's memory limits a batch on a device: as reported by its client, which knows more, else
// by the driver; the host's if there is none.
void CommandSession::tell_memory() {
  const auto tell = [this](const std::optional<core::Bytes>& peak, const std::string& how) {
    if (peak) account_.memory_peak = std::max(account_.memory_peak.value_or(0), *peak);
    account_.memory_source = how;
  };
  const GpuAccount gpus = tell_gpus();
  const auto& client = program_->device_memory();
  const bool by_client = client && client->peak > 0;
  if (by_client)
    tell(client->peak, client->how);
  else if (!account_.gpus.empty())
    tell(gpus.peak, gpus.source);
  account_.memory_capacity = by_client && client->capacity ? client->capacity : gpus.capacity;
  if (by_client && account_.gpus.empty()) account_.device = client->device;
  const auto host = ending_ ? ending_->memory : program_->memory();
  if (!host) return;
  if (!by_client && account_.gpus.empty()) return tell_host_memory(*host);
  account_.host_memory = std::max(account_.host_memory.value_or(0), host->peak);
}

void CommandSession::tell_host_memory(const process::Memory& host) {
  account_.memory_source = host.how;
  // The peak of a process that lives on never falls: if it is no higher than before, it shows
  // nothing.
  if (!program_->has_own_peak()) account_.memory_source += " of a kept process, where it grew";
  if (program_->has_own_peak() || host.peak > host_peak_before_)
    account_.memory_peak = std::max(account_.memory_peak.value_or(0), host.peak);
}

GpuAccount CommandSession::tell_gpus() {
  const std::vector<gpu::Use> uses = program_->gpu_watch()->uses();
  if (uses.empty()) return {};
  GpuAccount found = gpu_account(uses, program_->gpu_watch()->preallocator(), setting_.batch,
                                 programs_.gpu_history());
  gpu::add_run(found.gpus, account_.gpus);  // in addition to earlier runs of this trial
  const auto& client = program_->device_memory();
  const bool client_knows = client && client->peak > 0;
  if (!found.note.empty() && !client_knows) account_.note = found.note;
  return found;
}

// For what limits it, as chosen by tell_memory().
void CommandSession::look_at_memory() {
  constexpr double interval_seconds = 0.05;
  const double now = monotonic_seconds();
  if (!program_ || now < next_look_at_) return;
  next_look_at_ = now + interval_seconds;
  const auto& client = program_->device_memory();
  if (client && client->peak > 0) {
    if (client->allocated) tensors_.add(now, *client->allocated);
    return course_.add(now, client->peak);
  }
  core::Bytes most = 0;
  for (const gpu::Use& use : program_->gpu_watch()->uses())
    most = std::max(most, use.peak.value_or(0));
  if (most == 0 && program_->has_own_peak())
    if (const auto host = program_->memory()) most = host->peak;
  if (most > 0) course_.add(now, most);
}

void CommandSession::note_lack() {
  if (program_->failed())
    lack_.read(program_->failed()->reason);
  else
    lack_ = program_->findings().memory_message;
}

// In the same measure as its memory: of its allocator, or of the process.
void CommandSession::tell_lack() {
  const auto& client = program_->device_memory();
  const bool of_process = !client || client->peak == 0;
  account_.memory_wanted = lack_.wanted(of_process);
  if (const auto capacity = lack_.capacity(of_process))
    account_.memory_capacity = std::min(account_.memory_capacity.value_or(*capacity), *capacity);
}

ProgramEnd CommandSession::evidence() const {
  const Secrets& secrets = programs_.secrets();
  ProgramEnd known;
  if (ending_) known.ending = *ending_;
  known.findings = program_->findings();
  for (auto* line : {&known.findings.changed_batch, &known.findings.memory_evidence})
    if (*line) *line = secrets.redact(**line);
  known.last_output = secrets.redact(program_->last_output());
  if (steps_ == 0) {
    known.suggestion = program_->suggestion();
    known.suggestion.regex = secrets.redact(known.suggestion.regex);
  }
  known.steps = steps_;
  known.bad_client_lines = program_->bad_client_lines();
  return known;
}

}  // namespace sweetspot::workload::command
