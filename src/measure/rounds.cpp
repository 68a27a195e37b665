#include "measure/rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "measure/run_guarded.h"
#include "measure/sampling.h"
#include "stats/quantile.h"
#include "stats/round_table.h"
#include "telemetry/recorder.h"

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
// What a switch costs is a small part of a turn.
constexpr double switches_in_a_block = 4;
// A warm-up of long steps ends then, regardless of their number.
constexpr double most_warm_up_seconds = 2 * cheap_step_seconds;

// A session's turn: the steps of its warm-up become one, and those that count another. What was
// begun when it fails is neither.
class Turn final : public BlockRule {
 public:
  // Its warm-up takes so long, and has so many steps, at least. `seconds`: of its block; 0: none.
  Turn(trial::Trial& trial, std::int32_t round, double warm_up_seconds, int warm_up_steps,
       double seconds)
      : trial_(trial),
        round_(round),
        warm_up_seconds_(warm_up_seconds),
        warm_up_steps_(warm_up_steps),
        seconds_(seconds) {
    start(true);
  }

  bool is_warm() const override {
    const bool enough = steps_ >= warm_up_steps_ && part_.seconds >= warm_up_seconds_;
    return enough ||
           (steps_ > 1 && part_.seconds > std::max(most_warm_up_seconds, warm_up_seconds_));
  }
  void begin() override {
    end();
    start(false);
  }
  bool has_enough() const override { return part_.seconds >= seconds_; }
  void add(const trial::Step& step) override {
    last_ = step, ++steps_;
    part_.seconds += step.seconds;
    part_.samples += step.samples;
    part_.updates += step.updates;
    part_.slowed |= step.slowed;
    for (std::size_t i = 0; i < part_.phases.size(); ++i) part_.phases[i] += step.phases[i];
  }
  void end() override {
    trial_.raw.resize(from_);
    if (part_.updates > 0) trial_.raw.push_back(part_);
  }
  void give_up() override {
    trial_.raw.resize(from_);
    trial_.steps = steps_before_, trial_.warm_up_steps = warm_up_steps_before_;
  }

  const trial::Step& last() const { return last_; }
  const trial::Step& block() const { return part_; }

 private:
  void start(bool warm_up) {
    part_ = {.updates = 0, .warm_up = warm_up, .round = round_};
    from_ = trial_.raw.size();
    steps_before_ = trial_.steps, warm_up_steps_before_ = trial_.warm_up_steps;
  }

  trial::Trial& trial_;
  const std::int32_t round_;
  const double warm_up_seconds_;
  const int warm_up_steps_;
  const double seconds_;
  trial::Step part_, last_;
  int steps_ = 0;
  std::size_t from_ = 0;  // where the part begins
  std::int64_t steps_before_ = 0, warm_up_steps_before_ = 0;
};

// Summary of its blocks so far.
void summarize(Trial& trial) {
  stats::RoundTimes calm, slowed;
  for (const trial::Step& step : trial.raw)
    if (trial::is_block(step))
      (step.slowed ? slowed : calm)[step.round] =
          std::log(step.seconds / static_cast<double>(step.samples) *
                   static_cast<double>(trial.setting.batch));
  if (calm.empty() && slowed.empty()) return;
  const stats::RoundTable table({calm.empty() ? slowed : calm});
  const double speed = static_cast<double>(trial.setting.batch) / std::exp(table.estimates()[0]);
  const double reach = std::exp(stats::normal95 * std::sqrt(table.covariance()[0]));
  trial.samples_per_second = core::Interval{speed, speed / reach, speed * reach};
  summarize_steps(trial, trial::is_block);
}

}  // namespace

Rounds::Rounds(workload::Workload& workload, const RoundsOptions& options, const Watch& watch,
               const workload::Until& until, telemetry::Machine& machine)
    : options_(options),
      shared_{workload, until, watch, machine},
      began_(look(machine)),
      resident_(trial::on_gpu(workload.device()) && !shared_.about.has_loader),
      round_(options.first_round) {
  meter_ = machine.meter(workload.device());
  has_energy_ = meter_ && meter_->energy_joules().has_value();
}

