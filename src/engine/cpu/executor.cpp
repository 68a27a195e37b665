#include "engine/cpu/executor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/cpu/kernels/bf16_support.h"
#include "engine/cpu/ops/ops.h"
#include "engine/cpu/plan.h"

namespace sweetspot::engine::cpu {
namespace {

using Clock = std::chrono::steady_clock;
using Times = ThreadProfile::Times;

// A plain step is not timed per operation.
struct NoTimer {
  void phase(core::Seconds Times::*) {}
  void did(std::size_t) {}
  void waited() {}
};

// Adds the time since the previous call to the operation that is named.
class OperationTimer {
 public:
  explicit OperationTimer(ThreadProfile& profile) : profile_(profile) {}
  void phase(core::Seconds Times::*phase) { phase_ = phase; }
  void did(std::size_t operation) { give(profile_.operations[operation]); }
  void waited() { give(profile_.waiting); }

 private:
  void give(Times& times) {
    const Clock::time_point now = Clock::now();
    times.*phase_ += now - last_;
    last_ = now;
  }
  ThreadProfile& profile_;
  core::Seconds Times::*phase_ = &Times::forward;
  Clock::time_point last_ = Clock::now();
};

// Calls visit(samples) for the blocks of a stage, or for groups of nearly equal size.
template <class Visit>
void each_group(const Range& samples, const Stage& stage, Visit visit) {
  const std::int64_t count = samples.end - samples.begin,
                     groups = (count + stage.samples - 1) / stage.samples;
  for (std::int64_t i = 0; i < groups; ++i)
    if (stage.block > 1)
      visit(Range{samples.begin + i * stage.block,
                  std::min(samples.begin + (i + 1) * stage.block, samples.end)});
    else
      visit(Range{samples.begin + count * i / groups, samples.begin + count * (i + 1) / groups});
}

// Samples [first, last) of blocks, of `count` samples.
Range samples_of(const Range& blocks, std::int64_t block, std::int64_t count) {
  return {std::min(blocks.begin * block, count), std::min(blocks.end * block, count)};
}
std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

// Whether threads share the blocks of a stage, since there are fewer blocks than threads.
bool shares_blocks(const Stage& stage, std::int64_t count, int threads) {
  return stage.block > 1 && blocks_of(count, stage.block) < threads;
}

// Calls visit(samples, part, parts) for a member's parts of all blocks. Each block has so many
// parts that the member with the most of them has the least to do.
template <class Visit>
void each_part_of_blocks(std::int64_t count, std::int64_t block, int member, int members,
                         Visit visit) {
  constexpr int most_parts = 8;  // more are too small
  const std::int64_t blocks = blocks_of(count, block);
  const auto longest = [&](int parts) {
    return (blocks * parts + members - 1) / members * most_parts * most_parts / parts;
  };
  int parts = 1;
  for (int more = 2; more <= most_parts; ++more)
    if (longest(more) < longest(parts)) parts = more;
  const Range mine = share(blocks * parts, member, members);
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const std::int64_t first = i / parts * block;
    visit(Range{first, std::min(first + block, count)}, static_cast<int>(i % parts), parts);
  }
}

}  // namespace

Executor::Executor(Program program, Team& team) : program_(std::move(program)), team_(team) {
  const core::MemoryByUse memory = program_memory(program_, team.size());
  const core::Bytes shared_bytes = static_cast<core::Bytes>(program_.shared_floats) * sizeof(float);
  arena_ = core::Buffer(memory[core::Use::activations], core::Use::activations);
  scratch_ = core::Buffer(memory[core::Use::workspace] - shared_bytes, core::Use::workspace);
  shared_ = core::Buffer(shared_bytes, core::Use::workspace);
  slots_ = core::Buffer(memory[core::Use::gradients], core::Use::gradients);
  next_ = std::make_unique<Counter[]>(2 * counters());
}

