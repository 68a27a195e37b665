#pragma once
#include <optional>
#include <string>

#include "study/loop.h"

namespace sweetspot::cli {

struct LiveFacts {
  std::string title;                   // "tuning paper-cnn on mnist"
  double precision = 0.02;             // target of each interval
  std::optional<std::size_t> planned;  // total number of trials, if known
  double tolerance = 0.05;
  bool verbose = false;
};

// Shows a study on stderr: on a terminal one line that is rewritten, with the current answer and
// its certainty; elsewhere, and with --verbose, a plain line per trial.
class LiveStudy : public study::Observer {
 public:
  explicit LiveStudy(LiveFacts facts);
  ~LiveStudy() override { clear(); }
  LiveStudy(const LiveStudy&) = delete;
  LiveStudy& operator=(const LiveStudy&) = delete;

  void resumed(std::span<const trial::Trial> trials) override;
  void started(const trial::Setting& setting) override;
  void sight(const measure::TrialProgress& sight) override;
  void standing(const study::Standing& standing) override;
  void finished(const trial::Trial& trial) override;
  void clear();  // before anything else is printed

 private:
  // `detail` is left out if the line would be too long.
  void draw(const std::string& status, const std::string& detail = "");
  void talk(const std::string& line);

  LiveFacts facts_;
  bool terminal_, colour_;
  bool shown_ = false, in_rounds_ = false;
  std::size_t known_ = 0;
  std::string so_far_;  // the current answer
  bool told_of_waiting_ = false;
};

// "batch 128: 9,100 samples/s ±1.8%, step 14.1 ms, steps: 60, precise enough"
std::string trial_line(const trial::Trial& trial);
// "batch 128, sampling: 34 steps, 9,100 samples/s ±3.2% on its way to ±2%"
std::string sight_line(const measure::TrialProgress& sight, double precision);
// "batch 128: 37 lines, no step recognised yet: loss 0.31"
std::string waiting_line(const trial::Setting& setting, const workload::Waiting& waiting);
// "so far 128, 93% sure to be within 5%" of the best; empty before there is an answer
std::string standing_words(const study::Standing& standing, double tolerance);

}  // namespace sweetspot::cli
