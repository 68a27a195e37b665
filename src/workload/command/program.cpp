#include "workload/command/program.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "workload/command/output/tail.h"
#include "workload/command/process/calling_program.h"
#include "workload/command/template.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command {
namespace {

constexpr std::size_t kept_lines = 40;  // of a program that failed

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

output::Reader reader_of(const Options& options) {
  output::Reader reader(options.steps_regex);
  if (options.metric) reader.look_for({*options.metric, options.metric_regex});
  return reader;
}

client::Server server_of(const Options& options) {
  return options.caller ? client::Server(process::Descriptor(*options.caller)) : client::Server();
}

std::unique_ptr<process::Watched> watched(const Options& options, const trial::Setting& setting,
                                          bool terminal, const Workspace& workspace,
                                          const client::Server& server,
                                          std::optional<core::Bytes> memory_limit) {
  if (options.caller) return std::make_unique<process::Caller>(server.peer());
  return std::make_unique<process::Process>(
      launch(options, setting, terminal, workspace, server.path(), memory_limit));
}

}  // namespace

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Program::Program(const Options& options, const trial::Setting& setting, bool terminal,
                 const Workspace& workspace, const gpu::Gpus& gpus,
                 std::optional<core::Bytes> memory_limit)
    : options_(options),
      batch_(setting.batch),
      started_at_(monotonic_seconds()),
      last_sign_at_(started_at_),
      server_(server_of(options)),
      gpu_watch_(std::make_shared<gpu::Watch>(gpus)),
      process_(watched(options, setting, terminal, workspace, server_, memory_limit)),
      readers_{reader_of(options), reader_of(options)},
      counted_(setting, options.ranks_of_batch()),
      client_steps_(setting.batch, started_at_) {
  gpu_watch_->begin(
      {[this](pid_t pid) { return process_->has(pid); }, [this] { return process_->members(); }});
}

void Program::begin(const trial::Setting& setting) {
  started_at_ = last_sign_at_;
  readers_ = {reader_of(options_), reader_of(options_)};
  counting_.reset();
  first_count_at_.reset();
  batch_ = setting.batch;
  counted_ = Counted(setting, options_.ranks_of_batch());
  printed_losses_ = client_losses_ = {};
  results_.clear();
  noise_ = convergence::NoiseScale();
  client_updates_ = 0;
  client_steps_ = client::Steps(setting.batch, started_at_);
  counted_steps_.clear();
  talking_seconds_ = 0;
  device_memory_.reset();
  epoch_batches_.reset();
  failed_.reset();
  own_peak_ = process_->forget_peak();
  gpu_watch_->begin_setting();
}

void Program::wait(double most_seconds) {
  if (ended_) return;
  poll(most_seconds);
  // Before reading: what comes after cannot be missed then.
  const bool over = process_->ended() || (options_.caller && !server_.connected());
  take_output();
  take_messages();
  if (over) {
    ended_at_ = monotonic_seconds();
    // The rest in pipes and socket; something that outlives the program may write forever.
    constexpr int most_rounds = 64;
    for (int round = 0; round < most_rounds; ++round) {
      const bool output = take_output(), messages = take_messages();
      if (!output && !messages) break;
    }
    ended_ = true;
  }
  count();
  process_->memory();  // it updates the peak
}

void Program::poll(double most_seconds) {
  std::vector<pollfd> all;
  for (const int fd : process_->descriptors()) all.push_back({fd, POLLIN, 0});
  for (const int fd : server_.descriptors()) all.push_back({fd, POLLIN, 0});
  const int milliseconds = static_cast<int>(std::ceil(std::max(0.0, most_seconds) * 1000));
  ::poll(all.data(), all.size(), milliseconds);  // interrupted by a signal: the caller looks
}

bool Program::take_output() {
  const std::vector<process::Chunk> chunks = process_->take();
  for (const process::Chunk& chunk : chunks) {
    readers_[chunk.error_stream].feed(chunk.bytes, chunk.at_seconds);
    last_output_at_ = chunk.at_seconds;
    constexpr std::size_t enough = 32 << 10;
    if (first_output_.size() < enough)
      first_output_.append(chunk.bytes, 0, enough - first_output_.size());
    last_stream_ = chunk.error_stream;
    note_talking(chunk);
  }
  return !chunks.empty();
}

