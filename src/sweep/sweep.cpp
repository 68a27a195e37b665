#include "sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "learning/training_trial.h"
#include "study/axis.h"

namespace sweetspot::sweep {
namespace {

// The memory of a setting, or why it cannot be planned at all.
struct Planned {
  memory::Expected memory;
  std::string refusal;
};

// What a sweep needs from its workload.
struct Subject {
  std::function<Planned(const trial::Setting&)> plan;
  std::optional<std::int64_t> samples;
  std::string device;
};

template <class Tried>
Subject subject(const Tried& tried, std::optional<std::int64_t> samples) {
  return {[&tried](const trial::Setting& setting) -> Planned {
            try {
              const std::optional<core::Bytes> bytes = tried.predict(setting);
              return {{bytes, bytes}, ""};
            } catch (const core::Error& error) {
              return {{}, error.what()};
            }
          },
          samples, tried.device()};
}

// For an existing point: its own prediction, else the extrapolation from earlier trials.
Planned planned(const Subject& tried, const study::Loop& loop, const trial::Setting& setting) {
  if (setting.batch % setting.accumulation != 0) return {};
  Planned found = tried.plan(setting);
  if (!found.memory.bytes && found.refusal.empty())
    found.memory = memory::expected(loop.trials(), setting);
  return found;
}

// Why the point cannot be run, or nullopt.
std::optional<std::string> objection(const Subject& tried, const trial::Setting& setting,
                                     const std::optional<core::Bytes>& memory_allowed,
                                     const Planned& plan) {
  if (setting.batch % setting.accumulation != 0)
    return fmt::format("an accumulation of {} does not divide it", setting.accumulation);
  if (tried.samples && setting.batch > *tried.samples)
    return fmt::format("the data set has {} samples",
                       core::format_count(static_cast<double>(*tried.samples)));
  if (!plan.refusal.empty()) return plan.refusal;
  const memory::Expected& memory = plan.memory;
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

std::int64_t times_done(const study::Loop& loop, const trial::Setting& setting) {
  return std::count_if(loop.trials().begin(), loop.trials().end(),
                       [&](const trial::Trial& trial) { return trial.setting == setting; });
}

// Interleaved settings: as many at a time as leave each enough blocks.
constexpr std::size_t most_together = 16;

// At each power limit.
void run_together(study::Loop& loop, std::vector<trial::Setting> settings,
                  const SweepOptions& options) {
  const auto limit = [](const trial::Setting& setting) {
    return setting.configuration.power_limit_watts;
  };
  std::ranges::stable_sort(settings, {}, limit);
  for (std::span<const trial::Setting> left = settings; !left.empty() && loop.may_go_on();) {
    const auto others = std::ranges::upper_bound(left, limit(left.front()), {}, limit);
    const auto count = std::min(most_together, static_cast<std::size_t>(others - left.begin()));
    loop.run_together(left.first(count), options.limits.memory.limit);
    left = left.subspan(count);
  }
}

// Looks at the trials that differ from this setting only in the batch.
void look_along(study::BatchUseCheck& batch_use, study::Loop& loop, const trial::Setting& setting) {
  std::vector<trial::Trial> curve = study::Axis{setting, {}}.on(loop.trials());
  batch_use.look(curve, loop);
}

int rounds_of(const SweepOptions& options) {
  return options.repeat * std::max(1, static_cast<int>(options.seeds.size()));
}

// Every point once, in the order of this round; a round has one seed, so that finished seeds are
// complete when it is stopped.
std::vector<trial::Setting> settings_of_round(const SweepOptions& options, int round) {
  std::vector<trial::Setting> settings;
  for (const std::size_t i : round_order(options.points.size(), round, options.seed)) {
    settings.push_back(options.points[i]);
    if (!options.seeds.empty())
      settings.back().seed = options.seeds[static_cast<std::size_t>(round) % options.seeds.size()];
  }
  return settings;
}

study::Result run_rounds(study::Loop& loop, const Subject& tried, const SweepOptions& options,
                         study::BatchUseCheck* batch_use = nullptr) {
  const int rounds = rounds_of(options), seeds = rounds / options.repeat;
  for (int round = 0; round < rounds; ++round) {
    std::vector<trial::Setting> together;
    for (const trial::Setting& setting : settings_of_round(options, round)) {
      if (times_done(loop, setting) > round / seeds) continue;
      if (batch_use) look_along(*batch_use, loop, setting);
      if ((batch_use && batch_use->is_over()) || !loop.may_go_on()) break;
      const Planned plan = planned(tried, loop, setting);
      const auto beyond_clamp = batch_use ? batch_use->objection(setting.batch) : std::nullopt;
      const auto allowed = memory::allowed(loop.trials(), options.limits.memory);
      if (const auto why = beyond_clamp ? beyond_clamp : objection(tried, setting, allowed, plan))
        loop.keep(refused(tried, setting, *why, plan));
      else if (loop.interleaves())
        together.push_back(setting);
      else
        loop.run(setting);
    }
    run_together(loop, together, options);
  }
  std::optional<advise::Doubt> doubt;
  if (batch_use) batch_use->settle();
  if (batch_use)
    for (const trial::Setting& point : options.points) {
      look_along(*batch_use, loop, point);
      if (!doubt) doubt = batch_use->doubt();
    }
  return loop.finish(answered({loop.end(), loop.error(), std::move(doubt),
                               options.points.size() * static_cast<std::size_t>(rounds)},
                              loop.trials()));
}

// A point claimed from a queue: run, or saved as refused.
void run_point(study::Loop& loop, const Subject& tried, const SweepOptions& options,
               const trial::Setting& setting) {
  const Planned plan = planned(tried, loop, setting);
  const auto allowed = memory::allowed(loop.trials(), options.limits.memory);
  if (const auto why = objection(tried, setting, allowed, plan))
    loop.keep(refused(tried, setting, *why, plan));
  else
    loop.run(setting);
}

// The trials of all processes, as if one had run them all.
class WholeStudy : public store::Writer {
 public:
  WholeStudy(trial::Study study, ClaimedWriter& writer)
      : study_(std::move(study)), writer_(writer) {}
  const trial::Study& study() const override { return study_; }
  void save(std::span<trial::Trial> trials) override { writer_.save(trials); }
  void amend(const trial::Trial& trial) override { writer_.amend(trial); }
  void set_answer(const std::string& answer) override { writer_.set_answer(answer); }
  void set_end(trial::End end) override { writer_.set_end(end); }
  void set_running(std::int64_t batch) override { writer_.set_running(batch); }

 private:
  trial::Study study_;
  ClaimedWriter& writer_;
};

study::Result run_shared(const study::RunTrial& run_trial, const Subject& tried,
                         study::BatchUseCheck* batch_use, const Shared& shared,
                         const SweepOptions& options, study::Observer& observer,
                         const std::atomic<int>& stop) {
  ClaimedWriter writer(shared.queue);
  StepCounter counter(observer);
  study::Loop loop(run_trial, writer, options.loop, counter, stop);
  const std::vector<trial::Setting> all = settings_of(options);
  shared.queue.plan(all);
  work_off(shared, writer, counter, loop,
           [&](const trial::Setting& setting) { run_point(loop, tried, options, setting); });
  trial::Study study = shared.store.study(writer.study().id).value_or(writer.study());
  if (loop.end())
    return {answered({loop.end(), loop.error(), std::nullopt, all.size()}, study.trials),
            study.trials, loop.resumed(), loop.spent()};
  WholeStudy whole(std::move(study), writer);
  study::Observer nobody;
  study::Loop concluding(run_trial, whole, options.loop, nobody, stop);
  study::Result result = run_rounds(concluding, tried, options, batch_use);
  result.resumed = loop.resumed(), result.spent = loop.spent();
  return result;
}

study::RunTrial training_trials(workload::Training& training, int epochs) {
  return [&training, epochs](const trial::Setting& setting, const measure::MeasureOptions&,
                             const measure::Watch& watch, const workload::Until& until) {
    return learning::train(training, setting, {epochs}, watch, until);
  };
}

}  // namespace

advise::Answer answered(const SweepEnd& end, std::span<const trial::Trial> trials) {
  using trial::End;
  const bool any_ok =
      std::ranges::find(trials, trial::Outcome::ok, &trial::Trial::outcome) != trials.end();
  const std::string done =
      fmt::format("{} of {} trials are done; the same command goes on", trials.size(), end.planned);
  advise::Answer answer;
  if (end.doubt) answer.content = *end.doubt;
  answer.end = end.cut_short.value_or(end.doubt ? End::batch_unconfirmed
                                      : any_ok  ? End::finished
                                                : End::nothing_feasible);
  if (answer.end == End::stopped) answer.message = "the sweep was stopped: " + done;
  if (answer.end == End::budget) answer.message = "the budget ended: " + done;
  if (answer.end == End::store_failed) answer.message = end.error;
  if (answer.end == End::device_lost) answer.message = fmt::format("{} ({})", end.error, done);
  if (answer.end == End::batch_unconfirmed) answer.message = words(*end.doubt);
  if (answer.end == End::nothing_feasible) answer.message = "no point of the grid could be trained";
  return answer;
}

// Fisher-Yates, with the round's own numbers.
std::vector<std::size_t> round_order(std::size_t points, int round, std::uint64_t seed) {
  std::vector<std::size_t> order(points);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const core::Random random(seed, core::Purpose::shuffle, static_cast<std::uint32_t>(round));
  for (std::size_t left = points; left > 1; --left)
    std::swap(order[left - 1], order[random.below(left, left)]);
  return order;
}

std::vector<trial::Setting> settings_of(const SweepOptions& options) {
  std::vector<trial::Setting> all;
  for (int round = 0; round < rounds_of(options); ++round)
    std::ranges::copy(settings_of_round(options, round), std::back_inserter(all));
  return all;
}

study::Result sweep(workload::Workload& workload, store::Writer& writer,
                    const SweepOptions& options, study::Observer& observer,
                    const std::atomic<int>& stop) {
  study::Loop loop(workload, writer, options.loop, observer, stop);
  study::BatchUseCheck batch_use(workload);
  return run_rounds(loop, subject(workload, workload.about().samples), options, &batch_use);
}

study::Result sweep(workload::Training& training, int epochs, store::Writer& writer,
                    const SweepOptions& options, study::Observer& observer,
                    const std::atomic<int>& stop) {
  study::Loop loop(training_trials(training, epochs), writer, options.loop, observer, stop);
  return run_rounds(loop, subject(training, training.samples()), options);
}

study::Result sweep(workload::Workload& workload, const Shared& shared, const SweepOptions& options,
                    study::Observer& observer, const std::atomic<int>& stop) {
  study::BatchUseCheck batch_use(workload);
  const study::RunTrial run_trial = [&workload](const auto&... asked) {
    return measure::measure(workload, asked...);
  };
  return run_shared(run_trial, subject(workload, workload.about().samples), &batch_use, shared,
                    options, observer, stop);
}

study::Result sweep(workload::Training& training, int epochs, const Shared& shared,
                    const SweepOptions& options, study::Observer& observer,
                    const std::atomic<int>& stop) {
  return run_shared(training_trials(training, epochs), subject(training, training.samples()),
                    nullptr, shared, options, observer, stop);
}

}  // namespace sweetspot::sweep
