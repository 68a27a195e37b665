// Records a machine: every block of rounds in which a few batches of a network are interleaved, as
// in `tune`, for replaying tunes on it later (tests/study/replay_test.cpp). The last column is the
// first batch again, entered twice: any difference between the two is noise.
//
//   bench_rounds MODEL SECONDS FILE [DEVICE [PRECISION [BATCH...]]]
//
// FILE is gzip: a line of JSON (model, machine, batches, rounds), then for each round a float with
// the other processes' share of the CPUs, for each column a float of log seconds per weight update,
// and a float with the columns whose blocks were slowed (1 for the first, 2 for the second, 4 ...;
// if the JSON says `slowed`). Rounds in which other processes of this machine took more than a
// twentieth are excluded: those are not neighbours of the virtual machine but local load.
#include "measure/rounds.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "probe/proc/host.h"
#include "stats/experiment.h"
#include "workload/native/workload.h"

namespace sweetspot::bench {
namespace {

constexpr double most_other_share = 0.05;

void write(const std::string& file, const std::string& model, const std::string& device,
           const std::vector<std::int64_t>& batches,
           const std::vector<std::vector<float>>& rounds) {
  const nlohmann::ordered_json head{
      {"model", model},
      {"machine", fmt::format("{}, {} cores", probe::proc::cpu().model.value_or("unknown CPU"),
                              probe::proc::usable_cores())},
      {"device", device},
      {"batches", batches},
      {"rounds", rounds.size()},
      {"slowed", true}};
  gzFile out = gzopen(file.c_str(), "wb9");
  if (!out) throw core::MachineError(fmt::format("{} cannot be written", file));
  const std::string line = head.dump() + "\n";
  gzwrite(out, line.data(), static_cast<unsigned>(line.size()));
  for (const std::vector<float>& round : rounds)
    gzwrite(out, round.data(), static_cast<unsigned>(round.size() * sizeof(float)));
  gzclose(out);
}

// A millionth of a log second is below any clock's resolution, and helps gzip.
float rounded(double log_seconds) {
  return static_cast<float>(std::round(log_seconds * 1e4) / 1e4);
}

void run(const std::string& model, double seconds, const std::string& file,
         const std::string& device, const std::string& precision,
         std::vector<std::int64_t> batches) {
  namespace native = workload::native;
  native::Options options;
  options.model = model;
  options.threads = probe::proc::usable_cores();
  options.device = native::choose_device(device);
  options.precision = native::precision_named(precision);
  const auto workload = native::make_workload(native::open(options, [](std::string_view) {}));
  std::vector<trial::Setting> settings;
  for (const std::int64_t batch : batches) {
    trial::Setting setting;
    setting.batch = batch, setting.configuration.precision = precision;
    settings.push_back(setting);
  }
  trial::Setting twice = settings[settings.size() / 2];
  twice.configuration.prefetch += 1;  // the only difference between the two entries
  settings.push_back(twice), batches.push_back(twice.batch);

  telemetry::Machine& machine = telemetry::this_machine();
  measure::RoundsOptions asked;
  asked.renews = device == "cpu";
  const measure::Watch nobody;
  const std::atomic<int> stop{0};
  measure::Rounds rounds(*workload, asked, nobody, {stop}, machine);
  std::vector<float> others;
  telemetry::Look before = telemetry::look(machine);
  while (rounds.elapsed_seconds() < seconds) {
    rounds.run(settings);
    const telemetry::Look after = telemetry::look(machine);
    others.push_back(
        static_cast<float>(telemetry::contention(before, after).other_cpu_share.value_or(0)));
    before = after;
  }
  std::vector<std::vector<float>> table(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) table[i].push_back(others[i]);
  std::vector<float> slowed(others.size());
  float column = 1;
  for (const trial::Trial& trial : rounds.blocks()) {
    for (const trial::Step& step : trial.raw) {
      if (!trial::is_block(step)) continue;
      const auto round = static_cast<std::size_t>(step.round - 1);
      table[round].push_back(rounded(std::log(step.seconds / static_cast<double>(step.updates))));
      if (step.slowed) slowed[round] += column;
    }
    column *= 2;
  }
  const std::size_t all = table.size();
  for (std::size_t i = 0; i < all; ++i) table[i].push_back(slowed[i]);
  std::erase_if(table, [&](const std::vector<float>& round) {
    return round.size() != settings.size() + 2 || round[0] > most_other_share;
  });
  if (!table.empty()) table.erase(table.begin());  // in which every session was opened
  write(file, workload->name(), device, batches, table);
  fmt::print("{}: {} rounds, {} kept\n", file, all, table.size());
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  if (argc < 4) {
    fmt::print(stderr, "usage: bench_rounds MODEL SECONDS FILE [DEVICE [PRECISION [BATCH...]]]\n");
    return 2;
  }
  std::vector<std::int64_t> batches;
  for (int i = 6; i < argc; ++i) batches.push_back(std::atoll(argv[i]));
  if (batches.empty()) batches = {1, 4, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024};
  sweetspot::bench::run(argv[1], std::atof(argv[2]), argv[3], argc > 4 ? argv[4] : "cpu",
                        argc > 5 ? argv[5] : "fp32", batches);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_rounds: {}\n", error.what());
  return 1;
}
