#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/command/options.h"
#include "workload/command/output/loss.h"
#include "workload/command/output/reader.h"
#include "workload/command/process/process.h"
#include "workload/command/step_counter.h"
#include "workload/command/step_source.h"

namespace sweetspot::workload::command {

// What the program prints while one setting is run.
class PrintedSteps final : public StepSource {
 public:
  PrintedSteps(const Options& options, const trial::Setting& setting, double since);

  void read(const process::Chunk& chunk);
  // Makes steps of what was read, and returns the metrics in it.
  std::vector<double> count();

  std::optional<double> first_mark() const override { return first_count_at_; }
  std::int64_t untimed_updates() const override;
  void tell(trial::SessionReport& report) const override;

  double last_sign_at() const { return last_sign_at_; }  // of a step
  std::vector<trial::Loss> losses() const { return losses_.losses(); }
  // Seconds in which it printed whole lines that are not bars: this detects a program that keeps
  // printing, not one that prints its settings at once.
  std::int64_t talking_seconds() const { return talking_seconds_; }
  output::Findings findings() const;      // of both streams
  output::Suggestion suggestion() const;  // for when no step was recognised
  // The last lines of its errors, else of its output.
  std::string last_output() const;
  std::string last_line() const;  // of the latest output, short
  // The last lines of both, each with its name if there are both.
  std::string last_of_both() const;

 private:
  void count(std::size_t stream, const std::vector<output::Advance>& advances);
  void note_talking(const process::Chunk& chunk);
  output::Counter counter() const;

  int ranks_;
  std::array<output::Reader, 2> readers_;
  std::size_t last_stream_ = 0;
  std::optional<std::size_t> counting_;  // the stream whose counter it is
  std::optional<double> first_count_at_;
  double last_output_at_ = 0, last_sign_at_;
  std::int64_t talking_seconds_ = 0, last_talking_second_ = 0;
  Counted counted_;
  output::LossCurve losses_;
};

}  // namespace sweetspot::workload::command
