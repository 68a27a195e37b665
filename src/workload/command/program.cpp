#include "workload/command/program.h"

#include <algorithm>
#include <utility>

#include "workload/command/process/calling_program.h"
#include "workload/command/template.h"

namespace sweetspot::workload::command {
namespace {

process::Launch launch(const Options& options, const trial::Setting& setting, bool terminal,
                       const Workspace& workspace, const std::string& socket,
                       std::optional<core::Bytes> memory_limit) {
  process::Launch launch;
  const trial::Setting given = handed(options, setting);
  launch.argv = command_line(options, given, workspace.configs());
  launch.environment = trial_environment(options, given, workspace.configs());
  launch.environment.emplace_back("SWEETSPOT_SOCKET", socket);
  launch.leftovers.push_back(std::filesystem::path(socket).parent_path());
  workspace.furnish(launch);
  launch.terminal = terminal;
  launch.memory_limit = memory_limit;
  return launch;
}

}  // namespace

Program::Program(const Options& options, const trial::Setting& setting, const gpu::Gpus& gpus,
                 process::Descriptor connection)
    : options_(options),
      started_at_(process::now_seconds()),
      server_(connection ? client::Server(std::move(connection)) : client::Server()),
      gpu_watch_(std::make_shared<gpu::Watch>(gpus)),
      reported_(setting.batch, started_at_, options.gpus.value_or(1)),
      printed_(options, setting, started_at_) {}

void Program::observe(std::unique_ptr<process::Watched> process) {
  process_ = std::move(process);
  gpu_watch_->begin(
      {[this](pid_t pid) { return process_->has(pid); }, [this] { return process_->members(); }});
}

void Program::wait(double most_seconds) {
  if (ended()) return;
  std::vector<int> inputs = process_->descriptors();
  for (const int number : server_.descriptors()) inputs.push_back(number);
  process::wait_for_input(inputs, most_seconds);
  // Before reading: what comes after cannot be missed then.
  const bool over = is_over();
  take_output();
  take_messages();
  if (over) {
    ended_at_ = process::now_seconds();
    // The rest in pipes and socket; something that outlives the program may write forever.
    constexpr int most_rounds = 64;
    for (int round = 0; round < most_rounds; ++round) {
      const bool output = take_output(), messages = take_messages();
      if (!output && !messages) break;
    }
  }
  for (const double metric : printed_.count()) keep({{}, {}, metric});
  process_->memory();  // it updates the peak
}

bool Program::take_output() {
  const std::vector<process::Chunk> chunks = process_->take();
  for (const process::Chunk& chunk : chunks) {
    constexpr std::size_t enough = 32 << 10;
    if (first_output_.size() < enough)
      first_output_.append(chunk.bytes, 0, enough - first_output_.size());
    printed_.read(chunk);
  }
  return !chunks.empty();
}

bool Program::take_messages() {
  const std::vector<client::Message> messages = server_.take();
  const double now = process::now_seconds();
  for (const client::Message& message : messages) {
    reported_.hear(message, now);
    if (const auto* hello = std::get_if<client::Hello>(&message))
      client_ = hello->session ? Client::busy : Client::reports;
    if (std::holds_alternative<client::Ready>(message) && is_session()) client_ = Client::asks;
    if (const auto* metric = std::get_if<client::Metric>(&message))
      keep({metric->accuracy, metric->loss, {}});
  }
  return !messages.empty();
}

void Program::keep(TestResult result) {
  if (const auto noise = reported_.noise_scale()) result.noise_scale = noise->mean;
  results_.push_back({taken_ + steps().waiting(), result});
}

std::vector<TestResult> Program::take_results() {
  std::vector<TestResult> told;
  for (; !results_.empty() && results_.front().steps <= taken_; results_.pop_front())
    told.push_back(results_.front().result);
  return told;
}

const StepSource& Program::steps() const {
  if (client_tells()) return reported_;
  return printed_;
}

std::optional<trial::Step> Program::take_step() {
  const auto step = client_tells() ? reported_.take() : printed_.take();
  taken_ += step.has_value();
  return step;
}

double Program::last_sign_at() const {
  return std::max({answered_at_, reported_.last_sign_at(), printed_.last_sign_at()});
}

std::optional<double> Program::start_up_seconds() const {
  const std::optional<double> mark = steps().first_mark();
  return mark ? std::optional(std::max(0.0, *mark - started_at_)) : std::nullopt;
}

void Program::tell(trial::SessionReport& report) const {
  steps().tell(report);
  report.in_same_process = answers_ > 1;
  report.start_up_seconds = start_up_seconds();
  report.losses = reported_.losses().empty() ? printed_.losses() : reported_.losses();
  report.noise_scale = reported_.noise_scale();
}

bool Program::answer(const trial::Setting& setting) {
  if (!asks() || !server_.send(client::setting_line(handed(options_, setting)))) return false;
  client_ = Client::busy;
  answered_at_ = process::now_seconds();
  // The first setting began with the process: its start-up is the process's.
  if (++answers_ == 1) return true;
  started_at_ = answered_at_;
  reported_.begin_setting(setting.batch, started_at_);
  printed_ = PrintedSteps(options_, setting, started_at_);
  results_.clear();
  const bool forgotten = process_->forget_peak();
  const auto memory = process_->memory();
  earlier_peak_ = !forgotten && memory ? std::optional(memory->peak) : std::nullopt;
  gpu_watch_->begin_setting();
  return true;
}

bool Program::bring_to_ask(std::optional<double> seconds, const Until& until) {
  if (!server_.send(client::enough_line())) return false;
  const double now = process::now_seconds();
  while (!asks()) {
    const bool too_late = seconds && process::now_seconds() > now + *seconds;
    if (ended() || client_gone() || until.told_to_give_up() || too_late) return false;
    wait(look_up_seconds);
  }
  return true;
}

bool Program::say_done() {
  told_done_ = told_done_ || server_.send(client::done_line());
  return told_done_;
}

void Program::finish(const Until& until) {
  const double deadline = process::now_seconds() + options_.grace.count();
  if (say_done())
    while (!ended() && process::now_seconds() < deadline && !until.told_to_give_up())
      wait(look_up_seconds);
  end();
}

void Program::end() {
  if (ending_) return;
  gpu_watch_->stop();
  ending_ = process_->end(options_.grace);
}

std::optional<process::Memory> Program::memory() const {
  return ending_ ? ending_->memory : process_->memory();
}

StartedProgram::StartedProgram(const Options& options, const trial::Setting& setting, bool terminal,
                               const Workspace& workspace, const gpu::Gpus& gpus,
                               std::optional<core::Bytes> memory_limit)
    : Program(options, setting, gpus) {
  observe(std::make_unique<process::Process>(
      launch(options, setting, terminal, workspace, server().path(), memory_limit)));
}

bool StartedProgram::stays(bool failed, double longest_step_seconds, const Until& until) {
  if (must_start_anew()) return false;
  return asks() || (!failed && is_session() &&
                    bring_to_ask(options().grace.count() + 2 * longest_step_seconds, until));
}

bool StartedProgram::must_start_anew() const {
  return reported().failed() && reported().failed()->kept > 0;
}

CallingProgram::CallingProgram(const Options& options, const trial::Setting& setting,
                               process::Descriptor connection, const gpu::Gpus& gpus)
    : Program(options, setting, gpus, std::move(connection)) {
  observe(std::make_unique<process::Caller>(server().peer()));
}

bool CallingProgram::stays(bool /*failed*/, double /*longest_step_seconds*/, const Until& until) {
  return asks() || (is_session() && bring_to_ask({}, until));
}

}  // namespace sweetspot::workload::command
