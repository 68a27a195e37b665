// What supervision costs a training program: the same child, busy on every core and printing a
// hundred lines a second, run plain and as a supervised tree (pipes read as they fill, memory
// sampled ten times a second), interleaved, so that drift affects both alike. Prints the share of
// throughput lost and, for shared machines, the supervisor's CPU time. Arguments: rounds (20),
// seconds of each half of a round (2).
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "data/origins.h"
#include "median_interval.h"
#include "probe/proc/host.h"
#include "stats/quantile.h"
#include "workload/command/process/process.h"

namespace sweetspot::bench {
namespace {

namespace fs = std::filesystem;
namespace process = workload::command::process;
using Clock = std::chrono::steady_clock;

constexpr std::size_t floats_per_thread = 4 << 20;  // 16 MiB: PSS has something to walk
constexpr std::size_t floats_per_unit = 1 << 16;    // some 20 µs of work: fine enough to count
constexpr double line_seconds = 0.01;               // a program that prints a lot
constexpr std::chrono::milliseconds between_readings{100};

double since(Clock::time_point start) { return core::Seconds(Clock::now() - start).count(); }

double own_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// The child: counts units of work done on all cores in the time, and writes the rate to a file.
void work(double seconds, const std::string& result) {
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> units = 0;
  const auto start = Clock::now();
  const auto loop = [&](bool prints) {
    std::vector<float> numbers(floats_per_thread, 1.0f);
    std::int64_t done = 0, lines = 0;
    for (std::size_t at = 0; !stop; at = (at + floats_per_unit) % floats_per_thread, ++done) {
      for (std::size_t i = at; i < at + floats_per_unit; ++i)
        numbers[i] = numbers[i] * 0.999f + 0.001f;
      if (prints && since(start) > static_cast<double>(lines) * line_seconds) {
        fmt::print("step {} loss {:.4f}\n", lines++, numbers[at]);
        std::fflush(stdout);
      }
    }
    units += done;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < probe::proc::usable_cores(); ++i) threads.emplace_back(loop, i == 0);
  std::this_thread::sleep_for(core::Seconds(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::ofstream(result) << static_cast<double>(units) / since(start);
}

class Comparison {
 public:
  explicit Comparison(double seconds)
      : result_(fs::temp_directory_path() / fmt::format("sweetspot-supervision-{}", getpid())),
        child_{fs::read_symlink("/proc/self/exe").string(), "--work", std::to_string(seconds),
               result_.string()} {}
  ~Comparison() {
    std::error_code ignored;
    fs::remove(result_, ignored);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  double plain() const {
    if (const std::string failure = data::run_program(child_, "/dev/null"); !failure.empty())
      throw std::runtime_error("the child " + failure);
    return rate();
  }

  double supervised() {
    const double cpu_before = own_cpu_seconds();
    const auto start = Clock::now();
    process::Process child({.argv = child_});
    auto next = Clock::now();
    while (!child.ended()) {
      std::vector<pollfd> wait;
      for (const int number : child.descriptors()) wait.push_back({number, POLLIN, 0});
      const core::Seconds left = next - Clock::now();
      poll(wait.data(), wait.size(), std::max(0, static_cast<int>(left.count() * 1e3)));
      for (const process::Chunk& chunk : child.take()) output_bytes_ += chunk.bytes.size();
      if (Clock::now() < next) continue;
      child.memory();
      next += between_readings;
    }
    const process::Ending ending = child.end(core::Seconds(0));
    if (ending.exit_code != 0) throw std::runtime_error("the supervised child failed");
    if (ending.memory) how_ = ending.memory->how;
    cpu_shares_.push_back((own_cpu_seconds() - cpu_before) / since(start));
    return rate();
  }

  const std::string& how() const { return how_; }
  const std::vector<double>& cpu_shares() const { return cpu_shares_; }
  std::size_t output_bytes() const { return output_bytes_; }

 private:
  double rate() const {
    double units_per_second = 0;
    if (!(std::ifstream(result_) >> units_per_second)) throw std::runtime_error("no result");
    return units_per_second;
  }

  fs::path result_;
  std::vector<std::string> child_;
  std::string how_ = "unknown";
  std::vector<double> cpu_shares_;  // of one core, spent supervising
  std::size_t output_bytes_ = 0;
};

void compare(int rounds, double seconds) {
  Comparison comparison(seconds);
  std::vector<double> lost;
  for (int round = 0; round < rounds; ++round) {
    double plain = 0;  // every second time after the supervised one
    if (round % 2 == 0) plain = comparison.plain();
    const double supervised = comparison.supervised();
    if (round % 2 != 0) plain = comparison.plain();
    lost.push_back(1 - supervised / plain);
  }
  fmt::print("throughput lost to supervision {:+.2f}%", *stats::median(lost) * 100);
  if (const auto interval = median_interval(lost))
    fmt::print(" (95% interval {:+.2f}% to {:+.2f}%)", interval->low * 100, interval->high * 100);
  fmt::print("; the supervisor used {:.2f}% of a core",
             *stats::median(comparison.cpu_shares()) * 100);
  fmt::print(", medians of {} rounds of {} s each; memory by {}; {} bytes of output a round\n",
             rounds, seconds, comparison.how(),
             comparison.output_bytes() / static_cast<std::size_t>(rounds));
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  using namespace sweetspot;
  if (argc == 4 && std::string(argv[1]) == "--work") {
    bench::work(std::atof(argv[2]), argv[3]);
    return 0;
  }
  bench::compare(argc > 1 ? std::atoi(argv[1]) : 20, argc > 2 ? std::atof(argv[2]) : 2);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_supervision: {}\n", error.what());
  return 1;
}
