#include "workload/command/client_steps.h"

#include <algorithm>
#include <utility>

namespace sweetspot::workload::command::client {

void Steps::begin(const Begin& begin, double now) {
  if (accept(begin.at_seconds, now)) mark(begin.at_seconds);
}

void Steps::step(const StepEnd& step, double now) {
  const bool gap = std::exchange(dropped_, std::max(dropped_, step.dropped)) < step.dropped;
  if (!accept(step.at_seconds, now)) return;
  if (step.samples && *step.samples % step.updates == 0) stride_.add(*step.samples / step.updates);
  const std::optional<double> start = gap ? std::nullopt : mark_;
  mark(step.at_seconds);
  // Two steps at the same moment have no measurable duration.
  if (!start || step.at_seconds <= *start) return;

  trial::Step done;
  done.seconds = step.at_seconds - *start;
  done.updates = step.updates;
  done.samples = step.samples.value_or(step.updates * batch_);
  if (step.data_wait_seconds) {
    const double waited = std::min(*step.data_wait_seconds, done.seconds);
    done.phases[static_cast<std::size_t>(trial::Phase::data_wait)] = waited;
    // What the rest was spent on is unknown.
    done.phases[static_cast<std::size_t>(trial::Phase::overhead)] = done.seconds - waited;
  }
  steps_.push_back(done);
}

std::optional<trial::Step> Steps::take() {
  if (steps_.empty()) return std::nullopt;
  const trial::Step step = steps_.front();
  steps_.pop_front();
  return step;
}

// Not before the previous line, and not in the future: a different clock would do either.
bool Steps::accept(double at, double now) {
  constexpr double rounding_seconds = 1e-3;
  if (at >= last_ && at <= now + rounding_seconds) return true;
  ++bad_;
  mark_.reset();
  return false;
}

void Steps::mark(double at) {
  if (!first_mark_) first_mark_ = at;
  last_ = at;
  mark_ = at;
}

}  // namespace sweetspot::workload::command::client
