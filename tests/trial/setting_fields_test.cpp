#include "trial/setting_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "trial/trial.h"

namespace sweetspot::trial {
namespace {

using testing::ElementsAre;

Setting all_unusual() { return {96, 3, 0.0125, 0xfedcba9876543210, {"bf16", 4, 5, 450.5}}; }

TEST(SettingFields, EachIsDeclaredOnceAndEveryMemberIs) {
  std::set<std::string> keys;
  std::int64_t of_configuration = 0;
  for (const SettingField& field : setting_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    of_configuration += field.is_of_configuration();
    EXPECT_NE(field.of(Setting{}), field.of(all_unusual())) << field.key;
  }
  const auto& [precision, workers, prefetch, power_limit_watts] = Configuration{};
  EXPECT_EQ(of_configuration, 4);
}

TEST(SettingFields, AreSaidWithTheirUnits) {
  const auto phrase = [](const char* key, const Value& value) {
    return setting_field(key).phrase(value);
  };
  EXPECT_EQ(phrase("precision", "bf16"), "bf16");
  EXPECT_EQ(phrase("workers", std::int64_t{1}), "1 worker");
  EXPECT_EQ(phrase("workers", std::int64_t{4}), "4 workers");
  EXPECT_EQ(phrase("prefetch", std::int64_t{3}), "prefetch 3");
  EXPECT_EQ(phrase("learning_rate", 0.01), "learning rate 0.01");
  EXPECT_EQ(phrase("power_limit_watts", 500.0), "500 W");
  EXPECT_EQ(phrase("power_limit_watts", {}), "its own power limit");
  EXPECT_EQ(setting_field("accumulation").words(std::int64_t{2048}), "2,048");
}

TEST(SettingFields, VaryInEachCombination) {
  const Tried tried{{"power_limit_watts", {700.0, 500.0}}, {"precision", {"fp32", "bf16"}}};
  std::vector<std::string> found;
  for (const Setting& each : variants_of({}, tried))
    found.push_back(
        each.configuration.precision +
        setting_field("power_limit_watts").words(*each.configuration.power_limit_watts));
  EXPECT_THAT(found, ElementsAre("fp32700 W", "fp32500 W", "bf16700 W", "bf16500 W"));
  EXPECT_THAT(variants_of(all_unusual(), {}), ElementsAre(all_unusual()));
}

TEST(SettingFields, OfVariantsAreAllButTheLoader) {
  Configuration loader{.workers = 7, .prefetch = 9}, limited{.power_limit_watts = 500};
  EXPECT_TRUE(is_same_variant({}, loader));
  EXPECT_FALSE(is_same_variant({}, limited));
}

TEST(StepsFrom, OfAClientIsThatWhateverItsName) {
  using Kind = StepsFrom::Kind;
  for (const char* name : {"", "python", "crossbar", "log lines", "whole runs"})
    EXPECT_EQ(StepsFrom::client(name).kind(), Kind::client) << name;
  EXPECT_EQ(StepsFrom::client("python").text, "client (python)");
  EXPECT_EQ(StepsFrom("Keras progress bar").kind(), Kind::bar);
  EXPECT_EQ(StepsFrom("log lines of samples").kind(), Kind::log_lines);
  EXPECT_EQ(StepsFrom("--steps-regex").kind(), Kind::log_lines);
  EXPECT_EQ(StepsFrom("whole runs").kind(), Kind::whole_runs);
  EXPECT_EQ(StepsFrom().kind(), Kind::engine);
}

}  // namespace
}  // namespace sweetspot::trial
