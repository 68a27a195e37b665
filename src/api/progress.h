#pragma once
#include <sweetspot/options.h>

#include <exception>

#include "study/loop.h"

namespace sweetspot::api {

// The value of measure()'s `stop` that cancels this trial.
constexpr int stop_at_once = 2;

// Forwards the loop's events to the caller's function. Its exceptions would be taken for a failed
// trial: they are kept here and stop the study instead.
class Teller : public study::Observer {
 public:
  Teller(const std::function<void(const Progress&)>& progress, std::atomic<int>& stop)
      : progress_(progress), stop_(stop) {}
  void started(const trial::Setting& setting) override;
  void sight(const measure::TrialProgress& sight) override;
  void finished(const trial::Trial& trial) override;
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  void tell(const Progress& progress);

  const std::function<void(const Progress&)>& progress_;
  std::atomic<int>& stop_;
  std::exception_ptr thrown_;
};

}  // namespace sweetspot::api