Pass Executor::pass() const {
  Pass pass;
  pass.kernels = &kernels();
  pass.bf16 = bf16_support().kernels;
  pass.arena = arena_.data();
  pass.scratch = scratch_.data(), pass.scratch_stride = program_.scratch_bytes;
  pass.shared = shared_.as<float>();
  pass.slots = slots_.as<float>(), pass.slot_floats = program_.slot_floats;
  pass.used_slots = gradient_slots(program_, team_.size());
  pass.training = program_.training;
  return pass;
}

void Executor::take_fresh_counters() { half_ = 1 - half_; }

void Executor::reset_counters(int member) {
  for (std::size_t i = static_cast<std::size_t>(member); i < counters(); i += members())
    next_[(1 - half_) * counters() + i].taken.store(0, std::memory_order_relaxed);
}

template <class Visit>
void Executor::each_of(std::int64_t count, std::int64_t grab, std::size_t counter, int member,
                       Visit visit) {
  for (int i = 0; i < team_.size(); ++i) {
    const int owner = (member + i) % team_.size();
    const Range range = share(count, owner, team_.size());
    std::atomic<std::int64_t>& taken =
        next_[half_ * counters() + counter * members() + static_cast<std::size_t>(owner)].taken;
    for (std::int64_t begin;
         (begin = range.begin + taken.fetch_add(grab, std::memory_order_relaxed)) < range.end;)
      visit(Range{begin, std::min(begin + grab, range.end)});
  }
}

template <class Make>
void Executor::run(Pass& pass, bool first, Last last, const Update* update, GradientSums* sums,
                   StepResult& times, Make make_told) {
  take_fresh_counters();
  const Clock::time_point start = Clock::now();
  Clock::time_point forward_end, backward_end;
  pass.adds = !first;
  if (last != Last::update) sums = nullptr;
  pass.late_gradients = first && last == Last::update && !sums;
  if (pass.late_gradients) {  // no other micro-batch uses the slots
    pass.used_slots = std::min(pass.used_slots, blocks_of(pass.count, program_.block));
    pass.folds_slots = team_.size() == 1;
  }
  const bool prepares = first && !is_prepared(pass);
  clear_places_ = 0;
  auto work = [&](int member) {
    auto told = make_told(member);
    reset_counters(member);
    if (prepares) {
      prepare(pass, member, told);
      clear_slots(pass, member);
      told.did(program_.operation_count());
      team_.barrier();
      told.waited();
    }
    forward(pass, member, told);
    if (member == 0) forward_end = Clock::now();
    told.phase(&Times::backward);
    backward(pass, member, update, sums, times, told);
    if (member == 0) backward_end = Clock::now();
    told.phase(&Times::update);
    if (sums)
      update_with(pass, *update, *sums, member, told);
    else if (last != Last::no)
      finish(pass, update, member, told);
  };
  team_.run(work);
  if (last == Last::update) {
    prepared_version_ =
        pass.late_gradients ? std::optional(pass.weights_version + 1) : std::nullopt;
    clear_places_ = pass.late_gradients && clears_in_update() ? pass.slot_places() : 0;
  }
  times.forward += forward_end - start;
  times.backward += backward_end - forward_end;
  times.update += Clock::now() - backward_end;
}

void Executor::train(Pass& pass, bool first, Last last, const Update* update, GradientSums* sums,
                     StepResult& times) {
  run(pass, first, last, update, sums, times, [](int) { return NoTimer(); });
}

void Executor::profile(Pass& pass, bool first, Last last, const Update* update, GradientSums* sums,
                       StepProfile& profile) {
  run(pass, first, last, update, sums, profile.result, [&](int member) {
    return OperationTimer(profile.threads[static_cast<std::size_t>(member)]);
  });
}

void Executor::update_only(Pass& pass, const Update& update, GradientSums& sums) {
  std::fill_n(pass.gradients, program_.weights.trainable_floats(), 0.f);
  sums.begin({});
  sums.made(0);
  auto work = [&](int member) {
    NoTimer nobody;
    update_with(pass, update, sums, member, nobody);
  };
  team_.run(work);
}

