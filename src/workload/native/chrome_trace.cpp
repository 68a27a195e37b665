#include "workload/native/chrome_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sweetspot::workload::native {
namespace {

using engine::ThreadProfile;
using Times = ThreadProfile::Times;

constexpr double microseconds = 1e6;  // of a second

class Trace {
 public:
  void add(const Profile& profile) {
    ++process_;
    name("process_name", 0, fmt::format("batch {}", profile.setting.batch));
    for (const ProfiledStep& step : profile.steps) add(step);
  }
  std::string text() const {
    return nlohmann::ordered_json{{"traceEvents", events_}, {"displayTimeUnit", "ms"}}.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

 private:
  void add(const ProfiledStep& step) {
    const engine::StepResult& result = step.parts.result;
    const double forward = step.start + step.data_wait;
    const double backward = forward + result.forward.count();
    const double update = backward + result.backward.count();
    event(0, "step", step.start, step.seconds);
    event(0, "data_wait", step.start, step.data_wait);
    event(0, "forward", forward, result.forward.count());
    event(0, "backward", backward, result.backward.count());
    event(0, "optimizer", update, result.update.count());
    for (std::size_t thread = 0; thread < step.parts.threads.size(); ++thread) {
      add(step, thread, &Times::forward, forward);
      add(step, thread, &Times::backward, backward);
      add(step, thread, &Times::update, update);
    }
  }

  // The operations of one phase on one thread, in execution order.
  void add(const ProfiledStep& step, std::size_t thread, core::Seconds Times::*phase, double at) {
    const ThreadProfile& times = step.parts.threads[thread];
    const std::size_t count = times.operations.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = phase == &Times::backward ? count - 1 - i : i;
      const double seconds = (times.operations[which].*phase).count();
      if (seconds == 0) continue;
      event(thread, step.parts.operations[which].name, at, seconds);
      at += seconds;
    }
  }

  void event(std::size_t thread, const std::string& what, double start, double seconds) {
    events_.push_back({{"name", what},
                       {"ph", "X"},
                       {"ts", start * microseconds},
                       {"dur", seconds * microseconds},
                       {"pid", process_},
                       {"tid", thread}});
  }
  void name(const char* kind, std::size_t thread, const std::string& what) {
    events_.push_back({{"name", kind},
                       {"ph", "M"},
                       {"pid", process_},
                       {"tid", thread},
                       {"args", {{"name", what}}}});
  }

  nlohmann::ordered_json events_ = nlohmann::ordered_json::array();
  int process_ = 0;
};

}  // namespace

std::string chrome_trace(std::span<const Profile> profiles) {
  Trace trace;
  for (const Profile& profile : profiles) trace.add(profile);
  return trace.text();
}

}  // namespace sweetspot::workload::native
