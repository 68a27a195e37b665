#include "measure/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "measure/run_guarded.h"
#include "measure/sampling.h"
#include "stats/quantile.h"
#include "stats/round_table.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;
using trial::Trial;

using namespace experiment;

// After a switch caches refill, and the previous session's loader fills its buffers.
constexpr double switch_seconds = block_seconds / 5;
// Longer steps load their own data anyway; on a GPU, which has no loader, much sooner.
constexpr double long_step_seconds = 5 * block_seconds, long_resident_step_seconds = block_seconds;
// After opening a session: first-touch page faults, graph capture.
constexpr double opening_seconds = 2 * block_seconds;
// A warm-up of long steps ends then, regardless of their number.
constexpr double most_warm_up_seconds = 2 * cheap_step_seconds;

void add(trial::Step& block, const trial::Step& step) {
  block.seconds += step.seconds;
  block.samples += step.samples;
  block.updates += step.updates;
  block.slowed |= step.slowed;
  for (std::size_t i = 0; i < block.phases.size(); ++i) block.phases[i] += step.phases[i];
}

trial::Step empty_block(std::int32_t round, bool warm_up) {
  trial::Step block;
  block.updates = 0;
  block.round = round;
  block.warm_up = warm_up;
  return block;
}

// Summary of its blocks so far.
void summarize(Trial& trial) {
  stats::RoundTimes calm, slowed;
  for (const trial::Step& step : trial.raw)
    if (trial::is_block(step))
      (step.slowed ? slowed : calm)[step.round] = std::log(per_update(step));
  if (calm.empty() && slowed.empty()) return;
  const stats::RoundTable table({calm.empty() ? slowed : calm});
  const double speed = static_cast<double>(trial.setting.batch) / std::exp(table.estimates()[0]);
  const double reach = std::exp(stats::normal95 * std::sqrt(table.covariance()[0]));
  trial.samples_per_second = core::Interval{speed, speed / reach, speed * reach};
  summarize_steps(trial, trial::is_block);
}

}  // namespace

Rounds::Rounds(workload::Workload& workload, const RoundsOptions& options, const Watch& watch,
               const std::atomic<int>& stop, telemetry::Machine& machine)
    : workload_(workload),
      options_(options),
      watch_(watch),
      until_{stop},
      machine_(machine),
      about_(workload.about()),
      elapsed_(machine, about_.takes_real_time),
      began_(look(machine)),
      resident_(workload.device() != "cpu" && !about_.has_loader),
      round_(options.first_round) {
  meter_ = machine.meter(workload.device());
  has_energy_ = meter_ && meter_->energy_joules().has_value();
}

Rounds::~Rounds() {
  for (const auto& member : members_) close(*member);
}

bool Rounds::run(std::span<const trial::Setting> settings) {
  std::vector<Member*> asked;
  for (const trial::Setting& setting : settings)
    if (!failed(setting)) asked.push_back(&member(setting));
  for (const std::size_t i : order(asked.size())) {
    if (until_.told_to_give_up()) return false;
    Member& next = *asked[i];
    if (next.trial.outcome != Outcome::ok) continue;  // it cannot even be planned
    run_guarded(next.trial, [&] { block(next); });
    if (next.trial.outcome != Outcome::ok) close(next);
  }
  if (until_.told_to_give_up()) return false;
  ++round_;
  if (options_.renews) renew(asked);
  return true;
}

// All at once: the next round opens them in a different order, so that each gets a different memory
// layout. It pays only for those that open fast: the layout of a large one averages out over its
// many buffers.
void Rounds::renew(const std::vector<Member*>& in_turns) {
  std::vector<Member*> fast;
  double opening = 0;
  for (Member* member : in_turns)
    if (member->session && about_.takes_real_time && member->opening_seconds <= cheap_step_seconds)
      fast.push_back(member), opening += member->opening_seconds;
  if (opening > side_share * (elapsed_seconds() - renewed_at_)) return;
  renewed_at_ = elapsed_seconds();
  for (Member* member : fast) close(*member);
}

