// What measuring adds to the steps of a session: the device readings, and a trial's work between
// steps. A shared machine drifts by more than that from one second to the next, so the two
// alternate in blocks of some milliseconds, in random order, and only neighbours are compared.
// Arguments: total seconds (56), batches (4 100).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "median_interval.h"
#include "probe/proc/host.h"
#include "stats/quantile.h"
#include "telemetry/machine.h"
#include "telemetry/recorder.h"
#include "workload/native/workload.h"

namespace sweetspot::bench {
namespace {

namespace native = workload::native;
using Clock = std::chrono::steady_clock;

// The shorter, the less the machine drifts between neighbours.
constexpr double block_seconds = 0.005;
// A block with readings must contain some: they come ten times as often as in a trial, and the cost
// of one is known ten times as well.
constexpr double read_block_seconds = 0.02, dense_interval_seconds = 0.01;

double since(Clock::time_point start) { return core::Seconds(Clock::now() - start).count(); }

// Which of a pair comes first.
class Coin {
 public:
  bool toss() { return coin_(random_); }

 private:
  std::mt19937 random_{1};
  std::bernoulli_distribution coin_;
};

// Seconds per step, over at least this long.
double block(workload::Session& session, double at_least_seconds) {
  const auto start = Clock::now();
  double seconds = 0;
  std::int64_t steps = 0;
  for (; seconds < at_least_seconds; ++steps) session.step(), seconds = since(start);
  return seconds / static_cast<double>(steps);
}

// Shares of throughput, from their logarithms; `by`: the divisor of their cost.
std::string text(const std::vector<double>& logs, double by = 1) {
  const auto found = median_interval(logs);
  if (!found) return "unknown";
  return fmt::format("{:.4f} (95% interval {:.4f} to {:.4f})", std::exp(found->mean / by),
                     std::exp(found->low / by), std::exp(found->high / by));
}

void compare_readings(workload::Session& session, std::int64_t batch, double seconds) {
  telemetry::Machine& machine = telemetry::this_machine();
  const double usual_interval = machine.reading_interval_seconds;
  machine.reading_interval_seconds = dense_interval_seconds;
  std::vector<double> shares;
  std::size_t readings = 0;
  double read_seconds = 0;
  Coin coin;
  for (const auto start = Clock::now(); since(start) < seconds;) {
    const bool first = coin.toss();
    double took[2] = {};
    for (const bool read : {first, !first}) {
      const auto recorder =
          read ? telemetry::start_recorder(machine, "cpu", machine.now()) : nullptr;
      const auto began = Clock::now();
      session.step();  // the sampler's thread starts meanwhile
      took[read] = block(session, read_block_seconds);
      if (!read) continue;
      read_seconds += since(began);
      trial::Trial trial;
      recorder->tell(trial);
      readings += trial.trace.size() - 2;  // without the first and the last one
    }
    shares.push_back(std::log(took[0] / took[1]));
  }
  machine.reading_interval_seconds = usual_interval;
  const double per_second = static_cast<double>(readings) / read_seconds;
  fmt::print("batch {}: throughput with {:.0f} readings a second beside none: {}, {} pairs\n",
             batch, per_second, text(shares), shares.size());
  fmt::print("batch {}: that is with the {:.0f} a second of a trial: {}\n", batch,
             1 / usual_interval, text(shares, per_second * usual_interval));
}

// Gives a trial the steps of a session alternately one by one and as one block, which is a bare
// loop inside the trial.
class Turns final : public workload::Workload {
 public:
  struct Call {
    Clock::time_point began, ended;
    bool bare = false;
  };

  Turns(workload::Session& session, std::int64_t steps) : session_(session), steps_(steps) {}
  std::string name() const override { return "turns"; }
  std::unique_ptr<workload::Session> open(const trial::Setting&) override {
    struct Borrowed final : workload::Session {
      explicit Borrowed(Turns& its_owner) : owner(its_owner) {}
      trial::Step step(const workload::Until&) override { return owner.step(); }
      Turns& owner;
    };
    calls_.clear();
    return std::make_unique<Borrowed>(*this);
  }
  const std::vector<Call>& calls() const { return calls_; }
  std::size_t calls_of_pair() const { return static_cast<std::size_t>(steps_) + 1; }

