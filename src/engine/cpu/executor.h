#pragma once
#include <atomic>
#include <memory>
#include <optional>

#include "core/buffer.h"
#include "engine/cpu/compiled_plan.h"
#include "engine/cpu/gradient_sums.h"
#include "engine/cpu/team.h"

namespace sweetspot::engine::cpu {

// A program with its memory, run by a team.
class Executor {
 public:
  Executor(Program program, Team& team);

  const Program& program() const { return program_; }
  // A pass with this program's memory filled in.
  Pass pass() const;

  enum class Last { no, gather, update };
  // Forward and backward of one micro-batch, with their times added to `times`. After the last one
  // of a batch the partial gradients are gathered, and the update, if any, is applied. Allocates
  // nothing. With `sums`, an update uses the gradients of all ranks, whose results come with them.
  void train(Pass& pass, bool first, Last last, const Update* update, GradientSums* sums,
             StepResult& times);
  // The same, with every operation's time added to `profile`, which has an entry for each.
  void profile(Pass& pass, bool first, Last last, const Update* update, GradientSums* sums,
               StepProfile& profile);
  // The update of a rank that has no sample of a batch, with the gradients of the others.
  void update_only(Pass& pass, const Update& update, GradientSums& sums);
  void evaluate(Pass& pass);
  StepResult result(const Pass& pass) const;

 private:
  // `OperationTimer` records what was just done; for a plain step it is empty, and compiles to
  // nothing.
  template <class Make>
  void run(Pass& pass, bool first, Last last, const Update* update, GradientSums* sums,
           StepResult& times, Make told);
  template <class OperationTimer>
  void prepare(const Pass& pass, int member, OperationTimer& told);
  template <class OperationTimer>
  void forward(const Pass& pass, int member, OperationTimer& told);
  // The same for a stage whose blocks are fewer than the threads; `repeated`: only operations that
  // backward repeats.
  template <class OperationTimer>
  void forward_together(const Pass& pass, const Stage& stage, std::size_t begin, int member,
                        bool repeated, OperationTimer& told);
  template <class OperationTimer>
  void backward_together(const Pass& pass, const Stage& stage, std::size_t begin, int member,
                         OperationTimer& told);
  template <class OperationTimer>
  // `before`: the result of the batch's earlier micro-batches.
  void backward(const Pass& pass, int member, const Update* update, GradientSums* sums,
                const StepResult& before, OperationTimer& told);
  template <class OperationTimer>
  void gather(const Pass& pass, std::size_t begin, std::size_t end, int member,
              OperationTimer& told);
  template <class OperationTimer>
  void finish(const Pass& pass, const Update* update, int member, OperationTimer& told);
  template <class OperationTimer>
  void update_late_weights(const Pass& pass, const Update& update, int member,
                           OperationTimer& told);
  bool updates_early(const Pass& pass) const;
  template <class OperationTimer>
  void update_with(const Pass& pass, const Update& update, GradientSums& sums, int member,
                   OperationTimer& told);
  void apply(const Update& update, const Range& range, const Pass& pass, int member) const;
  // Before the team starts: the other half of the counters, which are zero.
  void take_fresh_counters();
  // Zeroes a member's own counters of the half that no one uses now.
  void reset_counters(int member);
  // Whether the update has left everything as prepare() and clear_slots() would.
  bool is_prepared(const Pass& pass) const;
  // Zeros for a batch's first micro-batch, where operations add from the beginning.
  void clear_slots(const Pass& pass, int member) const;
  // Adds slot 1, which the thread has just made, to slot 0: both are in its L2 cache then, and 16
  // slots would not be.
  static void fold_slot(const Pass& pass, const Op& op, bool clears);
  bool clears_in_update() const;
  std::size_t last_backward_stage() const;
  // Calls visit(range) for some of [0, count), `grab` at a time: the member's own share first,
  // whose data are in its caches, then the rest of the others'.
  template <class Visit>
  void each_of(std::int64_t count, std::int64_t grab, std::size_t counter, int member, Visit visit);
  std::size_t members() const { return static_cast<std::size_t>(team_.size()); }
  std::size_t counters() const { return 2 * program_.stages.size() * members(); }

  Program program_;
  Team& team_;
  core::Buffer arena_, scratch_, shared_, slots_;
  struct alignas(64) Counter {
    std::atomic<std::int64_t> taken{0};
  };
  Range bucket_{0, 0};  // of gradients that the members apply
  // Of the weights that an update has prepared for the next step.
  std::optional<std::uint64_t> prepared_version_;
  std::int64_t clear_places_ = 0;  // of slots
  // Per stage's forward and backward, one for each member; all of that twice. A member zeroes its
  // own: a line that another core has written takes longer.
  std::unique_ptr<Counter[]> next_;
  std::size_t half_ = 0;
};

}  // namespace sweetspot::engine::cpu