// Shuffled, and reversed the next time.
std::vector<std::size_t> Rounds::order(std::size_t count) {
  if (last_order_.size() == count && (round_ - options_.first_round) % 2 == 1) {
    std::ranges::reverse(last_order_);
    return last_order_;
  }
  last_order_.resize(count);
  std::iota(last_order_.begin(), last_order_.end(), std::size_t{0});
  const core::Random random(options_.seed, core::Purpose::rounds,
                            static_cast<std::uint32_t>(round_));
  for (std::size_t left = count; left > 1; --left)
    std::swap(last_order_[left - 1], last_order_[random.below(left, left)]);
  return last_order_;
}

void Rounds::block(Member& member) {
  if (!member.session) open(member);
  const double before = elapsed_seconds();
  std::optional<telemetry::WaitMonitor> others;
  if (about_.takes_real_time && workload_.device() == "cpu") {
    others.emplace(machine_);
    const probe::cpu::SpeedReading speed = machine_.speed();
    // If other processes disturbed this reading, it says nothing about the blocks around it.
    if (!others->was_kept_waiting()) moments_.push_back(speed);
  }
  const double usual = member.trial.raw.empty() ? 0 : per_update(member.trial.raw.back());
  if (usual < (resident_ ? long_resident_step_seconds : long_step_seconds))
    warm_up(member, switch_seconds, member.switch_steps);
  trial::Step block = empty_block(round_, false);
  do add(block, step(member));
  while (block.seconds < options_.block_seconds);
  block.slowed |= others && others->was_kept_waiting();
  member.trial.raw.push_back(block);
  member.moments.push_back(moments_.size());
  member.trial.steps += block.updates;
  member.last_round = round_;
  member.turn_seconds = elapsed_seconds() - before;
}

void Rounds::open(Member& member) {
  Trial& trial = member.trial;
  const double began = machine_.now();
  make_room(member);
  const auto has_company = [&] {
    return std::ranges::any_of(
        members_, [&](const auto& other) { return other.get() != &member && other->session; });
  };
  // Next to others it may not fit although it does alone.
  while (!member.session) {
    try {
      member.session = workload_.open(trial.setting);
      continue;
    } catch (const core::OutOfMemory&) {
      if (!has_company()) throw;
    } catch (const std::bad_alloc&) {
      if (!has_company()) throw;
    }
    for (const auto& other : members_) close(*other);
    one_at_a_time_ = true;
  }
  const int to_load = resident_ ? 0 : trial.setting.configuration.prefetch;
  const trial::Step last = warm_up(member, opening_seconds, fewest_steps + to_load);
  // A paused session finds its loader's buffers full: if loading is the bottleneck, the steps that
  // drain them are too fast. The first steps always wait, until the loader has started.
  if (last.phases[static_cast<std::size_t>(trial::Phase::data_wait)] >
      noticeable_share * last.seconds)
    member.switch_steps = 1 + trial.setting.configuration.prefetch;
  const workload::Seen seen = member.session->seen();
  if (seen.memory && *seen.memory > trial.memory_measured.value_or(0))
    trial.memory_measured = seen.memory, trial.memory_by_use = seen.memory_by_use;
  member.opening_seconds = machine_.now() - began;
}

// Closes the longest paused sessions first.
void Rounds::make_room(const Member& for_whom) {
  if (one_at_a_time_)
    for (const auto& other : members_) close(*other);
  if (!options_.memory || !for_whom.trial.memory_predicted) return;
  core::Bytes together = *for_whom.trial.memory_predicted;
  std::vector<Member*> open;
  for (const auto& other : members_)
    if (other->session) {
      open.push_back(other.get());
      together += other->trial.memory_predicted.value_or(0);
    }
  std::ranges::sort(open, {}, &Member::last_round);
  for (Member* other : open) {
    if (together <= *options_.memory) return;
    together -= std::min(together, other->trial.memory_predicted.value_or(0));
    close(*other);
  }
}

// Returns the last of its steps.
trial::Step Rounds::warm_up(Member& member, double least_seconds, int least_steps) {
  trial::Step warm = empty_block(round_, true), last;
  for (int steps = 0; steps < least_steps || warm.seconds < least_seconds; ++steps) {
    last = step(member);
    add(warm, last);
    if (steps > 0 && warm.seconds > most_warm_up_seconds) break;
  }
  member.trial.raw.push_back(warm);
  member.trial.warm_up_steps += warm.updates;
  return last;
}