void Executor::evaluate(Pass& pass) {
  take_fresh_counters();
  auto work = [&](int member) {
    NoTimer nobody;
    reset_counters(member);
    prepare(pass, member, nobody);
    team_.barrier();
    forward(pass, member, nobody);
  };
  team_.run(work);
}

template <class OperationTimer>
void Executor::prepare(const Pass& pass, int member, OperationTimer& told) {
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    if (prepared_version_ == pass.weights_version && program_.ops[i]->prepares_in_update())
      continue;
    program_.ops[i]->prepare_part(pass, member, team_.size());
    told.did(program_.operation_of[i]);
  }
}

// What operations prepare is in their shared memory.
bool Executor::is_prepared(const Pass& pass) const {
  return prepared_version_ == pass.weights_version &&
         (clear_places_ >= pass.slot_places() || program_.slot_floats == 0) &&
         std::ranges::all_of(program_.ops, [](const auto& op) {
           return op->shared_floats == 0 || op->prepares_in_update();
         });
}

// Which slots begin without zeros depends on the samples of the next micro-batch.
bool Executor::clears_in_update() const {
  return std::ranges::none_of(program_.ops, [](const auto& op) { return op->begins_slots(); });
}

void Executor::clear_slots(const Pass& pass, int member) const {
  const std::int64_t begun = std::min(pass.slot_places(), blocks_of(pass.count, program_.block));
  for (const auto& op : program_.ops) {
    const Range mine = share(op->slot_floats, member, team_.size());
    for (std::int64_t s = op->begins_slots() ? begun : 0; s < pass.slot_places(); ++s) {
      float* slot = pass.slots + s * pass.slot_floats + op->slot_offset;
      std::fill(slot + mine.begin, slot + mine.end, 0.f);
    }
  }
}

void Executor::fold_slot(const Pass& pass, const Op& op, bool clears) {
  constexpr std::int64_t in_cache = 2048;  // floats of a slot that stay in the L1 cache
  float* sum = pass.slots + op.slot_offset;
  float* slot = sum + pass.slot_floats;
  for (std::int64_t done = 0; done < op.slot_floats; done += in_cache) {
    const std::int64_t count = std::min(in_cache, op.slot_floats - done);
    pass.kernels->add(slot + done, count, sum + done);
    if (clears && !op.begins_slots()) std::fill_n(slot + done, count, 0.f);
  }
}

template <class OperationTimer>
void Executor::forward(const Pass& pass, int member, OperationTimer& told) {
  // Samples are taken a few at a time; which thread processes which sample does not affect the
  // result.
  const std::int64_t grab = std::clamp<std::int64_t>(pass.count / (team_.size() * 8), 1, 8);
  for (std::size_t s = 0; s < program_.stages.size(); ++s) {
    const Stage& stage = program_.stages[s];
    if (stage.with_backward && pass.training) break;
    if (stage.whole) {
      Op& op = *program_.ops[stage.begin];
      for (int phase = 0; phase < op.forward_phases(); ++phase) {
        op.forward_part(pass, phase, member, team_.size());
        told.did(program_.operation_of[stage.begin]);
        team_.barrier();
        told.waited();
      }
      continue;
    }
    if (shares_blocks(stage, pass.count, team_.size())) {
      forward_together(pass, stage, stage.begin, member, false, told);
      continue;
    }
    const std::int64_t blocks_at_once = std::max(grab, stage.samples) / stage.block;
    each_of(blocks_of(pass.count, stage.block), blocks_at_once, 2 * s, member,
            [&](const Range& grabbed) {
              each_group(samples_of(grabbed, stage.block, pass.count), stage,
                         [&](const Range& samples) {
                           for (std::size_t i = stage.begin; i < stage.end; ++i) {
                             program_.ops[i]->forward_some(pass, samples, member);
                             told.did(program_.operation_of[i]);
                           }
                         });
            });
    team_.barrier();
    told.waited();
  }
}

