#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "measure/measure.h"

namespace sweetspot::measure {

// What trials share that are measured together.
struct Shared {
  workload::Workload& workload;
  const workload::Until until;
  const Watch& watch;
  telemetry::Machine& machine;
  const workload::About about = workload.about();
  telemetry::Elapsed elapsed{machine, about.takes_real_time};
  double next_told = 0;
};

// How a block of steps is measured: which of the first are warm-up, and when the others are enough.
class BlockRule {
 public:
  virtual ~BlockRule() = default;
  virtual bool is_warm() const = 0;  // asked before each step, until it is
  virtual void begin() = 0;          // no further one is warm-up
  virtual bool has_enough() const = 0;
  virtual void add(const trial::Step& step) = 0;
  virtual void end() {}
  virtual void give_up() {}  // instead: the block did not come to its end
  // So far, for a display.
  virtual std::optional<trial::Interval> samples_per_second() const { return std::nullopt; }
};

// A trial in progress whose steps are a session's, from its opening to its report: one block of it,
// or one in each of many rounds.
class SessionTrial {
 public:
  SessionTrial(Shared& shared, const trial::Setting& setting);

  void predict();  // its memory
  void open();
  bool is_open() const { return session_ != nullptr; }
  // Runs a block, and records each step. Ended if the session cannot continue, does not use its
  // batch, or was told to give up.
  void block(BlockRule& rule);
  workload::Session& session() { return *session_; }
  void note_memory();  // the peak so far
  void close();        // with the session's report

  trial::Trial trial;

 private:
  void step(bool warm_up, BlockRule& rule);
  bool uses_its_batch(const trial::Step& step);
  void note_memory(const std::optional<core::Bytes>& now,
                   const std::optional<core::MemoryByUse>& by_use);

  Shared& shared_;
  std::unique_ptr<workload::Session> session_;
  std::int64_t steps_ = 0, short_steps_ = 0;
  bool was_whole_ = false;                 // the last step
  std::optional<std::int64_t> remainder_;  // samples of an epoch's last step
};

}  // namespace sweetspot::measure