trial::Step Rounds::step(Member& member) {
  if (until_.told_to_give_up()) throw workload::Ended(Outcome::cancelled, "it was stopped");
  const trial::Step step = member.session->step(until_);
  Trial& trial = member.trial;
  elapsed_.add(step.seconds);
  trial.seconds += step.seconds;
  trial.samples_seen += step.samples;
  if (step.samples != step.updates * trial.setting.batch)
    throw workload::Ended(Outcome::refused,
                          fmt::format("a step used {} samples where {} were asked for",
                                      step.samples, step.updates * trial.setting.batch));
  const double now = machine_.now();
  if (watch_ && now >= next_told_) {
    next_told_ = now + watch_interval_seconds;
    watch_({&trial.setting, trial.steps == 0, trial.steps, std::nullopt});
  }
  return step;
}

void Rounds::read_device(const trial::Setting& setting, double seconds, double rise_seconds) {
  Member& member = this->member(setting);
  if (failed(setting) || until_.told_to_give_up()) return;
  run_guarded(member.trial, [&] {
    if (!member.session) open(member);
    warm_up(member, switch_seconds, member.switch_steps);
    trial::Step rise = empty_block(0, true);
    while (rise.seconds < rise_seconds) add(rise, step(member));
    if (rise.updates > 0) member.trial.raw.push_back(rise);
    member.trial.warm_up_steps += rise.updates;
    auto recorder = telemetry::start_recorder(machine_, member.trial.device, machine_.now());
    if (!recorder) return;
    trial::Step block = empty_block(0, false);
    recorder->begin_steps();
    do add(block, step(member));
    while (block.seconds < seconds);
    recorder->end_steps();
    recorder->tell(member.trial);
    member.trial.energy_samples = block.samples;
    member.trial.raw.push_back(block);
  });
}

std::vector<Trial> Rounds::blocks() const {
  std::vector<Trial> all;
  const std::vector<bool> slow = telemetry::slow_moments(moments_);
  for (const auto& member : members_) {
    Trial& trial = all.emplace_back(member->trial);
    auto moment = member->moments.begin();
    for (trial::Step& step : trial.raw) {
      if (!trial::is_block(step)) continue;
      const std::size_t after = *moment++;
      if (after > 0) step.slowed |= slow[after - 1];
      if (after < slow.size()) step.slowed |= slow[after];
    }
    // What was done before a stop counts.
    if (trial.outcome == Outcome::cancelled && trial.steps > 0) trial.outcome = Outcome::ok;
    if (trial.outcome == Outcome::ok && trial.steps == 0) trial.outcome = Outcome::cancelled;
  }
  return all;
}

std::vector<Trial> Rounds::trials() const {
  std::vector<Trial> all = blocks();
  const trial::Contention contention = contention_so_far();
  for (Trial& trial : all) {
    if (trial.outcome == Outcome::ok) summarize(trial);
    trial.contention = contention;
  }
  return all;
}

// Judged over all rounds so far: what disturbs one setting disturbs all of them.
trial::Contention Rounds::contention_so_far() const {
  if (!about_.takes_real_time && workload_.device() == "cpu") return {};
  trial::Contention found = contention(began_, look(machine_));
  found.slowed_share = telemetry::slowed_share(moments_);
  if (meter_) add(meter_->gpu_contention(), found);
  return found;
}

Rounds::Member& Rounds::member(const trial::Setting& setting) {
  if (Member* known = find(setting)) return *known;
  Member& made = *members_.emplace_back(std::make_unique<Member>());
  made.trial.setting = setting;
  made.trial.device = workload_.device();
  made.trial.started_at = machine_.seconds_since_1970();
  run_guarded(made.trial, [&] { made.trial.memory_predicted = workload_.predict(setting); });
  return made;
}

Rounds::Member* Rounds::find(const trial::Setting& setting) const {
  for (const auto& known : members_)
    if (known->trial.setting == setting) return known.get();
  return nullptr;
}

double Rounds::turn_seconds(const trial::Setting& setting) const {
  const Member* known = find(setting);
  return known ? known->turn_seconds : 0;
}

bool Rounds::failed(const trial::Setting& setting) const {
  const Member* known = find(setting);
  return known && known->trial.outcome != Outcome::ok;
}

void Rounds::close(Member& member) {
  if (!member.session) return;
  member.session->close();
  member.session.reset();
}

}  // namespace sweetspot::measure
