#include "report/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sweetspot::report {
namespace {

trial::Setting setting_of(std::int64_t batch, std::int64_t accumulation, int workers) {
  trial::Setting setting;
  setting.batch = batch, setting.accumulation = accumulation,
  setting.configuration.workers = workers;
  return setting;
}

TEST(CommandAt, FillsItsHolesAndLeavesDefaultsOut) {
  const Command command{{{"sweetspot", "train", "--data", "my data", "--batch", "{batch}"}},
                        {{"--accumulation", "{accumulation}"}, {"--accumulation", "1"}},
                        {{"--workers", "{workers}"}, {"--workers", "1"}}};
  EXPECT_EQ(command_at(command, setting_of(64, 1, 1)),
            "sweetspot train --data 'my data' --batch 64");
  EXPECT_EQ(command_at(command, setting_of(64, 4, 0)),
            "sweetspot train --data 'my data' --batch 64 --accumulation 4 --workers 0");
}

TEST(CommandAt, KnowsTheHolesOfAPrograms) {
  const Command command{
      {{"{micro_batch}x{accumulation}={batch}", "{precision}", "{prefetch}", "{lr}", "{other}"}}};
  EXPECT_EQ(command_at(command, setting_of(64, 4, 1)), "16x4=64 fp32 2 0.001 '{other}'");
}

TEST(CommandAt, QuotesWhatAShellWouldObey) {
  EXPECT_EQ(command_at({{{"a;b", "it's", "", "\033[1m"}}}, {}), R"('a;b' 'it'\''s' '' '\x1b[1m')");
}

TEST(CommandAt, WritesAssignmentsAndWhatTheShellObeys) {
  using Form = CommandPart::Form;
  const Command command{{{"cd", "my run"}},
                        {{"&&"}, {}, Form::shell},
                        {{"A={batch}", "B=x y={batch}", "C="}, {}, Form::assignments},
                        {{"./train", "A=b c"}}};
  EXPECT_EQ(command_at(command, setting_of(64, 1, 1)),
            "cd 'my run' && A=64 B='x y=64' C= ./train 'A=b c'");
}

}  // namespace
}  // namespace sweetspot::report
