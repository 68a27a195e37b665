// What the host and GPUs are doing, over a made-up NVIDIA driver or none.
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/support.h"
#include "rendered.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Launch monitor(std::vector<std::string> arguments, const char* driver) {
  Launch launch;
  launch.arguments = {"monitor"};
  launch.arguments.insert(launch.arguments.end(), arguments.begin(), arguments.end());
  launch.environment = {
      {"SWEETSPOT_NVML", driver}, {"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}, {"NO_COLOR", ""}};
  return launch;
}

constexpr const char* no_driver = "/nowhere/libnvidia-ml.so.1";

TEST(Monitor, WithoutADriverShowsTheHostAndSaysWhy) {
  const auto json = json_of(run(monitor({"--once", "--json"}, no_driver)));
  EXPECT_EQ(json.begin().key(), "schema_version");
  EXPECT_GE(json["host"]["usable_cores"], 1);
  EXPECT_GT(json["host"]["memory_total_bytes"], json["host"]["memory_available_bytes"]);
  EXPECT_TRUE(json["host"]["pressure_of_10_seconds"]["memory"].contains("full_share"));
  if (json["gpus"].empty()) {  // an AMD one may be there
    EXPECT_TRUE(json["no_gpu_reason"].is_string());
  }
  const Finished text = run(monitor({"--once"}, no_driver));
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("CPU"), HasSubstr("GPU"), Not(HasSubstr("\033"))));
}

TEST(Monitor, ShowsAGpu) {
  const auto json = json_of(run(monitor({"--once", "--json"}, FAKE_NVML)));
  EXPECT_TRUE(json["no_gpu_reason"].is_null());
  const auto& gpu = json["gpus"].at(0);
  EXPECT_EQ(gpu["name"], "NVIDIA Made-Up");
  EXPECT_EQ(gpu["driver"], "570.1");
  EXPECT_EQ(gpu["mig"], false);
  EXPECT_EQ(gpu["utilisation_share"], 0.37);
  EXPECT_EQ(gpu["memory_used_bytes"], 450);
  EXPECT_EQ(gpu["power_watts"], 450.5);
  EXPECT_EQ(gpu["throttle"]["power_cap"], true);
  EXPECT_EQ(gpu["processes"], nlohmann::json::array());
  const Finished text = run(monitor({"--once"}, FAKE_NVML));
  EXPECT_WORDS(text.out.substr(text.out.find("GPU 0")));
}

TEST(Monitor, JsonIsOneObjectALineUntilASignal) {
  Launch launch = monitor({"--json", "--interval", "100ms"}, FAKE_NVML);
  launch.signal = SIGINT;
  launch.signal_when_seen = "}\n{";
  const Finished finished = run(launch);
  EXPECT_EQ(finished.exit_code, 130);
  std::istringstream lines(finished.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(nlohmann::json::parse(line)["gpus"].size(), 1u);
  EXPECT_GE(count, 2);
}

TEST(Monitor, DrawsOverItselfOnATerminalAndLeavesItAsItWas) {
  Launch launch = monitor({"--interval", "100ms"}, FAKE_NVML);
  launch.stdout_terminal = true;
  launch.signal = SIGTERM;
  launch.signal_when_seen = "A\r";  // up to the block before
  const Finished finished = run(launch);
  EXPECT_EQ(finished.exit_code, 143);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("NVIDIA Made-Up"), HasSubstr("\033[36m"),
                                  HasSubstr("█"), Not(HasSubstr("\033[?"))));
  EXPECT_TRUE(finished.out.ends_with("\033[J")) << "below the last block";
  EXPECT_LT(finished.out.rfind("\033[36m"), finished.out.rfind("\033[0m")) << "a colour stays on";
}

TEST(Monitor, HasNoColourWhereNoneIsWanted) {
  Launch launch = monitor({"--once"}, FAKE_NVML);
  launch.stdout_terminal = true;
  launch.environment["NO_COLOR"] = "1";
  const std::string plain = run(launch).out;
  EXPECT_THAT(found_in(plain, {"m\033", "\033[36m", "\033[1m"}), IsEmpty());
  launch.environment["TERM"] = "dumb";
  EXPECT_THAT(found_in(run(launch).out, {"\033"}), IsEmpty());
  launch.environment["TERM"] = "xterm";
  launch.environment["LC_ALL"] = "C";
  EXPECT_THAT(run(launch).out, AllOf(HasSubstr("#######"), Not(HasSubstr("█"))));
}

TEST(Monitor, AnIntervalThatMakesNoSenseIsASentence) {
  for (const char* interval : {"0s", "1ms", "fast", "-1s", ""})
    expect_sentence(run(monitor({"--interval", interval}, no_driver)), 2);
}

}  // namespace
}  // namespace sweetspot::tests