template <class OperationTimer>
void Executor::forward_together(const Pass& given, const Stage& stage, std::size_t begin,
                                int member, bool repeated, OperationTimer& told) {
  Pass pass = given;
  pass.shared_block = stage.block;
  for (std::size_t i = begin; i < stage.end; ++i) {
    Op& op = *program_.ops[i];
    for (int step = 0; step < op.forward_steps() && (!repeated || op.repeated); ++step) {
      each_part_of_blocks(pass.count, stage.block, member, team_.size(),
                          [&](const Range& samples, int part, int parts) {
                            op.forward_piece(pass, samples, {step, part, parts}, member);
                          });
      told.did(program_.operation_of[i]);
      team_.barrier();
      told.waited();
    }
  }
}

// A slot has one block.
template <class OperationTimer>
void Executor::backward_together(const Pass& given, const Stage& stage, std::size_t begin,
                                 int member, OperationTimer& told) {
  forward_together(given, stage, begin, member, true, told);
  Pass pass = given;
  pass.shared_block = stage.block;
  for (std::size_t i = stage.end; i-- > begin;) {
    Op& op = *program_.ops[i];
    for (int step = 0; step < op.backward_steps(); ++step) {
      each_part_of_blocks(pass.count, stage.block, member, team_.size(),
                          [&](const Range& samples, int part, int parts) {
                            const SlotPart whole{samples, samples.begin / stage.block, true, true};
                            op.backward_piece(pass, whole, {step, part, parts}, member);
                          });
      told.did(program_.operation_of[i]);
      team_.barrier();
      told.waited();
    }
  }
}

template <class OperationTimer>
void Executor::backward(const Pass& pass, int member, const Update* update, GradientSums* sums,
                        const StepResult& before, OperationTimer& told) {
  const std::int64_t blocks = blocks_of(pass.count, program_.block),
                     slots = std::min(pass.used_slots, blocks);
  // The results of a stage are gathered immediately if other ranks wait for them.
  const auto hand_over = [&](const Stage& stage) {
    if (!sums) return;
    gather(pass, stage.begin, stage.end, member, told);
    team_.barrier();
    told.waited();
    if (member > 0) return;
    if (&stage == &program_.stages.back()) {  // it has the loss
      StepResult part = result(pass);
      part.loss += before.loss, part.correct += before.correct;
      sums->begin(part);
    }
    sums->made(stage.made_from);
  };
  for (std::size_t s = program_.stages.size(); s-- > 0;) {
    const Stage& stage = program_.stages[s];
    if (stage.end <= program_.first_trainable) break;
    if (stage.whole) {
      Op& op = *program_.ops[stage.begin];
      for (int phase = 0; phase < op.backward_phases(); ++phase) {
        op.backward_part(pass, phase, member, team_.size());
        told.did(program_.operation_of[stage.begin]);
        team_.barrier();
        told.waited();
      }
      hand_over(stage);
      continue;
    }
    if (s == last_backward_stage() && updates_early(pass)) {
      told.phase(&Times::update);
      update_late_weights(pass, *update, member, told);
      told.phase(&Times::backward);
    }
    const std::size_t begin = std::max(stage.begin, program_.first_trainable);
    if (shares_blocks(stage, pass.count, team_.size())) {
      backward_together(pass, stage, begin, member, told);
      hand_over(stage);
      continue;
    }
    each_of(slots, 1, 2 * s + 1, member, [&](const Range& mine) {
      const std::int64_t slot = mine.begin;
      const Range all = samples_of({blocks * slot / slots, blocks * (slot + 1) / slots},
                                   program_.block, pass.count);
      each_group(all, stage, [&](const Range& samples) {
        for (std::size_t i = stage.with_backward ? stage.begin : begin; i < stage.end; ++i)
          if (stage.with_backward || program_.ops[i]->repeated) {
            if (stage.with_backward) told.phase(&Times::forward);
            program_.ops[i]->forward_some(pass, samples, member);
            told.did(program_.operation_of[i]);
            told.phase(&Times::backward);
          }
        const SlotPart part{samples, pass.slot_place(slot), samples.begin == all.begin,
                            samples.end == all.end};
        for (std::size_t i = stage.end; i-- > begin;) {
          program_.ops[i]->backward_some(pass, part, member);
          told.did(program_.operation_of[i]);
        }
      });
      for (std::size_t i = begin; i < stage.end && pass.folds_slots && slot > 0; ++i) {
        if (!program_.ops[i]->folds_own_slots())
          fold_slot(pass, *program_.ops[i], slot + 1 < slots);
        told.did(program_.operation_of[i]);
      }
    });
    if (pass.late_gradients && s == last_backward_stage()) break;  // finish() waits
    team_.barrier();
    told.waited();
    hand_over(stage);
  }
}

