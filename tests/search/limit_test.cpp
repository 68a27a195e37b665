// Programs whose memory is unknown before they run: how close they get to the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/made.h"

namespace sweetspot::search {
namespace {

constexpr double gib = static_cast<double>(core::GiB), mib = static_cast<double>(core::MiB);

using Bytes = std::function<double(std::int64_t)>;
using Capacity = std::function<double(int run)>;

// What a trial reports about its device.
enum class Tells {
  free_memory,  // before each run
  message,      // when it runs out: capacity, and what it requested
  peak,         // when it runs out: only what it had
  nothing
};

struct Program {
  const char* name;
  Speed speed;
  Bytes memory;
  Capacity capacity = [](int) { return 16 * gib; };
  Tells tells = Tells::free_memory;
  double noise = 0.003;       // of the speed between runs
  double least_share = 0.93;  // required share of the largest batch's speed
};

double line(double batch, double fixed_ms, double sample_ms) {
  return 1000 * batch / (fixed_ms + sample_ms * batch);
}

// A ResNet-18 at 224² on an H200, as measured by hand; small batches are bound by launches.
double resnet_on_h200(std::int64_t batch) {
  static const Speed between = through({{1, 100},
                                        {16, 1600},
                                        {32, 3100},
                                        {64, 4526},
                                        {96, 4788},
                                        {128, 5002},
                                        {160, 5101},
                                        {192, 5170},
                                        {224, 5248},
                                        {256, 5306},
                                        {384, 5352},
                                        {512, 5496},
                                        {100000, 5560}});
  return between(batch);
}
double bert_on_h200(std::int64_t batch) {
  static const Speed between = through({{1, 60},
                                        {4, 230},
                                        {16, 615},
                                        {32, 717},
                                        {64, 783},
                                        {96, 790},
                                        {128, 835},
                                        {256, 860},
                                        {100000, 880}});
  return between(batch);
}

double resnet_bytes(std::int64_t batch) {
  return 0.9 * gib + 22 * mib * static_cast<double>(batch);
}
Bytes in_pieces_of(double piece) {
  return [piece](std::int64_t batch) { return piece * std::ceil(resnet_bytes(batch) / piece); };
}

std::vector<Program> programs() {
  const Speed resnet = [](std::int64_t b) { return line(static_cast<double>(b), 6, 0.17); };
  const auto always = [](double bytes) { return [bytes](int) { return bytes; }; };
  return {
      {"resnet", resnet, resnet_bytes},
      {"resnet on an H200", resnet_on_h200, resnet_bytes},
      {"bert on an H200", bert_on_h200,
       [](std::int64_t b) { return 1.2 * gib + 56 * mib * static_cast<double>(b); }},
      {"quadratic", resnet,
       [](std::int64_t b) { return 0.9 * gib + 0.1 * mib * std::pow(static_cast<double>(b), 2); }},
      {"pieces of 2 MiB", resnet, in_pieces_of(2 * mib)},
      {"pieces of 64 MiB", resnet, in_pieces_of(64 * mib)},
      {"pieces of 1 GiB", resnet, in_pieces_of(gib)},
      {"a plateau", resnet, [](std::int64_t b) { return std::max(4 * gib, resnet_bytes(b)); }},
      {"a large model", [](std::int64_t b) { return line(static_cast<double>(b), 80, 70); },
       [](std::int64_t b) { return 10 * gib + 1.9 * gib * static_cast<double>(b); },
       always(24 * gib), Tells::message, 0.003, 0.9},
      {"all of it per sample", resnet,
       [](std::int64_t b) { return 30 * mib * static_cast<double>(b); }},
      {"workspaces of its own mind", resnet,
       [](std::int64_t b) {
         const core::Random random(7, core::Purpose::synthetic, static_cast<std::uint32_t>(b));
         return 0.9 * gib + (22 + 2 * random.uniform(0)) * mib * static_cast<double>(b);
       }},
      {"noisy processor", [](std::int64_t b) { return line(static_cast<double>(b), 20, 3); },
       [](std::int64_t b) { return 0.3 * gib + 9 * mib * static_cast<double>(b); }, always(8 * gib),
       Tells::free_memory, 0.03},
      {"a capacity that others shrink", resnet, resnet_bytes,
       [](int run) { return (run < 3 ? 16 : 14) * gib; }},
      {"a capacity told by a message", resnet_on_h200, resnet_bytes, always(16 * gib),
       Tells::message},
      {"a capacity told by a message, bert", bert_on_h200,
       [](std::int64_t b) { return 1.2 * gib + 56 * mib * static_cast<double>(b); },
       always(16 * gib), Tells::message},
      {"a capacity unknown until a crash", resnet, resnet_bytes, always(16 * gib), Tells::peak},
      {"a crash without a word", resnet_on_h200, resnet_bytes, always(16 * gib), Tells::nothing},
  };
}

struct Outcome {
  Study study;
  int deaths = 0;
};

Outcome search_for(const Program& program, Objective objective, std::uint64_t seed = 1) {
  Outcome outcome;
  int run = 0;
  const auto trial_of = [&](std::int64_t batch) {
    const core::Random random(seed, core::Purpose::synthetic, static_cast<std::uint32_t>(run));
    const double capacity = program.capacity(run++), wanted = program.memory(batch);
    const auto bytes = [](double value) { return static_cast<core::Bytes>(value); };
    if (wanted <= capacity) {
      trial::Trial trial =
          ok(batch, program.speed(batch) * std::exp(program.noise * random.normal(0)), 0.002);
      trial.memory_measured = bytes(wanted);
      if (program.tells == Tells::free_memory) trial.memory_capacity = bytes(capacity);
      return trial;
    }
    ++outcome.deaths;
    trial::Trial trial = failed(batch, trial::Outcome::out_of_memory);
    if (program.tells == Tells::nothing) return trial;
    trial.memory_measured = bytes(0.93 * capacity);
    if (program.tells == Tells::peak) return trial;
    trial.memory_capacity = bytes(capacity);
    if (program.tells == Tells::message)
      trial.memory_wanted = bytes(std::min(wanted, 1.05 * capacity));
    return trial;
  };
  // The host has plenty, and the program turns out to use a GPU.
  outcome.study = study(
      {.objective = objective, .max = 60000, .memory = {.limit = core::Bytes(100) * core::GiB}},
      [&](std::int64_t batch) {
        trial::Trial trial = trial_of(batch);
        trial.gpus.resize(1);
        return trial;
      });
  return outcome;
}

std::int64_t largest_fitting_truly(const Program& program) {
  const double capacity = program.capacity(100);
  std::int64_t batch = 1;
  while (program.memory(batch + 1) <= capacity) ++batch;
  return batch;
}

TEST(Limit, NoRunHasToDieForTheFastestBatch) {
  int studies = 0, deaths = 0;
  for (const Program& program : programs()) {
    const std::int64_t largest = largest_fitting_truly(program);
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Outcome found = search_for(program, Objective::throughput, seed);
      ++studies, deaths += found.deaths;
      ASSERT_TRUE(found.study.decision) << program.name;
      EXPECT_LE(found.deaths, 1) << program.name << testing::PrintToString(found.study.asked);
      const std::int64_t answer = found.study.decision->batch;
      // Within the tolerance of the best that fits, except for noise and for steps of a doubling.
      EXPECT_GE(program.speed(answer) / program.speed(largest), program.least_share - program.noise)
          << program.name << ", batch " << answer << testing::PrintToString(found.study.asked);
      EXPECT_LE(true_loss(program.speed, answer, largest), 2.5 * good_loss)
          << program.name << ", batch " << answer;
      EXPECT_LE(program.memory(answer), program.capacity(100)) << program.name;
    }
  }
  RecordProperty("studies", studies);
  RecordProperty("deaths", deaths);
  EXPECT_LE(10 * deaths, studies) << deaths << " of " << studies;
}

// A program that keeps gaining beyond 1,024, by its observed GPU memory.
Study growing(const Limits& limits, const Bytes& held) {
  return study(limits, [&](std::int64_t batch) {
    trial::Trial trial = on_gpu(ok(batch, line_speed(batch, 400), 0.002));
    trial.gpus.resize(1);
    trial.memory_capacity = static_cast<core::Bytes>(130 * gib);
    trial.memory_measured = static_cast<core::Bytes>(held(batch));
    return trial;
  });
}

// An allocator at its own limit frees and reallocates, and grows more slowly than before.
TEST(Limit, NothingLargerIsRunOnceMemoryStopsGrowingWithTheBatch) {
  const std::map<std::int64_t, double> at = {{16, 1.4}, {64, 3.2}, {256, 10.5}};
  for (const double at_512 : {14.2, 16.7, 10.6}) {
    const Bytes capped = [&](std::int64_t batch) {
      return (at.contains(batch) ? at.at(batch) : batch <= 1024 ? at_512 : 17.0) * gib;
    };
    const Limits limits{.max = 65536, .memory = {.gpu_limit = core::Bytes{130} << 30}};
    EXPECT_LE(std::ranges::max(growing(limits, capped).asked), 1024) << at_512;
    Limits largest = limits;
    largest.objective = Objective::max_batch;
    EXPECT_GT(std::ranges::max(growing(largest, capped).asked), 1024) << "as was asked for";
  }
}

TEST(Limit, MemoryThatGrowsOrNeverDidIsNoReasonToStop) {
  const Limits limits{.max = 65536, .memory = {.gpu_limit = core::Bytes{130} << 30}};
  const auto most = [&](const Bytes& held) {
    return std::ranges::max(growing(limits, held).asked);
  };
  EXPECT_GT(most([](auto b) { return 1 * gib + 38 * mib * static_cast<double>(b); }), 1024);
  EXPECT_GT(most([](auto) { return 98 * gib; }), 1024) << "all of it was taken at the start";
}

TEST(Limit, TheLargestBatchIsFoundFromBelow) {
  for (const Program& program : programs()) {
    const std::int64_t largest = largest_fitting_truly(program);
    const Outcome found = search_for(program, Objective::max_batch);
    ASSERT_TRUE(found.study.decision) << program.name;
    const std::int64_t answer = found.study.decision->batch;
    // Without information it has to try.
    EXPECT_LE(found.deaths, program.tells == Tells::nothing ? 3 : 1)
        << program.name << testing::PrintToString(found.study.asked);
    EXPECT_LE(program.memory(answer), program.capacity(100)) << program.name << ", " << answer;
    const double share = static_cast<double>(answer) / static_cast<double>(largest);
    EXPECT_GE(share, program.tells == Tells::peak ? 0.85 : 0.9)
        << program.name << ": " << answer << " of " << largest
        << testing::PrintToString(found.study.asked);
    EXPECT_LE(found.study.asked.size(), 12u) << program.name;
  }
}

}  // namespace
}  // namespace sweetspot::search
