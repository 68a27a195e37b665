#include "advise/request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sweetspot::advise {
namespace {

Request made_request() {
  Request request;
  request.workload = R"({"model":{"name":"paper-cnn"}})";
  request.name = "before";
  request.limits.objective = search::Objective::energy;
  request.limits.min = 8, request.limits.max = 4096, request.limits.multiple_of = 8;
  request.limits.tolerance = 0.1;
  request.limits.memory.limit = core::GiB;
  request.gpu_memory_limit = 2 * core::GiB;
  request.memory_share = 0.9;
  request.tried["precision"] = {"fp32", "bf16"};
  request.tried["power_limit_watts"] = {500.0, 300.0};
  request.towards = Request::Towards{{trial::Target::Metric::loss, 0.1}, true, 20, 100, {}};
  request.program_major = "0";
  request.machine = {"a CPU", 16};
  return request;
}

TEST(Request, ComesBackFromItsStudyKey) {
  const trial::StudyKey key = study_key("paper-cnn on mnist", made_request());
  EXPECT_EQ(key.workload, "tune paper-cnn on mnist to loss 0.1");
  const auto again = request_of(key);
  ASSERT_TRUE(again);
  EXPECT_EQ(study_key("paper-cnn on mnist", *again).json, key.json);
  EXPECT_EQ(title_of(key, *again), "paper-cnn on mnist");
  EXPECT_EQ(again->limits.max, 4096);
  EXPECT_EQ(again->towards->target.value, 0.1);
}

TEST(Request, OfAForeignKeyIsNone) {
  for (const char* key : {"", "no JSON", "[]", R"({"terms":3})", R"({"terms":{"kind":1}})",
                          R"({"terms":{"kind":"tune","limits":{"min":"x"}}})",
                          R"({"terms":{"kind":"tune","limits":{"min":64,"max":8}}})"})
    EXPECT_FALSE(request_of({"tune", key})) << key;
  EXPECT_TRUE(request_of({"tune", R"({"terms":{"kind":"tune"}})"})) << "the rest is as by default";
}

TEST(RunFacts, LimitARunAsItsReportSays) {
  Request request = made_request();
  RunFacts facts;
  facts.memory_limit = core::MiB, facts.tolerance = 0.2;
  const auto environment = R"({"facts":)" + to_json(facts) + "}";
  const search::Limits limits = limits_of(request, run_facts_in(environment));
  EXPECT_EQ(limits.memory.limit, core::MiB);
  EXPECT_EQ(limits.memory.gpu_limit, 2 * core::GiB);
  EXPECT_EQ(limits.memory.gpu_share, 0.9);
  EXPECT_EQ(limits.tolerance, 0.1) << "a tune is asked with its own";
  request.batches = {64, 16};
  EXPECT_EQ(limits_of(request, facts).min, 16);
  EXPECT_EQ(limits_of(request, facts).tolerance, 0.2);
  EXPECT_FALSE(run_facts_in("no JSON").memory_limit);
}

TEST(End, HasANameAndAState) {
  for (int i = 0; i <= static_cast<int>(trial::End::device_lost); ++i) {
    const auto end = static_cast<trial::End>(i);
    EXPECT_EQ(trial::end_named(name(end)), end);
  }
  EXPECT_FALSE(trial::end_named("no"));
  EXPECT_EQ(state_name(trial::End::found), "finished");
  EXPECT_EQ(state_name(trial::End::budget), "stopped");
  EXPECT_EQ(state_name(trial::End::running), "running");
}

}  // namespace
}  // namespace sweetspot::advise