template <class OperationTimer>
void Executor::gather(const Pass& pass, std::size_t begin, std::size_t end, int member,
                      OperationTimer& told) {
  for (std::size_t i = begin; i < end; ++i) {
    program_.ops[i]->gather_part(pass, member, team_.size());
    told.did(program_.operation_of[i]);
  }
}

// A bucket is applied while later ones are still in flight.
template <class OperationTimer>
void Executor::update_with(const Pass& pass, const Update& update, GradientSums& sums, int member,
                           OperationTimer& told) {
  for (std::size_t i = 0; i < sums.buckets(); ++i) {
    if (member == 0) bucket_ = sums.wait(i);
    team_.barrier();
    told.waited();
    apply(update, bucket_, pass, member);
    told.did(program_.operation_count());
    team_.barrier();
    told.waited();
  }
}

template <class OperationTimer>
void Executor::finish(const Pass& pass, const Update* update, int member, OperationTimer& told) {
  const auto wait = [&] {
    team_.barrier();
    told.waited();
  };
  if (!pass.late_gradients) {
    gather(pass, 0, program_.ops.size(), member, told);
    if (!update) return;
    wait();
    apply(*update, {0, program_.weights.trainable_floats()}, pass, member);
    told.did(program_.operation_count());
    return;
  }
  // Dense layers do not need what the other members still do in the last stage of backward.
  if (!updates_early(pass)) update_late_weights(pass, *update, member, told);
  if (!program_.stages[last_backward_stage()].whole) wait();
  if (program_.slot_floats > 0) {
    gather(pass, 0, program_.ops.size(), member, told);
    wait();
  }
  for (const Range& range : program_.early_weights) apply(*update, range, pass, member);
  if (clears_in_update()) clear_slots(pass, member);
  told.did(program_.operation_count());
}

template <class OperationTimer>
void Executor::update_late_weights(const Pass& pass, const Update& update, int member,
                                   OperationTimer& told) {
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    program_.ops[i]->update_part(pass, update, member, member, team_.size());
    told.did(program_.operation_of[i]);
  }
}

// What dense layers read is still in cache before the last stage of backward; but several members
// update them while others are still in it.
bool Executor::updates_early(const Pass& pass) const {
  return pass.late_gradients && team_.size() == 1 && !program_.stages[last_backward_stage()].whole;
}

std::size_t Executor::last_backward_stage() const {
  std::size_t s = 0;
  while (program_.stages[s].end <= program_.first_trainable) ++s;
  return s;
}

// Every member takes whole units of the range.
void Executor::apply(const Update& update, const Range& range, const Pass& pass, int member) const {
  const Range units = share((range.end - range.begin) / unit, member, team_.size());
  const std::int64_t begin = range.begin + units.begin * unit;
  update.apply(begin, (units.end - units.begin) * unit, pass.gradients + begin, {});
}

StepResult Executor::result(const Pass& pass) const {
  StepResult sum;
  for (std::int64_t sample = 0; sample < pass.count; ++sample) {
    const auto* loss = pass.at<SampleLoss>(program_.loss().kept, sample, 0);
    sum.loss += loss->loss, sum.correct += loss->correct;
  }
  return sum;
}

}  // namespace sweetspot::engine::cpu