void Program::note_talking(const process::Chunk& chunk) {
  const auto second = static_cast<std::int64_t>(chunk.at_seconds);
  if (second == last_talking_second_ || chunk.bytes.find('\n') == std::string::npos ||
      is_bar(chunk.bytes))
    return;
  last_talking_second_ = second;
  ++talking_seconds_;
}

bool Program::take_messages() {
  const std::vector<client::Message> messages = server_.take();
  const double now = monotonic_seconds();
  for (const client::Message& message : messages) take(message, now);
  return !messages.empty();
}

void Program::take(const client::Message& message, double now) {
  if (const auto* hello = std::get_if<client::Hello>(&message)) hello_ = *hello;
  if (std::holds_alternative<client::Ready>(message)) asks_ = is_session();
  if (const auto* begin = std::get_if<client::Begin>(&message)) {
    client_steps_.begin(*begin, now);
    last_sign_at_ = now;
  }
  if (const auto* told = std::get_if<client::StepEnd>(&message)) {
    client::StepEnd step = *told;
    if (step.samples && is_of_one_rank(step)) *step.samples *= *options_.gpus;
    client_steps_.step(step, now);
    client_updates_ += step.updates;
    if (step.loss) client_losses_.add(client_updates_, *step.loss);
    last_sign_at_ = now;
  }
  if (const auto* memory = std::get_if<client::DeviceMemory>(&message)) {
    // The largest peaks, and the smallest capacity.
    client::DeviceMemory most = *memory;
    if (device_memory_) {
      if (device_memory_->peak >= most.peak) std::swap(most, *device_memory_);
      if (const auto& other = device_memory_->allocated)
        most.allocated = std::max(*other, most.allocated.value_or(0));
      if (const auto& other = device_memory_->capacity)
        most.capacity = std::min(*other, most.capacity.value_or(*other));
    }
    device_memory_ = most;
  }
  if (const auto* epoch = std::get_if<client::Epoch>(&message)) epoch_batches_ = epoch->batches;
  if (const auto* metric = std::get_if<client::Metric>(&message))
    keep({metric->accuracy, metric->loss, {}});
  if (const auto* norms = std::get_if<convergence::GradientNorms>(&message)) noise_.add(*norms);
  if (const auto* failed = std::get_if<client::Failed>(&message)) failed_ = *failed;
}

// Whether a client of several processes counted only its own samples.
bool Program::is_of_one_rank(const client::StepEnd& step) const {
  const int ranks = options_.gpus.value_or(1);
  return ranks > 1 && *step.samples * ranks == batch_ * step.updates;
}

void Program::count() {
  for (std::size_t stream = 0; stream < readers_.size(); ++stream) {
    const std::vector<output::Advance> advances = readers_[stream].take();
    const std::vector<output::LossAt> losses = readers_[stream].take_losses();
    const std::vector<double> metrics = readers_[stream].take_metrics();
    if (counting_.value_or(stream) == stream)
      for (const output::LossAt& each : losses)
        printed_losses_.add(counted_.updates_at(each.count, readers_[stream].findings().counter),
                            each.loss);
    // Two streams may count the same steps: the first that does is used.
    if (!advances.empty() && counting_.value_or(stream) == stream) count(stream, advances);
    for (const double value : metrics) keep({{}, {}, value});
  }
}

void Program::count(std::size_t stream, const std::vector<output::Advance>& advances) {
  counting_ = stream;
  last_sign_at_ = last_output_at_;
  if (!first_count_at_) {
    first_count_at_ = last_output_at_;
    for (const output::Advance& advance : advances) *first_count_at_ -= advance.seconds;
  }
  if (const auto step = counted_.add(advances, readers_[stream].findings().counter))
    counted_steps_.push_back(*step);
}

void Program::keep(const TestResult& result) {
  const std::size_t waiting = client_tells() ? client_steps_.waiting() : counted_steps_.size();
  results_.push_back({taken_ + waiting, result});
  if (const auto noise = noise_scale()) results_.back().result.noise_scale = noise->mean;
}

