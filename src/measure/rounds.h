#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "measure/session_trial.h"
#include "stats/experiment.h"
#include "telemetry/contention.h"
#include "workload/workload.h"

namespace sweetspot::measure {

struct RoundsOptions {
  double block_seconds = experiment::block_seconds;  // at least: see run()
  std::int32_t first_round = 1;                      // a resumed study continues the count
  // The memory of all sessions that are open at the same time; others are opened in turn.
  std::optional<core::Bytes> memory;
  std::uint64_t seed = 1000;  // of the order
  // Memory layout decides one or two percent of a CPU session's speed for as long as it is open:
  // sessions are reopened from time to time, so that no batch is judged by one draw.
  bool renews = false;
};

// Settings that are measured together. The machine drifts, and drift is shared: sessions are open
// side by side, and each round runs one block of steps of each, in random order, every other round
// in reverse. The first steps after a switch, until caches are warm and the previous session's
// loader has filled its buffers, are flagged as warm-up. A setting that fails leaves the rounds;
// the others continue.
class Rounds {
 public:
  // `workload`, which must open sessions side by side, `watch` and `machine` must outlive it.
  Rounds(workload::Workload& workload, const RoundsOptions& options, const Watch& watch,
         const workload::Until& until, telemetry::Machine& machine);
  ~Rounds() { close(); }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // One round of these, without those that have failed. Sessions of others stay open while there is
  // memory: reopening a large one takes longer than many of its blocks. A block takes at least four
  // times as long as a switch to it. False once it was cancelled: blocks finished until then count.
  bool run(std::span<const trial::Setting> settings);
  // Runs this long without a break while the device is read, for its energy, for which a block is
  // too short. These steps are not a block of a round. Before them it runs for `rise_seconds`,
  // until its power is stable.
  void read_device(const trial::Setting& setting, double seconds, double rise_seconds = 0);
  // All sessions, which report to their trials.
  void close();

  // One trial per setting that took part, in order of first appearance, as far as it was measured.
  std::vector<trial::Trial> trials() const;
  // The same without summaries: setting, outcome, memory and blocks. Cheap.
  std::vector<trial::Trial> blocks() const;
  // Whether it failed.
  bool failed(const trial::Setting& setting) const;
  // Whether it was in a round of this run, and can be again.
  bool took_part(const trial::Setting& setting) const { return find(setting) && !failed(setting); }
  // The duration of its last turn, including the steps after the switch; 0 before its first.
  double turn_seconds(const trial::Setting& setting) const;
  double elapsed_seconds() const { return shared_.elapsed.seconds(); }
  std::int32_t rounds() const { return round_ - options_.first_round; }  // complete, of this run
  bool has_energy() const { return has_energy_; }

 private:
  struct Member {
    Member(Shared& shared, const trial::Setting& setting)
        : session(shared, setting), trial(session.trial) {}
    SessionTrial session;
    trial::Trial& trial;
    std::int64_t last_round = 0;
    int switch_steps = 1;  // minimum warm-up steps after a switch back to it
    double opening_seconds = 0, turn_seconds = 0;
    std::vector<std::size_t> moments{};  // of each block: the first one after it
  };

  Member& member(const trial::Setting& setting);
  Member* find(const trial::Setting& setting) const;
  std::vector<std::size_t> order(std::size_t count);
  void block(Member& member);
  void open(Member& member);
  void renew(const std::vector<Member*>& in_turns);
  void make_room(const Member& for_whom);
  trial::Contention contention_so_far() const;

  const RoundsOptions options_;
  Shared shared_;
  telemetry::Look began_;
  const bool resident_;  // on a GPU, with all its data
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<probe::cpu::SpeedReading> moments_;  // one before each block, undisturbed ones
  std::unique_ptr<telemetry::Meter> meter_;        // of the device, for contention on it
  bool has_energy_ = false;
  bool one_at_a_time_ = false;  // sessions did not fit side by side
  std::int32_t round_;
  std::vector<std::size_t> last_order_;
  double renewed_at_ = 0;
};

}  // namespace sweetspot::measure
