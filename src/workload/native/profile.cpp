#include "workload/native/profile.h"

#include <chrono>

#include "workload/native/feed.h"
#include "workload/native/resident.h"
#include "workload/native/shared_trainer.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;
using Times = engine::ThreadProfile::Times;

constexpr std::int64_t warm_up_steps = 3;

double seconds_since(Clock::time_point start) {
  return core::Seconds(Clock::now() - start).count();
}

// Steps of one kind: as many as requested, or until the time is over, and at least one.
template <class Step>
void repeat(const ProfileOptions& options, const RankOptions& ranks, const std::atomic<int>& stop,
            Step step) {
  const auto start = Clock::now();
  for (std::int64_t done = 0;; ++done) {
    const bool enough =
        done > 0 && (stop != 0 || (options.steps ? done >= *options.steps
                                                 : seconds_since(start) >= options.time.count()));
    if (as_first_rank_says(ranks, enough)) return;
    step();
  }
}

template <class Step>
void warm_up(std::int64_t steps, const RankOptions& ranks, const std::atomic<int>& stop,
             Step step) {
  for (std::int64_t i = 0; i < steps && !as_first_rank_says(ranks, stop != 0); ++i) step();
}

void add(OperationTime& sum, const Times& times, double weight) {
  sum.forward_seconds += weight * times.forward.count();
  sum.backward_seconds += weight * times.backward.count();
  sum.update_seconds += weight * times.update.count();
}

ProfiledStep profiled_step(engine::Trainer& trainer, Feed& feed, std::int64_t micro_batch,
                           Clock::time_point beginning) {
  ProfiledStep step;
  step.start = seconds_since(beginning);
  const data::Batch batch = feed.next();
  step.data_wait = seconds_since(beginning) - step.start;
  step.parts = trainer.profile(view(batch), micro_batch);
  step.seconds = seconds_since(beginning) - step.start;
  return step;
}

void profile_steps(const Run& run, const Options& at, const ProfileOptions& options,
                   std::int64_t warm_ups, const std::atomic<int>& stop, Profile& profile) {
  const std::int64_t micro_batch = at.micro_batch();
  const SharedTrainer shared(run, at);
  engine::Trainer& trainer = shared.trainer();
  Feed feed(run.dataset.train, at.pipeline);
  warm_up(warm_ups, at.ranks, stop, [&] { trainer.step(view(feed.next()), micro_batch); });
  const auto beginning = Clock::now();
  repeat(options, at.ranks, stop,
         [&] { profile.steps.push_back(profiled_step(trainer, feed, micro_batch, beginning)); });
  trial::Setting own_part = profile.setting;
  own_part.batch /= at.parts();
  profile.work =
      least_work(run.network, profile.steps.front().parts.operations, own_part, at.optimizer.kind);
}

}  // namespace

bool as_first_rank_says(const RankOptions& ranks, bool wish) {
  return of_first_rank(ranks, wish ? 1 : 0) > 0;
}

Profile profile(const Run& run, const trial::Setting& setting, const ProfileOptions& options,
                const std::atomic<int>& stop) {
  Profile profile;
  profile.setting = setting;
  const Options at = options_at(run, setting);
  profile.ranks = at.ranks.count();
  profile.on_gpu = at.device.gpu.has_value();
  profile.in_graph = is_resident(at, run.dataset);
  {
    const auto session = open_session(run, setting);
    warm_up(warm_up_steps, at.ranks, stop, [&] { session->step(); });
    repeat(options, at.ranks, stop, [&] {
      const trial::Step step = session->step();
      profile.plain_steps += step.updates;
      profile.step_seconds += step.seconds;
      for (std::size_t i = 0; i < step.phases.size(); ++i) profile.phases[i] += step.phases[i];
    });
  }
  profile.step_seconds /= static_cast<double>(profile.plain_steps);
  for (double& phase : profile.phases) phase /= static_cast<double>(profile.plain_steps);

  profile_steps(run, at, options, warm_up_steps, stop, profile);
  return profile;
}

Profile profile_operations(const Run& run, const trial::Setting& setting, core::Seconds time) {
  Profile profile;
  profile.setting = setting;
  const Options at = options_at(run, setting);
  profile.on_gpu = at.device.gpu.has_value();
  const std::atomic<int> never{0};
  profile_steps(run, at, {.steps = std::nullopt, .time = time}, 1, never, profile);
  return profile;
}

std::vector<OperationTime> operation_times(const Profile& profile) {
  std::vector<OperationTime> operations;
  if (profile.steps.empty()) return operations;
  for (const engine::Operation& operation : profile.steps.front().parts.operations)
    operations.push_back({.name = operation.name, .implementation = operation.implementation});
  OperationTime waiting{.name = "waiting", .implementation = "threads for each other"};
  for (const ProfiledStep& step : profile.steps) {
    const double weight = 1 / static_cast<double>(profile.steps.size() * step.parts.threads.size());
    for (const engine::ThreadProfile& thread : step.parts.threads) {
      for (std::size_t i = 0; i < operations.size(); ++i)
        add(operations[i], thread.operations[i], weight);
      add(waiting, thread.waiting, weight);
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i].work = profile.work[i];
  if (!profile.on_gpu) operations.push_back(waiting);
  return operations;
}

std::optional<double> reduction_wait_seconds(const Profile& profile) {
  if (profile.ranks == 1 || profile.steps.empty()) return std::nullopt;
  double sum = 0;
  for (const ProfiledStep& step : profile.steps) sum += step.parts.result.reduction_wait.count();
  return sum / static_cast<double>(profile.steps.size());
}

trial::OperationCost cost_of(const OperationTime& operation) {
  return {operation.name, operation.implementation, operation.seconds(), operation.work.flops,
          operation.work.bytes};
}

}  // namespace sweetspot::workload::native
