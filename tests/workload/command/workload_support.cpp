#include "workload/command/workload_support.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sweetspot::workload::command::testing_support {
namespace {

namespace fs = std::filesystem;
const std::string sources = SWEETSPOT_SOURCE_DIR;

std::string mark_of(const Options& options) {
  for (const auto& [name, value] : options.environment)
    if (name == "SWEETSPOT_TEST_TREE") return name + "=" + value;
  return "";
}

}  // namespace

Options program(const std::string& script, std::vector<std::string> arguments) {
  static int count = 0;
  Options options;
  options.argv = {"python3", "-B", sources + "/tests/fixtures/programs/" + script};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.batch_from_environment = true;
  options.environment = {
      {"PYTHONPATH", sources + "/clients/python"},
      {"SWEETSPOT_TEST_TREE", std::to_string(::getpid()) + "." + std::to_string(++count)}};
  options.timeout = core::Seconds(60);
  options.grace = core::Seconds(5);
  return options;
}

trial::Setting at(std::int64_t batch) {
  trial::Setting setting;
  setting.batch = batch;
  return setting;
}

Until::Clock::time_point deadline_in(core::Seconds time) {
  return Until::Clock::now() + std::chrono::duration_cast<Until::Clock::duration>(time);
}

trial::Trial measured(CommandWorkload& workload, const trial::Setting& setting,
                      std::optional<core::Seconds> budget) {
  measure::MeasureOptions quick;
  quick.precision = 0.5;
  quick.max_time = core::Seconds(5);  // for a machine that is busy: four steps are enough
  quick.max_warm_up = core::Seconds(0.05);
  quick.min_steps = 4;
  quick.min_time = core::Seconds(0);
  workload::Until until;
  if (budget) until.deadline = deadline_in(*budget);
  return measure::measure(workload, setting, quick, {}, until);
}

int processes_left(const Options& options) {
  const std::string mark = mark_of(options);
  int left = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    left += environment.find(mark) != std::string::npos;
  }
  return left;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace sweetspot::workload::command::testing_support
