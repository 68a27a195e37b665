#include "workload/native/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sweetspot::workload::native {
namespace {

using nlohmann::json;

// A step of 10 ms on two threads: 1 ms of waiting, 3 forward, 4 backward, 2 of update.
Profile made_up() {
  ProfiledStep step;
  step.start = 5;
  step.seconds = 0.010;
  step.data_wait = 0.001;
  step.parts.result.forward = core::Seconds(0.003);
  step.parts.result.backward = core::Seconds(0.004);
  step.parts.result.update = core::Seconds(0.002);
  step.parts.operations = {{"conv \"1\"", "fast"}, {"dense", "fast"}};
  const core::Seconds ms(0.001), none(0);
  step.parts.threads = {{{{ms, 2 * ms, none}, {2 * ms, ms, ms}}, {}},
                        {{{ms, ms, none}, {ms, ms, ms}}, {}}};
  Profile profile;
  profile.setting.batch = 64;
  profile.steps = {step, step};
  return profile;
}

TEST(Trace, HasEveryStepPhaseAndOperationInMicroseconds) {
  const Profile profiles[] = {made_up(), made_up()};
  const json trace = json::parse(chrome_trace(profiles));
  int steps = 0, phases = 0, operations = 0, names = 0;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") {
      ++names;
      EXPECT_EQ(event["args"]["name"], "batch 64");
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_TRUE(event.at("ts").is_number() && event.at("pid").is_number_integer() &&
                event.at("tid").is_number_integer());
    const std::string name = event.at("name");
    if (name == "step") {
      ++steps;
      EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), 5e6);
      EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 1e4);
    } else if (name == "dense" || name == "conv \"1\"") {
      ++operations;
    } else {
      ++phases;
    }
  }
  EXPECT_EQ(names, 2);
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(phases, 4 * 4);
  EXPECT_EQ(operations, 4 * 2 * 5) << "conv has no update";
}

TEST(Trace, OperationsLieWithinTheirPhaseInTheOrderTheyRan) {
  const Profile profiles[] = {made_up()};
  const json trace = json::parse(chrome_trace(profiles));
  std::vector<std::pair<double, std::string>> on_thread_1;
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] == 1)
      on_thread_1.emplace_back(event["ts"].get<double>() - 5e6, event["name"]);
  ASSERT_GE(on_thread_1.size(), 4u);
  const std::vector<std::string> order{"conv \"1\"", "dense", "dense", "conv \"1\"", "dense"};
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(on_thread_1[i].second, order[i]) << i;
  EXPECT_NEAR(on_thread_1[0].first, 1000, 1e-3);  // after the waiting
  EXPECT_NEAR(on_thread_1[1].first, 2000, 1e-3);
  EXPECT_NEAR(on_thread_1[2].first, 4000, 1e-3);  // backward begins
  EXPECT_NEAR(on_thread_1[4].first, 8000, 1e-3);  // and the update
}

TEST(Trace, OfNothingIsStillATrace) {
  EXPECT_TRUE(json::parse(chrome_trace({})).at("traceEvents").empty());
}

}  // namespace
}  // namespace sweetspot::workload::native
