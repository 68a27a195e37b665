// Trials and settings as JSON, and what others may have written.
#include "store/trial_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/support.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::json;

TEST(TrialJson, HasEveryField) {
  trial::Trial expected = full_trial();
  expected.raw.clear(), expected.trace.clear();
  expect_equal(store::trial_of(store::json_of(full_trial())).value(), expected);
  expect_equal(store::trial_of(store::json_of(trial::Trial{})).value(), {});
}

TEST(TrialJson, HasNothingOfWhatIsUnknown) {
  const Json json = Json::parse(store::json_of(trial::Trial{}));
  for (const char* unknown : {"memory_measured_bytes", "phase_seconds", "epochs", "note"})
    EXPECT_FALSE(json.contains(unknown)) << unknown;
}

TEST(TrialJson, OfOthersIsUnknownWhereItMakesNoSense) {
  const std::vector<Json> nonsense{
      nullptr, true, -7, 1e300, 1ULL << 63, "text", Json::array({1}), Json::object({{"mean", 1}})};
  const Json whole = Json::parse(store::json_of(full_trial()));
  for (const auto& [field, value] : whole.items())
    for (const Json& other : nonsense) {
      SCOPED_TRACE(field + " " + other.dump());
      Json body = whole;
      body[field] = other;
      const auto trial = store::trial_of(body.dump());
      EXPECT_EQ(trial.has_value(), field != "outcome");
      body.erase(field);
      EXPECT_EQ(store::trial_of(body.dump()).has_value(), field != "outcome");
    }
  Json body = whole;
  body["samples_per_second"].erase(2);
  body["energy_joules"] = "much", body["steps"] = "many", body["stop_reason"] = "tired";
  body["setting"]["workers"] = 1LL << 40;
  body["losses"] = {{{"step", 1}, {"value", 2}}, 7, {{"step", 2}}};
  const trial::Trial trial = store::trial_of(body.dump()).value();
  EXPECT_EQ(trial.samples_per_second, std::nullopt);
  EXPECT_EQ(trial.energy_joules, std::nullopt);
  EXPECT_EQ(trial.steps, 0);
  EXPECT_EQ(trial.stop_reason, std::nullopt);
  EXPECT_EQ(trial.setting.configuration.workers, trial::Configuration().workers);
  EXPECT_EQ(trial.setting.seed, full_trial().setting.seed);
  EXPECT_EQ(trial.losses, (std::vector<trial::Loss>{{1, 2}}));
}

TEST(TrialJson, OfNoTrialIsNone) {
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"outcome":"splendid"})"})
    EXPECT_FALSE(store::trial_of(text)) << text;
}

TEST(SettingJson, HasEveryField) {
  const trial::Setting setting = full_trial().setting;
  EXPECT_EQ(store::setting_of(store::json_of(setting)), setting);
  EXPECT_EQ(store::setting_of(store::json_of(trial::Setting{})), trial::Setting{});
  for (const char* text : {"", "{}", R"({"batch":1})"})
    EXPECT_FALSE(store::setting_of(text)) << text;
}

}  // namespace
}  // namespace sweetspot::tests