std::vector<TestResult> Program::take_results() {
  std::vector<TestResult> told;
  for (; !results_.empty() && results_.front().steps <= taken_; results_.pop_front())
    told.push_back(results_.front().result);
  return told;
}

std::vector<trial::Loss> Program::losses() const {
  std::vector<trial::Loss> told = client_losses_.losses();
  return told.empty() ? printed_losses_.losses() : told;
}

std::optional<core::Interval> Program::noise_scale() const {
  const auto estimate = noise_.estimate();
  return estimate ? estimate->samples : std::nullopt;
}

std::optional<trial::Step> Program::step() {
  std::optional<trial::Step> step;
  if (client_tells()) {
    step = client_steps_.take();
  } else if (!counted_steps_.empty()) {
    step = counted_steps_.front();
    counted_steps_.pop_front();
  }
  taken_ += step.has_value();
  return step;
}

bool Program::answer(const trial::Setting& setting) {
  if (!asks_ || !server_.send(client::setting_line(handed(options_, setting)))) return false;
  asks_ = false;
  last_sign_at_ = monotonic_seconds();
  // The first setting began with the process: its start-up is the process's.
  if (++answers_ > 1) begin(setting);
  return true;
}

std::optional<double> Program::start_up_seconds() const {
  const std::optional<double> mark = client_tells() ? client_steps_.first_mark() : first_count_at_;
  if (!mark) return std::nullopt;
  return std::max(0.0, *mark - started_at_);
}

std::string Program::step_source() const {
  if (client_tells())
    return hello_->client.empty() ? "client" : fmt::format("client ({})", hello_->client);
  return counting_ ? readers_[*counting_].findings().counter.source : "";
}

bool Program::changed_its_batch() const {
  return readers_[0].findings().changed_batch || readers_[1].findings().changed_batch;
}

output::Findings Program::findings() const {
  output::Findings all = readers_[0].findings();
  const output::Findings& errors = readers_[1].findings();
  all.lines += errors.lines;
  all.counter = counting_ ? readers_[*counting_].findings().counter : output::Counter{};
  if (!all.changed_batch) all.changed_batch = errors.changed_batch;
  if (!all.memory_evidence)
    all.memory_evidence = errors.memory_evidence, all.memory_message = errors.memory_message;
  all.regex_gave_up = all.regex_gave_up || errors.regex_gave_up;
  return all;
}

output::Suggestion Program::suggestion() const {
  output::Suggestion of_output = readers_[0].suggestion(), of_errors = readers_[1].suggestion();
  return of_errors.kind < of_output.kind ? of_errors : of_output;  // by usefulness
}

std::optional<std::int64_t> Program::steps_total() const {
  if (client_tells()) return epoch_batches_;
  if (!counting_) return std::nullopt;
  const output::Counter& counter = readers_[*counting_].findings().counter;
  return counter.counts_samples ? std::nullopt : counter.total;
}

std::optional<std::int64_t> Program::samples_per_step() const {
  if (client_tells()) return client_steps_.samples_per_step();
  if (!counting_) return std::nullopt;
  const auto& printed = readers_[*counting_].findings().counter.samples_per_step;
  if (!printed) return std::nullopt;
  return std::llround(*printed) * options_.ranks_of_batch();
}

std::int64_t Program::untimed_updates() const {
  if (client_tells() || !counting_) return 0;
  const output::Counter& counter = readers_[*counting_].findings().counter;
  return counted_.updates_at(counter.untimed, counter);
}

std::optional<std::int64_t> Program::sample_stride() const {
  return client_tells() ? std::nullopt : counted_.sample_stride();
}

std::string Program::last_output() const {
  const std::string errors = readers_[1].last_lines(kept_lines);
  return telling_line(errors).empty() ? readers_[0].last_lines(kept_lines) : errors;
}

std::string Program::last_line() const {
  constexpr std::size_t longest = 100;
  return output::printable_line(readers_[last_stream_].last_lines(1), longest);
}

std::string Program::last_of_both() const {
  const std::string output = readers_[0].last_lines(kept_lines);
  const std::string errors = readers_[1].last_lines(kept_lines);
  if (output.empty() || errors.empty()) return output + errors;
  return "standard output:\n" + output + "\nstandard error:\n" + errors;
}

}  // namespace sweetspot::workload::command
