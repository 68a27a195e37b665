// A tune over two precisions: each has its own memory, clamp and limits, and the answer those of
// the one that it names.
#include <gtest/gtest.h>

#include "study/hooked.h"
#include "study/memory_store.h"
#include "tuning/tune.h"
#include "workload/fake/fake.h"

namespace sweetspot::study {
namespace {

using workload::fake::FakeWorkload;

// bf16 takes half of everything. fp32 may clamp its batch.
class TwoPrecisions final : public workload::Workload {
 public:
  TwoPrecisions(const workload::fake::Options& made, std::optional<std::int64_t> fp32_clamp)
      : fp32_(made), bf16_(halved(made)), fp32_clamp_(fp32_clamp) {}
  std::string name() const override { return "two precisions"; }
  workload::About about() const override {
    workload::About about = fp32_.about();
    if (fp32_clamp_) about.batch_destination = "as argument 3";
    return about;
  }
  workload::Switching switching() const override { return fp32_.switching(); }
  std::optional<core::Bytes> predict(const trial::Setting& setting,
                                     workload::Extent extent) const override {
    if (fp32_clamp_) return std::nullopt;
    return (is_bf16(setting) ? bf16_ : fp32_).predict(setting, extent);
  }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    if (is_bf16(setting)) return bf16_.open(setting);
    if (!fp32_clamp_) return fp32_.open(setting);
    trial::Setting used = setting;
    used.batch = std::min(setting.batch, *fp32_clamp_);
    return std::make_unique<tests::ReportsAnotherBatch>(fp32_.open(used), setting.batch);
  }

 private:
  static workload::fake::Options halved(workload::fake::Options made) {
    made.fixed_seconds /= 2, made.per_sample_seconds /= 2, made.memory_per_sample /= 2;
    return made;
  }
  static bool is_bf16(const trial::Setting& setting) {
    return setting.configuration.precision == "bf16";
  }

  FakeWorkload fp32_, bf16_;
  std::optional<std::int64_t> fp32_clamp_;
};

struct Variants : testing::Test {
  Variants() {
    made.fixed_seconds = 1.4e-3, made.per_sample_seconds = 1e-5, made.noise_share = 0.01;
    made.memory_fixed = 1 << 20, made.memory_per_sample = 1 << 10, made.samples = 8192;
    options.limits.max = 8192;
    options.variants = {{.configuration = {.precision = "bf16"}},
                        {.configuration = {.precision = "fp32"}}};
  }
  tuning::TuneResult run(std::optional<std::int64_t> fp32_clamp = {}) {
    TwoPrecisions workload(made, fp32_clamp);
    tests::Kept kept;
    tests::MemoryWriter writer(kept);
    Observer quiet;
    const std::atomic<int> stop{0};
    return tune(workload, writer, options, quiet, stop);
  }
  workload::fake::Options made;
  tuning::TuneOptions options;
};

// The last one searched overwrote what the command printed: the page had the winner's.
TEST_F(Variants, WhatIsPrintedIsTheWinners) {
  options.limits.memory.limit = (1 << 20) + 500 * core::KiB;
  const tuning::TuneResult result = run();
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(result.recommendation()->setting.configuration.precision, "bf16");
  EXPECT_EQ(result.recommendation()->largest_batch, 1000);
  EXPECT_EQ(result.facts.largest_fitting, result.recommendation()->largest_batch);
  EXPECT_EQ(result.facts.predict_run(64), core::Bytes{(1 << 20) + 64 * 512});
}

TEST_F(Variants, AClampOfOneIsNoneOfTheOther) {
  made.side_by_side = false;
  const tuning::TuneResult result = run(256);
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(result.recommendation()->setting.configuration.precision, "bf16");
  EXPECT_EQ(result.recommendation()->batch, 2048);
  EXPECT_FALSE(result.recommendation()->clamp_batch);
  EXPECT_FALSE(result.facts.clamp);
}

}  // namespace
}  // namespace sweetspot::study