 private:
  trial::Step step() {
    const std::size_t place = calls_.size() % calls_of_pair();
    if (place == 0) bare_first_ = coin_.toss();
    Call call{.began = Clock::now(), .ended = {}, .bare = false};
    call.bare = place == (bare_first_ ? 0 : calls_of_pair() - 1);
    trial::Step sum = session_.step();
    for (std::int64_t i = 1; call.bare && i < steps_; ++i) {
      const trial::Step one = session_.step();
      sum.seconds += one.seconds, sum.samples += one.samples, sum.updates += one.updates;
    }
    call.ended = Clock::now();
    calls_.push_back(call);
    return sum;
  }

  workload::Session& session_;
  const std::int64_t steps_;
  std::vector<Call> calls_;
  bool bare_first_ = false;
  Coin coin_;
};

// The sampled calls of trials.
struct OperationTimer {
  std::vector<double> shares;  // of throughput, as logarithms
  double between_seconds = 0, gaps = 0, stepping_seconds = 0, steps = 0;

  void add(const Turns& turns, std::size_t first_sampled) {
    const auto& calls = turns.calls();
    const auto length = [&](std::size_t from, Clock::time_point to) {
      return core::Seconds(to - calls[from].began).count();
    };
    for (std::size_t i = first_sampled; i + 1 < calls.size(); ++i, ++gaps)
      between_seconds += core::Seconds(calls[i + 1].began - calls[i].ended).count();
    const std::size_t pair = turns.calls_of_pair();
    for (std::size_t i = 0; i + pair < calls.size(); i += pair) {
      if (i < first_sampled) continue;
      const bool bare_first = calls[i].bare;
      const std::size_t bare = bare_first ? i : i + pair - 1;
      stepping_seconds += length(bare, calls[bare].ended);
      steps += static_cast<double>(pair) - 1;
      const std::size_t single = bare_first ? i + 1 : i;  // to the begin of what comes after them
      shares.push_back(std::log(length(bare, calls[bare].ended) /
                                length(single, calls[single + pair - 1].began)));
    }
  }
};

void compare_trial(workload::Session& session, std::int64_t batch, double seconds) {
  telemetry::Machine& machine = telemetry::this_machine();
  const double usual_interval = machine.reading_interval_seconds;
  machine.reading_interval_seconds = 0;  // the readings are compared separately
  const double guess = block(session, 4 * block_seconds);
  Turns turns(session, std::max<std::int64_t>(2, std::llround(block_seconds / guess)));
  measure::MeasureOptions options;
  options.precision = 0;  // until the trial's time limit
  const std::atomic<int> stop = 0;
  OperationTimer told;
  for (const auto start = Clock::now(); since(start) < seconds;) {
    const trial::Trial trial = measure::measure(
        turns, {.batch = batch}, options, [](const measure::TrialProgress&) {}, {stop});
    if (trial.outcome != trial::Outcome::ok) throw std::runtime_error(trial.note);
    told.add(turns, static_cast<std::size_t>(trial.warm_up_steps));
  }
  machine.reading_interval_seconds = usual_interval;
  const double between = told.between_seconds / told.gaps;
  const double step_seconds = told.stepping_seconds / told.steps;
  fmt::print("batch {}: a trial does {:.1f} µs of work between two steps of {:.0f} µs: {:.2f}%\n",
             batch, between * 1e6, step_seconds * 1e6, 100 * between / (step_seconds + between));
  fmt::print("batch {}: throughput of a trial's steps beside a bare loop's: {}, {} pairs\n", batch,
             text(told.shares), told.shares.size());
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

// The sampler takes one per interval; counter and processes only around the steps.
void print_cost_of_readings() {
  telemetry::Machine& machine = telemetry::this_machine();
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
  const double seconds = argc > 1 ? std::atof(argv[1]) : 56;
  std::vector<std::int64_t> batches;
  for (int i = 2; i < argc; ++i) batches.push_back(std::atoll(argv[i]));
  if (batches.empty()) batches = {4, 100};
  workload::native::Options options;
  options.data = "synthetic:60000";
  options.threads = probe::proc::usable_cores();
  const auto run = workload::native::open(options, [](std::string_view) {});
  bench::print_cost_of_readings();
  for (const std::int64_t batch : batches) {
    const double each = seconds / static_cast<double>(3 * batches.size());
    const auto session = workload::native::open_session(run, {.batch = batch});
    bench::compare_readings(*session, batch, each);
    bench::compare_trial(*session, batch, 2 * each);
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_overhead: {}\n", error.what());
  return 1;
}
