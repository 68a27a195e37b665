// What the neighbours of a virtual machine do to its training: blocks of steps at a few batches in
// turns, and the machine's pulse between them. Prints how much of the time the machine was calm, a
// core was shared, or the cores were apart, and the median speed of each batch then. Arguments:
// model (paper-cnn), seconds (40), batches (16 64 512).
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure/surroundings.h"
#include "probe/proc/host.h"
#include "stats/quantile.h"
#include "workload/native/workload.h"

namespace sweetspot::bench {
namespace {

constexpr double block_seconds = 0.02;
constexpr int blocks_a_turn = 4;

enum State { calm, shared, apart };
constexpr std::array names = {"calm", "a core shared", "cores apart"};

State state(const trial::MachineSpeed& now, const measure::Yardstick& yardstick) {
  if (yardstick.is_slow({0, now.exchange})) return apart;
  return yardstick.is_slow({now.arithmetic, 0}) ? shared : calm;
}

struct Block {
  double samples_per_second = 0;
  trial::MachineSpeed begin, end;
};

using Blocks = std::map<std::int64_t, std::vector<Block>>;

Block block(workload::Session& session, const trial::MachineSpeed& begin) {
  double seconds = 0, samples = 0;
  while (seconds < block_seconds) {
    const trial::Step step = session.step();
    seconds += step.seconds, samples += static_cast<double>(step.samples);
  }
  return {samples / seconds, begin, *measure::look(measure::this_machine(), true).speed};
}

// A block counts for a state that it began and ended in.
void print(const Blocks& blocks, const measure::Yardstick& yardstick) {
  for (const auto& [batch, of_batch] : blocks) {
    std::array<std::vector<double>, names.size()> speeds;
    for (const Block& one : of_batch)
      if (const State began = state(one.begin, yardstick); began == state(one.end, yardstick))
        speeds[began].push_back(one.samples_per_second);
    fmt::print("batch {}:", batch);
    for (std::size_t i = 0; i < names.size(); ++i)
      fmt::print(
          " {} {:.0f}% of {} blocks, {:.0f} samples/s{}", names[i],
          100.0 * static_cast<double>(speeds[i].size()) / static_cast<double>(of_batch.size()),
          of_batch.size(), stats::median(speeds[i]).value_or(0), i + 1 < names.size() ? ";" : "\n");
  }
}

void run(const std::string& model, double seconds, const std::vector<std::int64_t>& batches) {
  workload::native::Options options;
  options.model = model;
  options.threads = probe::proc::usable_cores();
  const auto workload =
      workload::native::make_workload(workload::native::open(options, [](std::string_view) {}));
  measure::Surroundings& machine = measure::this_machine();
  std::map<std::int64_t, std::unique_ptr<workload::Session>> sessions;
  for (const std::int64_t batch : batches) sessions[batch] = workload->open({.batch = batch});
  Blocks blocks;
  for (const double start = machine.now(); machine.now() - start < seconds;)
    for (const auto& [batch, session] : sessions) {
      for (int i = 0; i < 3; ++i) session->step();  // its data comes back into the caches
      trial::MachineSpeed begin = *measure::look(machine, true).speed;
      for (int i = 0; i < blocks_a_turn; ++i)
        begin = blocks[batch].emplace_back(block(*session, begin)).end;
    }
  print(blocks, machine.yardstick);
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  std::vector<std::int64_t> batches;
  for (int i = 3; i < argc; ++i) batches.push_back(std::atoll(argv[i]));
  if (batches.empty()) batches = {16, 64, 512};
  sweetspot::bench::run(argc > 1 ? argv[1] : "paper-cnn", argc > 2 ? std::atof(argv[2]) : 40,
                        batches);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_neighbours: {}\n", error.what());
  return 1;
}
