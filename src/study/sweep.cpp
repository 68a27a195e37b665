#include "study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "measure/training.h"
#include "study/arrival_check.h"
#include "study/predict.h"
#include "study/rounds.h"

namespace sweetspot::study {
namespace {

// What a setting will take, or why it cannot be planned at all.
struct Planned {
  MemoryExpected memory;
  std::string refusal;
};

// What a sweep asks of whatever it tries.
struct Subject {
  std::function<Planned(const trial::Setting&)> plan;
  std::optional<std::int64_t> samples;
  std::string device;
};

template <class Tried>
Subject subject(const Tried& tried) {
  return {[&tried](const trial::Setting& setting) -> Planned {
            try {
              const std::optional<core::Bytes> bytes = tried.predict(setting);
              return {{bytes, bytes}, ""};
            } catch (const core::Error& error) {
              return {{}, error.what()};
            }
          },
          tried.samples(), tried.device()};
}

// Of a point that exists: its own prediction, else what the trials before let expect.
Planned planned(const Subject& tried, const Loop& loop, const trial::Setting& setting) {
  if (setting.batch % setting.accumulation != 0) return {};
  Planned found = tried.plan(setting);
  if (!found.memory.bytes && found.refusal.empty())
    found.memory = expected_memory(loop.trials(), setting);
  return found;
}

// Why the point cannot be run, or nothing.
std::optional<std::string> objection(const Subject& tried, const trial::Setting& setting,
                                     const std::optional<core::Bytes>& memory_allowed,
                                     const Planned& plan) {
  if (setting.batch % setting.accumulation != 0)
    return fmt::format("an accumulation of {} does not divide it", setting.accumulation);
  if (tried.samples && setting.batch > *tried.samples)
    return fmt::format("the data set has {} samples",
                       core::format_count(static_cast<double>(*tried.samples)));
  if (!plan.refusal.empty()) return plan.refusal;
  const MemoryExpected& memory = plan.memory;
  if (memory.least && memory_allowed && *memory.least > *memory_allowed)
    return fmt::format("{} predicted, {} allowed", core::format_bytes(*memory.bytes),
                       core::format_bytes(*memory_allowed));
  return std::nullopt;
}

trial::Trial refused(const Subject& tried, const trial::Setting& setting, const std::string& why,
                     const Planned& plan) {
  trial::Trial trial;
  trial.setting = setting;
  trial.device = tried.device;
  trial.outcome = trial::Outcome::refused;
  trial.note = why;
  trial.memory_predicted = plan.memory.bytes;
  return trial;
}

std::int64_t times_done(const Loop& loop, const trial::Setting& setting) {
  return std::count_if(loop.trials().begin(), loop.trials().end(),
                       [&](const trial::Trial& trial) { return trial.setting == setting; });
}

// Settings that take turns: as many at a time as leave each enough blocks.
constexpr std::size_t most_together = 16;

void run_at_one_limit(Loop& loop, workload::Workload& workload,
                      const std::vector<trial::Setting>& settings, const SweepOptions& options) {
  for (std::size_t from = 0; from < settings.size() && loop.may_go_on(); from += most_together) {
    const std::size_t to = std::min(from + most_together, settings.size());
    measure_in_rounds(loop, workload,
                      {settings.begin() + static_cast<std::ptrdiff_t>(from),
                       settings.begin() + static_cast<std::ptrdiff_t>(to)},
                      options.limits.memory_limit,
                      options.machine ? *options.machine : measure::this_machine());
  }
}

void run_together(Loop& loop, workload::Workload& workload, std::vector<trial::Setting> settings,
                  const SweepOptions& options) {
  const auto limit = [](const trial::Setting& setting) { return setting.power_limit_watts; };
  std::ranges::stable_sort(settings, {}, limit);
  while (!settings.empty()) {
    const auto others = std::ranges::upper_bound(settings, limit(settings.front()), {}, limit);
    run_at_one_limit(loop, workload, {settings.begin(), others}, options);
    settings.erase(settings.begin(), others);
  }
}

// The trials that differ from this setting in nothing but the batch.
std::vector<trial::Trial> alongside(const Loop& loop, const trial::Setting& setting) {
  std::vector<trial::Trial> found;
  for (const trial::Trial& trial : loop.trials()) {
    trial::Setting same = setting;
    same.batch = trial.setting.batch;
    if (trial.setting == same) found.push_back(trial);
  }
  return found;
}

// Every point once a round; a round has one seed, so that the seeds done are whole when it is
// stopped.
SweepResult run_rounds(Loop& loop, const Subject& tried, const SweepOptions& options,
                       ArrivalCheck* arrival = nullptr, bool had_doubt = false,
                       workload::Workload* side_by_side = nullptr) {
  const int seeds = std::max(1, static_cast<int>(options.seeds.size()));
  const int rounds = options.repeat * seeds;
  for (int round = 0; round < rounds; ++round) {
    std::vector<trial::Setting> together;
    for (const std::size_t i : round_order(options.points.size(), round, options.seed)) {
      trial::Setting setting = options.points[i];
      if (!options.seeds.empty())
        setting.seed = options.seeds[static_cast<std::size_t>(round % seeds)];
      if (times_done(loop, setting) > round / seeds) continue;
      if (arrival) arrival->look(alongside(loop, setting), loop);
      if ((arrival && arrival->is_over()) || !loop.may_go_on()) break;
      const Planned plan = planned(tried, loop, setting);
      const auto beyond_clamp = arrival ? arrival->objection(setting.batch) : std::nullopt;
      const auto allowed = search::memory_allowed(loop.trials(), options.limits);
      if (const auto why = beyond_clamp ? beyond_clamp : objection(tried, setting, allowed, plan))
        loop.keep(refused(tried, setting, *why, plan));
      else if (side_by_side)
        together.push_back(setting);
      else
        loop.run(setting);
    }
    if (side_by_side && !together.empty()) run_together(loop, *side_by_side, together, options);
  }
  std::optional<advise::Doubt> doubt;
  if (arrival) arrival->settle();
  if (arrival)
    for (const trial::Setting& point : options.points) {
      arrival->look(alongside(loop, point), loop);
      if (!doubt) doubt = arrival->doubt();
    }
  if (doubt || had_doubt) loop.set_answer(doubt ? advise::to_json(*doubt) : "");
  loop.close();
  return {loop.end(),
          loop.error(),
          loop.trials(),
          loop.resumed(),
          options.points.size() * static_cast<std::size_t>(rounds),
          loop.spent(),
          std::move(doubt)};
}

}  // namespace

// Fisher-Yates, with the round's own numbers.
std::vector<std::size_t> round_order(std::size_t points, int round, std::uint64_t seed) {
  std::vector<std::size_t> order(points);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const core::Random random(seed, core::Purpose::shuffle, static_cast<std::uint32_t>(round));
  for (std::size_t left = points; left > 1; --left)
    std::swap(order[left - 1], order[random.below(left, left)]);
  return order;
}

SweepResult sweep(workload::Workload& workload, store::Writer& writer, const SweepOptions& options,
                  Observer& observer, const std::atomic<int>& stop) {
  Loop loop(workload, writer, options.loop, observer, stop);
  ArrivalCheck arrival(workload);
  return run_rounds(loop, subject(workload), options, &arrival, !writer.study().answer.empty(),
                    workload.opens_side_by_side() ? &workload : nullptr);
}

SweepResult sweep(workload::Training& training, int epochs, store::Writer& writer,
                  const SweepOptions& options, Observer& observer, const std::atomic<int>& stop) {
  const auto train = [&](const trial::Setting& setting, const measure::MeasureOptions&,
                         const measure::Watch& watch, const std::atomic<int>& its_stop) {
    return measure::train(training, setting, {epochs}, watch, its_stop);
  };
  Loop loop(train, writer, options.loop, observer, stop);
  return run_rounds(loop, subject(training), options);
}

}  // namespace sweetspot::study
