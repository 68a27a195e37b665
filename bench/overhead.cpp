// What measuring costs: the steps of one session in a bare loop, against the same session's steps
// inside measure::measure without and with the sampler of the device, in turns, so that the
// machine's drift meets all alike. On a machine that others use, the cost of the readings by
// themselves is the number to trust. Arguments: seconds for all of it (40), batches (4 100).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "measure/measure.h"
#include "measure/surroundings.h"
#include "probe/proc/host.h"
#include "stats/batch_means.h"
#include "stats/quantile.h"
#include "workload/native/workload.h"

namespace sweetspot::bench {
namespace {

namespace native = workload::native;
using Clock = std::chrono::steady_clock;

constexpr double turn_seconds = 0.4;
constexpr std::size_t fewest_rounds = 4;

double since(Clock::time_point start) { return core::Seconds(Clock::now() - start).count(); }

// Opens the one session there is, so that both sides step the same trainer in the same memory, and
// notes when each step began and the last one ended.
class OneSession final : public workload::Workload {
 public:
  OneSession(workload::Session& session, std::int64_t steps) : session_(session) {
    times.reserve(static_cast<std::size_t>(2 * steps));
  }
  std::string name() const override { return "one session"; }
  std::unique_ptr<workload::Session> open(const trial::Setting&) override {
    struct Borrowed final : workload::Session {
      explicit Borrowed(OneSession& its_owner) : owner(its_owner) {}
      trial::Step step() override {
        owner.times.push_back(Clock::now());
        trial::Step step = owner.session_.step();
        owner.ended = Clock::now();
        return step;
      }
      std::optional<core::Bytes> memory() const override { return owner.session_.memory(); }
      OneSession& owner;
    };
    return std::make_unique<Borrowed>(*this);
  }
  std::vector<Clock::time_point> times;
  Clock::time_point ended;

 private:
  workload::Session& session_;
};

double plain_seconds(workload::Session& session, std::int64_t steps) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) session.step();
  return since(start) / static_cast<double>(steps);
}

// Wall time of each sampled step, and of what is done between them.
double measured_seconds(workload::Session& session, const trial::Setting& setting,
                        std::int64_t steps) {
  OneSession workload(session, steps);
  measure::MeasureOptions options;
  options.precision = 0;  // nothing but the number of steps ends it
  options.max_steps = steps;
  options.max_time = core::Seconds(1e6);
  options.max_warm_up = core::Seconds(0.05);
  options.patience = core::Seconds(0);  // both sides meet the machine as it is
  const std::atomic<int> stop = 0;
  std::int64_t shown = 0;
  const trial::Trial trial = measure::measure(
      workload, setting, options, [&](const measure::Sight&) { ++shown; }, stop);
  const auto first = workload.times.at(static_cast<std::size_t>(trial.warm_up_steps));
  return core::Seconds(workload.ended - first).count() / static_cast<double>(trial.steps);
}

void print_share(std::int64_t batch, const char* what, const std::vector<double>& shares,
                 std::int64_t steps) {
  fmt::print("batch {}: throughput of {}: {:.4f}", batch, what, *stats::median(shares));
  if (const auto interval = stats::mean_interval(shares))
    fmt::print(" (mean {:.4f}, 95% interval {:.4f} to {:.4f})", interval->mean, interval->low,
               interval->high);
  fmt::print(", {} rounds of {} steps\n", shares.size(), steps);
  std::fflush(stdout);
}

void compare(const native::Run& run, std::int64_t batch, double seconds) {
  const auto end = Clock::now() + core::Seconds(seconds);
  const trial::Setting setting{.batch = batch};
  const auto session = native::open_session(run, setting);
  plain_seconds(*session, 10);
  const auto steps =
      std::max<std::int64_t>(16, std::llround(turn_seconds / plain_seconds(*session, 10)));
  const double interval = measure::this_machine().reading_interval_seconds;
  const auto measured = [&](double reading_interval) {
    measure::this_machine().reading_interval_seconds = reading_interval;
    return measured_seconds(*session, setting, steps);
  };
  const std::function<double()> ways[] = {[&] { return plain_seconds(*session, steps); },
                                          [&] { return measured(0); },
                                          [&] { return measured(interval); }};
  std::vector<double> of_plain, of_unread;  // shares of throughput
  for (std::size_t round = 0; round < fewest_rounds || Clock::now() < end; ++round) {
    double took[3];
    for (std::size_t i = 0; i < 3; ++i) took[(round + i) % 3] = ways[(round + i) % 3]();
    of_plain.push_back(took[0] / took[2]);
    of_unread.push_back(took[1] / took[2]);
  }
  print_share(batch, "a trial's steps beside a bare loop's", of_plain, steps);
  print_share(batch, "steps with readings beside those without", of_unread, steps);
}

template <class Action>
void print_cost(const std::string& what, const Action& action) {
  constexpr int times = 100;
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const auto start = Clock::now();
    action();
    seconds.push_back(since(start));
  }
  fmt::print("{} takes {:.0f} µs (median of {}; the longest {:.0f} µs)\n", what,
             *stats::median(seconds) * 1e6, times, std::ranges::max(seconds) * 1e6);
}

// Of which the sampler takes one at each interval; counter and processes only around the steps.
void print_cost_of_readings() {
  measure::Surroundings& machine = measure::this_machine();
  fmt::print("one reading each {:g} s\n", machine.reading_interval_seconds);
  const auto meter = machine.meter("cpu");
  print_cost("a reading of the CPU", [&] { meter->read(); });
  const probe::gpu::Found found = probe::gpu::find();
  for (const auto& gpu : found.gpus) {
    print_cost("a reading of " + gpu->identity().name, [&] { gpu->read(); });
    print_cost("its counter of energy", [&] { gpu->energy_joules(); });
    print_cost("its list of processes", [&] { gpu->processes(); });
  }
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  using namespace sweetspot;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 40;
  std::vector<std::int64_t> batches;
  for (int i = 2; i < argc; ++i) batches.push_back(std::atoll(argv[i]));
  if (batches.empty()) batches = {4, 100};
  workload::native::Options options;
  options.data = "synthetic:60000";
  options.threads = probe::proc::usable_cores();
  const auto run = workload::native::open(options, [](std::string_view) {});
  bench::print_cost_of_readings();
  for (const std::int64_t batch : batches)
    bench::compare(run, batch, seconds / static_cast<double>(batches.size()));
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_overhead: {}\n", error.what());
  return 1;
}
