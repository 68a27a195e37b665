// Where a step's time goes: the tables, the JSON and the trace.
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/support.h"
#include "rendered.h"
#include "report/table.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> profile(std::vector<std::string> more) {
  std::vector<std::string> arguments{"profile", "--model", "small-cnn", "--data", "synthetic:64",
                                     "--steps", "2",       "--threads", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Profile, ShowsPhasesAndOperationsOfEachBatch) {
  const Finished finished = run(profile({"--batch", "4,16"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  for (const char* row : {"data_wait", "backward", "conv2d", "waiting"})
    EXPECT_EQ(std::ranges::count(column_of(finished.out), row), 2) << row << finished.out;
  EXPECT_WORDS(without_numbers(headings_of(finished.out)));
}

TEST(Profile, HasALineForEachLayerWithin80Columns) {
  const TemporaryFolder folder;
  const auto model = folder.path() / "model.json";
  write_file(model, R"({"class_name": "Sequential", "config": {"name": "normed", "layers": [
    {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 8, 8, 4]}},
    {"class_name": "SeparableConv2D", "config": {"name": "separable", "filters": 8, "kernel_size": [3, 3], "activation": "tanh"}},
    {"class_name": "BatchNormalization", "config": {"name": "normalised_with_a_long_name"}},
    {"class_name": "GlobalAveragePooling2D", "config": {"name": "average"}},
    {"class_name": "Dense", "config": {"name": "last", "units": 3, "activation": "softmax"}}]}})");
  const Finished finished = run({"profile", "--model", model.string(), "--data", "synthetic:64",
                                 "--steps", "2", "--batch", "4"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::size_t table = finished.out.find("| operation, ms");
  ASSERT_NE(table, std::string::npos) << finished.out;
  std::map<std::string, int> names;
  std::istringstream lines(finished.out.substr(table));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    EXPECT_LE(report::display_width(line), 80u) << line;
    ++names[line.substr(0, line.find('|', 1))];
  }
  for (const char* name : {"| separable             ", "| normalised_with_a_lo… "})
    EXPECT_TRUE(names.contains(name)) << name << finished.out;
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
}

TEST(Profile, BarsAreAsciiWithoutUtf8) {
  Launch launch;
  launch.arguments = profile({"--batch", "4"});
  launch.environment = {{"LC_ALL", "C"}};
  const Finished plain = run(launch);
  EXPECT_THAT(plain.out, AllOf(HasSubstr("##"), Not(HasSubstr("█"))));
}

TEST(Profile, SaysWhatElseTheMachineDid) {
  const Finished finished = run(profile({"--batch", "4", "--json"}));
  const Json contention = json_of(finished)["profiles"][0]["contention"];
  // Whether it was, only the machine knows; both forms say the same.
  EXPECT_EQ(contention["contended"].get<bool>(),
            finished.err.find("the machine was contended at batch 4 (") != std::string::npos)
      << finished.err;
  EXPECT_EQ(contention["contended"].get<bool>(), contention["reason"].is_string());
}

TEST(Profile, JsonSharesAddUp) {
  const Json json = json_of(run(profile({"--batch", "4,16", "--accumulation", "2", "--json"})));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["model"], "small-cnn");
  ASSERT_EQ(json["profiles"].size(), 2u);
  for (const Json& found : json["profiles"]) {
    EXPECT_EQ(found["setting"]["accumulation"], 2);
    EXPECT_EQ(found["setting"]["micro_batch"].get<int>() * 2, found["setting"]["batch"]);
    EXPECT_EQ(found["steps"], 2);
    EXPECT_EQ(found["profiled_steps"], 2);
    EXPECT_GT(found["samples_per_second"].get<double>(), 0);
    double phases = 0, operations = 0;
    for (const auto& [name, share] : found["phases"].items()) phases += share.get<double>();
    for (const Json& operation : found["operations"])
      operations += operation["share"].get<double>();
    for (const Json& operation : found["operations"]) {
      const double seconds = operation["forward_seconds"].get<double>() +
                             operation["backward_seconds"].get<double>() +
                             operation["update_seconds"].get<double>();
      if (operation["name"] == "waiting")
        EXPECT_TRUE(operation["floor_seconds"].is_null());
      else
        EXPECT_NEAR(
            operation["floor_seconds"].get<double>() * operation["times_floor"].get<double>(),
            seconds, 1e-9 + 1e-6 * seconds)
            << operation["name"];
    }
    EXPECT_NEAR(phases, 1, 1e-6);
    EXPECT_NEAR(operations, 1, 1e-6);
  }
  EXPECT_EQ(json["profiles"][0]["setting"]["batch"], 4);
}

TEST(Profile, TraceIsOneJsonObjectOfEvents) {
  const TemporaryFolder folder;
  const auto file = folder / "trace.json";
  const Finished finished = run(profile({"--batch", "4,16", "--trace", file.string()}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json trace = Json::parse(read_file(file));
  int steps = 0, operations = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    steps += event.at("name") == "step";
    operations += event.at("name") == "conv2d";
  }
  EXPECT_EQ(steps, 4);
  EXPECT_GE(operations, 4 * 2) << "forward and backward of each step";
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
    ++files;
  EXPECT_EQ(files, 1) << "nothing is left beside it";
}

TEST(Profile, RefusesWhatCannotBeDoneBeforeRunning) {
  expect_sentence(run(profile({"--batch", "65"})), 2);
  expect_sentence(run(profile({"--batch", "4", "--trace", "/nowhere/trace.json"})), 2);
  expect_sentence(run(profile({"--batch", "4", "--steps", "0"})), 2, "--steps");
  expect_sentence(run(profile({"--batch", "5", "--accumulation", "2"})), 2);
}

TEST(Doctor, SaysWhatTheMachineReachesAndKeepsIt) {
  const TemporaryFolder cache;
  Launch launch;
  launch.arguments = {"doctor", "--json"};
  launch.environment = {{"XDG_CACHE_HOME", cache.path().string()}};
  const Json first = json_of(run(launch));
  EXPECT_GT(first["roofline"]["flops_per_second"].get<double>(), 0);
  EXPECT_GT(first["roofline"]["bytes_per_second"].get<double>(), 0);
  EXPECT_EQ(json_of(run(launch))["roofline"], first["roofline"]) << "measured once";
  EXPECT_TRUE(std::filesystem::exists(cache / "sweetspot/roofline.json"));
}

}  // namespace
}  // namespace sweetspot::tests
