#include "workload/command/printed_steps.h"

#include <cmath>

#include "workload/command/output/tail.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command {
namespace {

constexpr std::size_t kept_lines = 40;  // of a program that failed

output::Reader reader_of(const Options& options) {
  output::Reader reader(options.steps_regex);
  if (options.metric) reader.look_for({*options.metric, options.metric_regex});
  return reader;
}

}  // namespace

PrintedSteps::PrintedSteps(const Options& options, const trial::Setting& setting, double since)
    : ranks_(options.ranks_of_batch()),
      readers_{reader_of(options), reader_of(options)},
      last_sign_at_(since),
      counted_(setting, ranks_) {}

void PrintedSteps::read(const process::Chunk& chunk) {
  readers_[chunk.error_stream].feed(chunk.bytes, chunk.at_seconds);
  last_output_at_ = chunk.at_seconds;
  last_stream_ = chunk.error_stream;
  note_talking(chunk);
}

void PrintedSteps::note_talking(const process::Chunk& chunk) {
  const auto second = static_cast<std::int64_t>(chunk.at_seconds);
  if (second == last_talking_second_ || chunk.bytes.find('\n') == std::string::npos ||
      is_bar(chunk.bytes))
    return;
  last_talking_second_ = second;
  ++talking_seconds_;
}

std::vector<double> PrintedSteps::count() {
  std::vector<double> metrics;
  for (std::size_t stream = 0; stream < readers_.size(); ++stream) {
    const std::vector<output::Advance> advances = readers_[stream].take();
    const std::vector<output::LossAt> losses = readers_[stream].take_losses();
    for (const double metric : readers_[stream].take_metrics()) metrics.push_back(metric);
    // Two streams may count the same steps: the first that does is used.
    if (counting_.value_or(stream) != stream) continue;
    for (const output::LossAt& each : losses)
      losses_.add(counted_.updates_at(each.count, readers_[stream].findings().counter), each.loss);
    if (!advances.empty()) count(stream, advances);
  }
  return metrics;
}

void PrintedSteps::count(std::size_t stream, const std::vector<output::Advance>& advances) {
  counting_ = stream;
  last_sign_at_ = last_output_at_;
  if (!first_count_at_) {
    first_count_at_ = last_output_at_;
    for (const output::Advance& advance : advances) *first_count_at_ -= advance.seconds;
  }
  if (const auto step = counted_.add(advances, counter())) add(*step);
}

output::Counter PrintedSteps::counter() const {
  return counting_ ? readers_[*counting_].findings().counter : output::Counter{};
}

std::int64_t PrintedSteps::untimed_updates() const {
  const output::Counter counter = this->counter();
  return counted_.updates_at(counter.untimed, counter);
}

void PrintedSteps::tell(trial::SessionReport& report) const {
  const output::Counter counter = this->counter();
  report.step_source = counter.source;
  if (!counter.counts_samples) report.steps_total = counter.total;
  if (counter.samples_per_step)
    report.samples_per_step = std::llround(*counter.samples_per_step) * ranks_;
  report.sample_stride = counted_.sample_stride();
}

output::Findings PrintedSteps::findings() const {
  output::Findings all = readers_[0].findings();
  const output::Findings& errors = readers_[1].findings();
  all.lines += errors.lines;
  all.counter = counter();
  if (!all.changed_batch) all.changed_batch = errors.changed_batch;
  if (!all.memory_evidence)
    all.memory_evidence = errors.memory_evidence, all.memory_message = errors.memory_message;
  all.regex_gave_up = all.regex_gave_up || errors.regex_gave_up;
  return all;
}

output::Suggestion PrintedSteps::suggestion() const {
  output::Suggestion of_output = readers_[0].suggestion(), of_errors = readers_[1].suggestion();
  return of_errors.kind < of_output.kind ? of_errors : of_output;  // by usefulness
}

std::string PrintedSteps::last_output() const {
  const std::string errors = readers_[1].last_lines(kept_lines);
  return telling_line(errors).empty() ? readers_[0].last_lines(kept_lines) : errors;
}

std::string PrintedSteps::last_line() const {
  constexpr std::size_t longest = 100;
  return output::printable_line(readers_[last_stream_].last_lines(1), longest);
}

std::string PrintedSteps::last_of_both() const {
  const std::string output = readers_[0].last_lines(kept_lines);
  const std::string errors = readers_[1].last_lines(kept_lines);
  if (output.empty() || errors.empty()) return output + errors;
  return "standard output:\n" + output + "\nstandard error:\n" + errors;
}

}  // namespace sweetspot::workload::command
