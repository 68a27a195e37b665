#pragma once
#include <sweetspot/options.h>

#include <exception>

#include "study/loop.h"

namespace sweetspot::api {

// What measure() takes for "give this trial up".
constexpr int stop_at_once = 2;

// Hands the loop's news to the caller's function. What that throws would be taken for the fault of
// a trial: it is kept here and stops the study instead.
class Teller : public study::Observer {
 public:
  Teller(const std::function<void(const Progress&)>& progress, std::atomic<int>& stop)
      : progress_(progress), stop_(stop) {}
  void started(const trial::Setting& setting) override;
  void sight(const measure::Sight& sight) override;
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
