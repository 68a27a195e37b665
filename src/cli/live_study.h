#pragma once
#include <optional>
#include <string>
#include <vector>

#include "study/loop.h"

namespace sweetspot::cli {

struct LiveFacts {
  std::string title;                   // "tuning paper-cnn on mnist"
  double precision = 0.02;             // that each interval is closing in on
  std::optional<std::size_t> planned;  // trials in all, where that is known
};

// Shows a study on stderr: on a terminal the trial that runs, its interval closing in and the curve
// so far, redrawn in place; elsewhere a plain line for each finished trial.
class LiveStudy : public study::Observer {
 public:
  explicit LiveStudy(LiveFacts facts);
  ~LiveStudy() override { clear(); }
  LiveStudy(const LiveStudy&) = delete;
  LiveStudy& operator=(const LiveStudy&) = delete;

  void resumed(std::span<const trial::Trial> trials) override;
  void started(const trial::Setting& setting) override;
  void sight(const measure::Sight& sight) override;
  void finished(const trial::Trial& trial) override;
  void clear();  // before anything else is printed

 private:
  std::string eta() const;
  void draw(const std::string& status);

  LiveFacts facts_;
  bool terminal_, colour_, utf8_;
  std::size_t lines_shown_ = 0, measured_here_ = 0;
  double seconds_here_ = 0;
  std::vector<trial::Trial> trials_;
};

// "batch 128: 9,100 samples/s ±1.8%, step 14.1 ms, 60 steps, precise"
std::string trial_line(const trial::Trial& trial);
// "batch 128, sampling: 34 steps, 9,100 samples/s ±3.2% on its way to ±2%"
std::string sight_line(const measure::Sight& sight, double precision);

}  // namespace sweetspot::cli