bool Rounds::run(std::span<const trial::Setting> settings) {
  std::vector<Member*> asked;
  for (const trial::Setting& setting : settings)
    if (!failed(setting)) asked.push_back(&member(setting));
  for (const std::size_t i : order(asked.size())) {
    if (shared_.until.told_to_give_up()) return false;
    Member& next = *asked[i];
    if (next.trial.outcome != Outcome::ok) continue;  // it cannot even be planned
    run_guarded(next.trial, [&] { block(next); });
    if (next.trial.outcome != Outcome::ok) next.session.close();
  }
  if (shared_.until.told_to_give_up()) return false;
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
    if (member->session.is_open() && shared_.about.takes_real_time &&
        member->opening_seconds <= cheap_step_seconds)
      fast.push_back(member), opening += member->opening_seconds;
  if (opening > side_share * (elapsed_seconds() - renewed_at_)) return;
  renewed_at_ = elapsed_seconds();
  for (Member* member : fast) member->session.close();
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
  if (!member.session.is_open()) open(member);
  const double before = elapsed_seconds();
  std::optional<telemetry::WaitMonitor> others;
  if (shared_.about.takes_real_time && !trial::on_gpu(shared_.workload.device())) {
    others.emplace(shared_.machine);
    const probe::cpu::SpeedReading speed = shared_.machine.speed();
    // If other processes disturbed this reading, it says nothing about the blocks around it.
    if (!others->was_kept_waiting()) moments_.push_back(speed);
  }
  const double usual = member.trial.raw.empty() ? 0 : per_update(member.trial.raw.back());
  const bool brings_its_data =
      usual >= (resident_ ? long_resident_step_seconds : long_step_seconds);
  const double switching = shared_.workload.switching().cost.count();
  Turn turn(member.trial, round_, brings_its_data ? 0 : switch_seconds,
            brings_its_data ? 0 : member.switch_steps,
            std::max(options_.block_seconds, switches_in_a_block * switching));
  member.session.block(turn);
  member.trial.raw.back().slowed |= others && others->was_kept_waiting();
  member.moments.push_back(moments_.size());
  member.last_round = round_;
  member.turn_seconds = elapsed_seconds() - before;
}

void Rounds::open(Member& member) {
  const double began = shared_.machine.now();
  make_room(member);
  const auto has_company = [&] {
    return std::ranges::any_of(members_, [&](const auto& other) {
      return other.get() != &member && other->session.is_open();
    });
  };
  // Next to others it may not fit although it does alone.
  while (!member.session.is_open()) {
    try {
      member.session.open();
      continue;
    } catch (const core::OutOfMemory&) {
      if (!has_company()) throw;
    } catch (const std::bad_alloc&) {
      if (!has_company()) throw;
    }
    close();
    one_at_a_time_ = true;
  }
  const int prefetch = member.trial.setting.configuration.prefetch;
  Turn turn(member.trial, round_, opening_seconds, fewest_steps + (resident_ ? 0 : prefetch), 0);
  member.session.block(turn);
  // A paused session finds its loader's buffers full: if loading is the bottleneck, the steps that
  // drain them are too fast. The first steps always wait, until the loader has started.
  if (turn.last().phases[static_cast<std::size_t>(trial::Phase::data_wait)] >
      noticeable_share * turn.last().seconds)
    member.switch_steps = 1 + prefetch;
  member.session.note_memory();
  member.opening_seconds = shared_.machine.now() - began;
}

// Closes the longest paused sessions first.
void Rounds::make_room(const Member& for_whom) {
  if (one_at_a_time_) close();
  if (!options_.memory || !for_whom.trial.memory_predicted) return;
  core::Bytes together = *for_whom.trial.memory_predicted;
  std::vector<Member*> open;
  for (const auto& other : members_)
    if (other->session.is_open()) {
      open.push_back(other.get());
      together += other->trial.memory_predicted.value_or(0);
    }
  std::ranges::sort(open, {}, &Member::last_round);
  for (Member* other : open) {
    if (together <= *options_.memory) return;
    together -= std::min(together, other->trial.memory_predicted.value_or(0));
    other->session.close();
  }
}

void Rounds::read_device(const trial::Setting& setting, double seconds, double rise_seconds) {
  Member& member = this->member(setting);
  if (failed(setting) || shared_.until.told_to_give_up()) return;
  const std::int64_t steps = member.trial.steps;
  run_guarded(member.trial, [&] {
    if (!member.session.is_open()) open(member);
    Turn warm_up(member.trial, round_, switch_seconds, member.switch_steps, 0);
    member.session.block(warm_up);
    Turn rise(member.trial, 0, rise_seconds, 0, 0);
    member.session.block(rise);
    auto recorder =
        telemetry::start_recorder(shared_.machine, member.trial.device, shared_.machine.now());
    if (!recorder) return;
    Turn read(member.trial, 0, 0, 0, seconds);
    recorder->begin_steps();
    member.session.block(read);
    recorder->end_steps();
    recorder->tell(member.trial);
    member.trial.energy_samples = read.block().samples;
  });
  member.trial.steps = steps;  // which are those of its blocks
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
    if (trial.outcome == Outcome::cancelled && trial.steps > 0)
      trial.outcome = Outcome::ok, trial.note = "it was stopped";
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
  if (!shared_.about.takes_real_time && !trial::on_gpu(shared_.workload.device())) return {};
  trial::Contention found = contention(began_, look(shared_.machine));
  found.slowed_share = telemetry::slowed_share(moments_);
  if (meter_) add(meter_->gpu_contention(), found);
  return found;
}

Rounds::Member& Rounds::member(const trial::Setting& setting) {
  if (Member* known = find(setting)) return *known;
  Member& made = *members_.emplace_back(std::make_unique<Member>(shared_, setting));
  run_guarded(made.trial, [&] { made.session.predict(); });
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

void Rounds::close() {
  for (const auto& member : members_) member->session.close();
}

}  // namespace sweetspot::measure
