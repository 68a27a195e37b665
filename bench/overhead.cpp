// What measuring costs: the steps of one session in a bare loop, against the same session's steps
// inside measure::measure with all it does around them, in turns, so that the machine's drift meets
// both alike. Prints the share of throughput lost at each batch; on a machine that others use, the
// share of time outside the steps is the one to read.
// Arguments: rounds (24), seconds of each half of a round (1), batches (4 100).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "measure/measure.h"
#include "probe/proc/host.h"
#include "stats/batch_means.h"
#include "stats/quantile.h"
#include "workload/native/workload.h"

namespace sweetspot::bench {
namespace {

namespace native = workload::native;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return core::Seconds(Clock::now() - start).count(); }

// Opens the one session there is, so that both sides step the same trainer in the same memory.
class OneSession final : public workload::Workload {
 public:
  explicit OneSession(workload::Session& session) : session_(session) {}
  std::string name() const override { return "one session"; }
  std::unique_ptr<workload::Session> open(const trial::Setting&) override {
    struct Borrowed final : workload::Session {
      explicit Borrowed(workload::Session& owner) : session(owner) {}
      trial::Step step() override { return session.step(); }
      std::optional<core::Bytes> memory() const override { return session.memory(); }
      workload::Session& session;
    };
    return std::make_unique<Borrowed>(session_);
  }

 private:
  workload::Session& session_;
};

double plain_seconds(workload::Session& session, std::int64_t steps) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) session.step();
  return since(start) / static_cast<double>(steps);
}

struct Measured {
  double seconds = 0;        // of wall time for each step
  double outside_share = 0;  // of it, spent outside of the steps
};
Measured measured(workload::Session& session, const trial::Setting& setting, std::int64_t steps) {
  OneSession workload(session);
  measure::MeasureOptions options;
  options.precision = 0;  // nothing but the number of steps ends it
  options.max_steps = steps;
  options.max_time = core::Seconds(1e6);
  const std::atomic<int> stop = 0;
  std::int64_t shown = 0;
  const auto start = Clock::now();
  const trial::Trial trial = measure::measure(
      workload, setting, options, [&](const measure::Sight&) { ++shown; }, stop);
  const double seconds = since(start);
  double in_steps = 0;
  for (const trial::Step& step : trial.raw) in_steps += step.seconds;
  return {seconds / static_cast<double>(trial.raw.size()), 1 - in_steps / seconds};
}

void compare(const native::Run& run, std::int64_t batch, int rounds, double half_seconds) {
  const trial::Setting setting{.batch = batch};
  const auto session = native::open_session(run, setting);
  plain_seconds(*session, 10);
  const auto steps =
      std::max<std::int64_t>(2, std::llround(half_seconds / plain_seconds(*session, 10)));
  std::vector<double> lost, outside;
  for (int round = 0; round < rounds; ++round) {
    double plain = 0;  // after the measured ones every second time
    if (round % 2 == 0) plain = plain_seconds(*session, steps);
    const Measured inside = measured(*session, setting, steps);
    if (round % 2 != 0) plain = plain_seconds(*session, steps);
    lost.push_back(1 - plain / inside.seconds);
    outside.push_back(inside.outside_share);
  }
  const auto interval = stats::mean_interval(lost);
  fmt::print("batch {}: {:.2f}% of a trial's time is outside its steps; throughput lost {:+.2f}%",
             batch, *stats::median(outside) * 100, *stats::median(lost) * 100);
  if (interval)
    fmt::print(" (mean {:+.2f}%, 95% interval {:+.2f}% to {:+.2f}%)", interval->mean * 100,
               interval->low * 100, interval->high * 100);
  fmt::print(", medians of {} rounds of {} steps\n", rounds, steps);
  std::fflush(stdout);
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  using namespace sweetspot;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 24;
  const double half_seconds = argc > 2 ? std::atof(argv[2]) : 1;
  std::vector<std::int64_t> batches;
  for (int i = 3; i < argc; ++i) batches.push_back(std::atoll(argv[i]));
  if (batches.empty()) batches = {4, 100};
  workload::native::Options options;
  options.data = "synthetic:60000";
  options.threads = probe::proc::usable_cores();
  const auto run = workload::native::open(options, [](std::string_view) {});
  for (const std::int64_t batch : batches) bench::compare(run, batch, rounds, half_seconds);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_overhead: {}\n", error.what());
  return 1;
}
