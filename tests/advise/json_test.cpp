#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "advise/answer.h"
#include "advise/made.h"

namespace sweetspot::advise {
namespace {

// Values of every kind, with as much left out as given.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  bool heads() { return random_() % 2 == 0; }
  std::int64_t size() { return static_cast<std::int64_t>(random_() % 100'000) + 1; }
  double real() { return std::uniform_real_distribution(0.0, 1e6)(random_); }
  std::string text() { return heads() ? "a \"note\" – µs\n\t" + std::to_string(random_()) : "x"; }
  template <class Enum>
  Enum one_to(Enum last) {
    return static_cast<Enum>(random_() % (static_cast<unsigned>(last) + 1));
  }
  template <class Make>
  auto maybe(const Make& make) {
    return heads() ? std::optional(make()) : std::nullopt;
  }
  core::Interval interval() { return {real(), real(), real()}; }

 private:
  std::mt19937 random_;
};

BatchRow random_row(Dice& dice) {
  BatchRow row;
  const auto real = [&] { return dice.real(); };
  const auto interval = [&] { return dice.interval(); };
  row.batch = dice.size();
  row.samples_per_second = dice.maybe(interval), row.share = dice.maybe(interval);
  row.within_tolerance = dice.maybe(real);
  row.memory = dice.maybe([&] { return std::uint64_t(-1) - static_cast<unsigned>(dice.size()); });
  row.limited_by = dice.maybe([&] { return dice.one_to(Bottleneck::memory_capacity); });
  row.outcome = dice.one_to(trial::Outcome::cancelled);
  if (dice.heads()) row.note = dice.text();
  return row;
}

Recommendation random_recommendation(Dice& dice) {
  Recommendation r;
  const auto real = [&] { return dice.real(); };
  const auto size = [&] { return dice.size(); };
  const auto bytes = [&] { return static_cast<core::Bytes>(dice.size()); };
  r.setting.accumulation = dice.size();
  r.batch = dice.size();
  r.setting.batch = r.batch * r.setting.accumulation;
  if (dice.heads())
    r.global_batch = r.setting.batch;
  else
    r.batch = r.setting.batch;
  r.setting.configuration.precision = dice.text();
  r.setting.learning_rate = dice.real();
  r.setting.configuration.workers = static_cast<int>(dice.size()),
  r.setting.configuration.prefetch = 3;
  r.setting.seed = static_cast<std::uint64_t>(dice.size());
  r.command = dice.text();
  r.objective = dice.one_to(search::Objective::max_batch);
  r.tolerance = dice.real();
  r.best_batch = dice.size();
  r.samples_per_second = dice.real(), r.best_samples_per_second = dice.real();
  r.throughput_share = dice.real();
  r.memory_bytes = dice.maybe(bytes), r.memory_limit = dice.maybe(bytes);
  r.has_run_memory = dice.heads();
  r.memory_device = dice.text();
  r.batch_is = dice.one_to(trial::BatchIs::per_gpu);
  r.gpus = dice.maybe(size);
  r.largest_batch = dice.maybe(size);
  r.limited_by = dice.maybe([&] { return dice.one_to(Bottleneck::memory_capacity); });
  r.data_wait_share = dice.maybe(real);
  r.slow_kernel = dice.maybe([&] { return SlowKernel{dice.text(), size(), real(), real()}; });
  r.roofline = dice.maybe([&] { return RooflineShare{dice.maybe(real), dice.maybe(real)}; });
  r.knee_low = size(), r.knee_high = size(), r.alike_low = size(), r.alike_high = size();
  r.regret = dice.real();
  r.step_cost = dice.maybe([&] { return StepCost{dice.real(), dice.real()}; });
  for (int i = 0; i < 5; ++i) {
    r.rows.push_back(random_row(dice));
    r.rows.back().batch += i * 1'000'000;  // ascending
  }
  r.worker_search = dice.maybe([&] {
    return WorkerSearch{3, {{size(), 2, real()}, {size(), 4, real()}}};
  });
  r.loader_check = dice.maybe([&] {
    return LoaderCheck{2, 3, real(), dice.maybe(real), dice.maybe(real), dice.maybe(bytes)};
  });
  if (dice.heads()) r.loading_batch = size(), r.loading_advice = LoaderAdvice{4, 5, real()};
  r.noise = dice.maybe([&] {
    return trial::GradientNoise{dice.maybe([&] { return dice.interval(); }),
                                dice.maybe([&] { return dice.interval(); }), real()};
  });
  r.learning_rate = dice.maybe([&] {
    LearningRate rate;
    const auto rule = [&] { return dice.one_to(convergence::LearningRateRule::surge); };
    rate.base = {real(), size(), dice.heads(), dice.maybe(rule)};
    rate.rule = rule(), rate.noise_scale = dice.maybe(real);
    rate.by_rule = real(), rate.rate = r.setting.learning_rate;
    if (dice.heads()) rate.tried = {{real(), size(), dice.maybe(real)}, {real(), size(), {}}};
    return rate;
  });
  r.given_up = dice.maybe([&] {
    return GivenUp{size(), real(), real(), dice.maybe(bytes), dice.maybe(real), dice.maybe(real)};
  });
  if (dice.heads()) {
    r.ranks = 2 + size();
    r.scaling = trial::Scaling{r.ranks, real(), real(), real(), dice.interval()};
  }
  r.slowed_share = dice.maybe(real);
  r.contended = dice.heads();
  if (dice.heads()) r.contention_reason = dice.text();
  r.previous_batch = dice.maybe(size);
  r.cut_short = dice.maybe([&] {
    return static_cast<trial::End>(static_cast<int>(trial::End::stopped) + dice.size() % 4);
  });
  r.budget_seconds = dice.maybe(real);
  if (dice.heads()) r.notes = {dice.text(), dice.text()};
  for (int i = 0; i < 3; ++i) r.reasons.push_back(dice.one_to(Reason::note));
  return r;
}

std::string to_json(const Recommendation& made) { return to_json(Answer{made}); }

std::optional<Recommendation> from_json(const std::string& text) {
  const auto answer = answer_from_json(text);
  return answer && answer->get<Recommendation>() ? std::optional(*answer->get<Recommendation>())
                                                 : std::nullopt;
}

TEST(RecommendationJson, AnyRecommendationSurvives) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const Recommendation made = random_recommendation(dice);
    const auto again = from_json(to_json(made));
    ASSERT_TRUE(again) << seed << to_json(made);
    EXPECT_TRUE(*again == made) << seed << "\n" << to_json(made) << "\n" << to_json(*again);
  }
}

TEST(RecommendationJson, CarriesFiguresWithUnitsAndTheWords) {
  const std::vector<std::int64_t> sizes{16, 128, 1024};
  Facts facts;
  facts.limits.max = 60000;
  auto made = recommend(tests::made_trials(sizes, 0.002, 1e-4),
                        tests::made_decision(sizes, 0.002, 1e-4, 128), facts);
  ASSERT_TRUE(made);
  made->command = "sweetspot train --batch 128";
  const auto json = nlohmann::json::parse(to_json(*made))["content"];
  EXPECT_EQ(json["batch"], 128);
  EXPECT_EQ(json["samples_per_second"], made->samples_per_second);
  EXPECT_EQ(json["throughput_share"], made->throughput_share);
  EXPECT_EQ(json["memory_limit_bytes"], nullptr);
  EXPECT_EQ(json["sentence"], sentence(*made));
  EXPECT_EQ(json["command"], made->command);
  EXPECT_EQ(json["knee"]["low_batch"], 128);
  EXPECT_EQ(json["rows"][1]["samples_per_second"]["mean"], made->samples_per_second);
  EXPECT_EQ(json["reasons"][0]["kind"], "step_cost");
  EXPECT_EQ(json["reasons"][0]["text"], words(Reason::step_cost, *made));
}

TEST(RecommendationJson, ForeignTextIsNoRecommendation) {
  Dice dice(1);
  const std::string good = to_json(random_recommendation(dice));
  for (const char* text : {"", "{", "[]", "null", "7", "\"x\"", "{}", "{\"batch\": 128}"})
    EXPECT_FALSE(from_json(text)) << text;
  // Whatever stands in any place: never a throw, and nothing where it does not belong.
  const auto json = nlohmann::ordered_json::parse(good);
  for (const auto& [key, value] : json["content"].items())
    for (const auto& foreign :
         {nlohmann::ordered_json("x"), nlohmann::ordered_json(-1), nlohmann::ordered_json(1e300),
          nlohmann::ordered_json::array({1}), nlohmann::ordered_json::object()}) {
      auto changed = json;
      changed["content"][key] = foreign;
      (void)from_json(changed.dump());
    }
  for (const char* key : {"batch", "samples_per_second", "rows", "knee", "objective"}) {
    auto changed = json;
    changed["content"][key] = "x";
    EXPECT_FALSE(from_json(changed.dump())) << key;
    changed["content"].erase(key);
    EXPECT_FALSE(from_json(changed.dump())) << key;
  }
  auto changed = json;
  changed["content"]["accumulation"] = 0;
  EXPECT_FALSE(from_json(changed.dump()));
  changed = json;
  auto& rows = changed["content"]["rows"];
  rows[1]["batch"] = rows[0]["batch"];
  EXPECT_FALSE(from_json(changed.dump()));
  changed = json;
  changed["content"]["samples_per_second"] = -1;
  EXPECT_FALSE(from_json(changed.dump()));
  changed = json;
  changed["content"]["later"] = "what another version adds";
  EXPECT_TRUE(from_json(changed.dump()));
}

TEST(RecommendationJson, TextCutAnywhereIsNone) {
  Dice dice(2);
  const std::string good = to_json(random_recommendation(dice));
  for (std::size_t size = 0; size < good.size(); size += 7)
    EXPECT_FALSE(from_json(good.substr(0, size)));
}

}  // namespace
}  // namespace sweetspot::advise
