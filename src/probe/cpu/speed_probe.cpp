#include "probe/cpu/speed_probe.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

namespace sweetspot::probe::cpu {

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  const int here = sched_getcpu();
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    const int core = (i + (here < 0 ? 0 : here)) % CPU_SETSIZE;
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

namespace {

// Additions per second over about ten microseconds.
double adding() {
  constexpr int times = 4096;
  std::uint64_t sums[8] = {};
  const auto start = Clock::now();
  for (int round = 0; round < times; ++round)
#pragma GCC unroll 8
    for (std::uint64_t& sum : sums) {
      ++sum;
      asm volatile("" : "+r"(sum));  // keeps it in a register, and the loop scalar
    }
  return 8.0 * times / since(start);
}

// The median over several: a moment in which another thread had the core does not count.
double additions_per_second() {
  constexpr double seconds = 5e-5;
  constexpr std::size_t most = 64;
  double found[most];
  std::size_t count = 0;
  for (const auto start = Clock::now(); count < most && (count == 0 || since(start) < seconds);)
    found[count++] = adding();
  std::nth_element(found, found + count / 2, found + count);
  return found[count / 2];
}

// More than an L1 cache, less than an L2 one: it is read from the neighbour's cache.
constexpr std::size_t floats_each = 64 * 1024 / sizeof(float);
constexpr std::size_t floats_a_line = 64 / sizeof(float);
constexpr int exchange_passes = 3;

}  // namespace

void SpeedProbe::Barrier::wait() {
  const int round = round_.load();
  if (arrived_.fetch_add(1) + 1 == members_) {
    arrived_ = 0;
    round_.fetch_add(1);
    return;
  }
  while (round_.load() == round) std::this_thread::yield();
}

SpeedProbe::SpeedProbe(int cores)
    : together_(cores),
      written_(static_cast<std::size_t>(cores), std::vector<float>(floats_each)),
      found_(written_.size()) {
  const std::vector<int> places = allowed_cores();
  try {
    for (std::size_t member = 0; member < found_.size(); ++member)
      members_.emplace_back([this, member, places] {
        if (member < places.size()) stay_on(places[member]);
        serve(member);
      });
  } catch (const std::system_error&) {  // the machine is at its thread limit: nothing is known
    end();
  }
}

SpeedProbe::~SpeedProbe() { end(); }

void SpeedProbe::end() {
  ending_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& member : members_) member.join();
  members_.clear();
}

SpeedReading SpeedProbe::take() {
  SpeedReading sum;
  if (members_.empty()) return sum;
  left_ = static_cast<std::uint32_t>(members_.size());
  round_.fetch_add(1);
  round_.notify_all();
  for (std::uint32_t left; (left = left_.load()) > 0;) left_.wait(left);
  for (const SpeedReading& found : found_) {
    sum.additions_per_second += found.additions_per_second;
    sum.exchange_bytes_per_second += found.exchange_bytes_per_second;
  }
  return sum;
}

void SpeedProbe::serve(std::size_t member) {
  for (std::uint32_t seen = 0;; ++seen) {
    round_.wait(seen);
    if (ending_) return;
    together_.wait();  // hardware threads of one core are slower together than one by one
    const double additions = additions_per_second();
    found_[member] = {additions, exchange(member)};
    left_.fetch_sub(1);
    left_.notify_one();
  }
}

// The best of the passes.
double SpeedProbe::exchange(std::size_t member) {
  if (written_.size() < 2) return 0;
  std::vector<float>& mine = written_[member];
  const std::vector<float>& others = written_[(member + 1) % written_.size()];
  double best = 0;
  for (int pass = 0; pass < exchange_passes; ++pass) {
    std::ranges::fill(mine, static_cast<float>(pass));
    together_.wait();
    const auto start = Clock::now();
    float sum = 0;
    for (std::size_t i = 0; i < floats_each; i += floats_a_line) sum += others[i];
    asm volatile("" : : "m"(sum));
    best = std::max(best, static_cast<double>(floats_each * sizeof(float)) / since(start));
    together_.wait();
  }
  return best;
}

}  // namespace sweetspot::probe::cpu
