#include "engine/cuda/executor.h"

#include <algorithm>
#include <utility>

namespace sweetspot::engine::cuda {

Executor::Executor(Program program, cudaStream_t stream, std::optional<core::Bytes> bucket_bytes)
    : program_(std::move(program)), stream_(stream) {
  const core::MemoryByUse memory = program_memory(program_);
  const auto make = [&](core::Use use) { return DeviceBuffer(memory[use], use); };
  arena_ = make(core::Use::activations), partials_ = make(core::Use::gradients);
  input_ = make(core::Use::input);
  if (!program_.training) return;
  for (const PartialGradients& p : program_.partials()) {
    updates_[0].segments.push_back(segment_of(p));
    if (!p.in_place) updates_[1].segments.push_back(segment_of(p));
  }
  lay_out_chunks();
  for (Updates& u : updates_) u.lay_out();
  if (bucket_bytes) fill_buckets(*bucket_bytes);
}

Segment Executor::segment_of(const PartialGradients& p) const {
  return {p.weights,
          static_cast<int>(p.floats),
          p.splits,
          partials_.as<float>() + p.offset,
          p.floats,
          p.early,
          0,
          p.operands,
          static_cast<int>(p.operand_count)};
}

// Many weights are updated while the rest of the backward pass runs, unless that can still overflow;
// few are not worth a launch.
void Executor::lay_out_chunks() {
  constexpr std::int64_t many = 1 << 20;
  updates_[2] = updates_[1];
  if (!program_.branches) return;
  Chunk next;
  std::int64_t floats = 0;
  std::vector<PartialGradients> partials = program_.partials();
  std::erase_if(partials, [](const PartialGradients& p) { return p.in_place; });
  for (std::size_t i = partials.size(); i-- > 0 && partials[i].op > program_.first_trainable;) {
    next.updates.segments.push_back(updates_[1].segments[i]);
    floats += partials[i].floats;
    const bool last_of_op = i == 0 || partials[i - 1].op != partials[i].op;
    if (!last_of_op || floats < many || partials[i].op > program_.first_overflow) continue;
    next.op = partials[i].op, next.updates.lay_out();
    updates_[2].segments.resize(i);
    chunks_.push_back(std::exchange(next, {}));
    floats = 0;
  }
}

void Executor::fill_buckets(core::Bytes bucket_bytes) {
  std::vector<PartialGradients> partials = program_.partials();
  std::ranges::stable_sort(partials, std::greater(), &PartialGradients::op);
  std::int64_t all = 0;
  for (const PartialGradients& p : partials) all += p.floats;
  // Enough buckets to overlap most of the backward pass, none so small that its latency counts more
  // than its bytes, and none larger than PyTorch's.
  constexpr std::int64_t several = 8, least = core::MiB / sizeof(float), most = 25 * least;
  const std::int64_t full = bucket_bytes > 0
                                ? static_cast<std::int64_t>(bucket_bytes / sizeof(float))
                                : std::clamp(all / several, least, most);
  std::int64_t floats = 0;
  buckets_.emplace_back();
  for (std::size_t i = 0; i < partials.size(); ++i) {
    const PartialGradients& p = partials[i];
    const bool same_op = i > 0 && partials[i - 1].op == p.op;
    if (floats >= full && !same_op) buckets_.emplace_back(), floats = 0;
    Bucket& bucket = buckets_.back();
    bucket.updates.segments.push_back(segment_of(p));
    bucket.last_op = p.op, floats += p.floats;
  }
  for (Bucket& bucket : buckets_) {
    for (const Segment& s : bucket.updates.segments)
      bucket.ranges.push_back({s.begin, s.begin + s.count});
    std::ranges::sort(bucket.ranges, {}, &Range::begin);
    std::vector<Range> joined;
    for (const Range& range : bucket.ranges)
      if (!joined.empty() && joined.back().end == range.begin)
        joined.back().end = range.end;
      else
        joined.push_back(range);
    bucket.ranges = std::move(joined);
    bucket.updates.lay_out();
  }
}

void Executor::Updates::lay_out() {
  // Segments that wait for nothing come first: they run on the multiprocessors that the last kernel
  // of the backward pass leaves early.
  std::ranges::stable_partition(segments, &Segment::early);
  const int launches =
      std::max(1, (static_cast<int>(segments.size()) + most_segments - 1) / most_segments);
  // With several launches each waits for the previous one: none may overtake the backward pass.
  if (launches > 1)
    for (Segment& s : segments) s.early = false;
  blocks.resize(static_cast<std::size_t>(launches));
  for (int i = 0; i < launches; ++i)
    blocks[static_cast<std::size_t>(i)] =
        lay_out_blocks(segments.data() + i * most_segments, segments_of(i));
}
int Executor::Updates::segments_of(int i) const {
  return std::min(static_cast<int>(segments.size()) - i * most_segments, most_segments);
}

core::MemoryByUse Executor::memory() const {
  core::MemoryByUse memory;
  for (const DeviceBuffer* b : {&arena_, &partials_, &input_}) memory[b->use()] += b->size();
  return memory;
}

Pass Executor::pass() const {
  Pass pass;
  pass.arena = arena_.data(), pass.partials = partials_.as<float>();
  pass.scratch = arena_.as<float>(program_.scratch);
  pass.branch_scratch = arena_.as<float>(program_.branch_scratch);
  pass.tickets = arena_.as<std::uint32_t>(program_.tickets);
  pass.packed_input = arena_.as<std::uint16_t>(program_.packed_input);
  pass.packed_gradient = arena_.as<std::uint16_t>(program_.packed_gradient);
  pass.training = program_.training;
  pass.stream = stream_;
  return pass;
}

Update Executor::update(const Updates& from, int i) const {
  Update u{};
  if (program_.training) {
    u.segment_count = from.segments_of(i), u.blocks = from.blocks[static_cast<std::size_t>(i)];
    std::copy_n(from.segments.begin() + i * most_segments, u.segment_count, u.segments);
    u.ends_step = i + 1 == from.launches();
  }
  u.losses = arena_.as<float>(program_.loss->places.losses);
  u.correct = arena_.as<std::uint8_t>(program_.loss->places.correct);
  return u;
}

std::byte* Executor::host_buffer(int i) const {
  return input_.data() + static_cast<core::Bytes>(i) * program_.host_batch.bytes();
}

Source Executor::source(int buffer, bool targets) const {
  Source source;
  std::byte* answers = this->host_buffer(buffer) + program_.host_batch.inputs_bytes;
  source.floats = reinterpret_cast<const float*>(this->host_buffer(buffer));
  if (targets)
    source.targets = reinterpret_cast<const float*>(answers);
  else
    source.labels = reinterpret_cast<const std::int32_t*>(answers);
  return source;
}

Source Executor::copy_in(const BatchView& batch, std::int64_t first, std::int64_t count) const {
  const HostBatch& host = program_.host_batch;
  const BatchView part = part_of(batch, host, first, count);
  const auto copy = [&](core::Bytes offset, const auto* from, std::int64_t each) {
    check(cudaMemcpyAsync(host_buffer(0) + offset, from,
                          static_cast<std::size_t>(count * each) * sizeof(*from),
                          cudaMemcpyHostToDevice, stream_),
          "copying a batch");
  };
  copy(0, part.inputs, host.sample_floats);
  if (part.targets)
    copy(host.inputs_bytes, part.targets, host.outputs);
  else
    copy(host.inputs_bytes, part.labels, 1);
  return source(0, part.targets != nullptr);
}

void Executor::forward(Pass& pass) const {
  for (const auto& op : program_.ops) op->forward(pass);
  add_penalty_loss(pass);
}

void Executor::backward(Pass& pass, const AfterOp& after) const {
  auto chunk = chunks_.begin();
  for (std::size_t i = program_.ops.size(); i-- > program_.first_trainable;) {
    pass.last = i == program_.first_trainable;
    program_.ops[i]->backward(pass);
    if (pass.branches && pass.fill_update && chunk != chunks_.end() && chunk->op == i) {
      pass.flush();
      update_on_branch(pass, *pass.branches, *chunk++);
    }
    if (after) after(i);
  }
  pass.flush();
  if (pass.branches) pass.branches->join(pass.stream);
  add_penalty_gradients(pass);
}

// The operation reads its weights no more, and its gradients are on the stream or on the other
// branch.
void Executor::update_on_branch(const Pass& pass, Branches& branches, const Chunk& chunk) const {
  branches.updates.fork(pass.stream);
  if (branches.gradients.open()) branches.updates.fork(branches.gradients);
  const WholePredecessors late;
  for (int i = 0; i < chunk.updates.launches(); ++i) {
    Update u = update(chunk.updates, i);
    u.ends_step = false;
    pass.fill_update(u);
    check(launch_update(u, branches.updates), "the update");
  }
}

template <class Run>
void Executor::each_penalty_pass(const Pass& pass, Run run) const {
  const std::vector<Penalty>& all = program_.penalties;
  for (std::size_t first = 0; first < all.size(); first += most_penalties) {
    PenaltyPass p{};
    p.penalty_count = static_cast<int>(std::min<std::size_t>(most_penalties, all.size() - first));
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), p.penalty_count, p.penalties);
    p.weights = pass.weights, p.partials = pass.partials, p.state = pass.state;
    p.sums = pass.at<double>(program_.penalty_sums);
    p.losses = pass.at(program_.loss->places.losses), p.samples = pass.count;
    run(p);
  }
}

void Executor::add_penalty_loss(const Pass& pass) const {
  each_penalty_pass(
      pass, [&](const PenaltyPass& p) { check(launch_penalty_loss(p, pass.stream), "a penalty"); });
}

void Executor::add_penalty_gradients(const Pass& pass) const {
  if (pass.first > 0) return;  // once for the whole batch
  const WholePredecessors late;
  each_penalty_pass(pass, [&](const PenaltyPass& p) {
    check(launch_penalty_gradients(p, pass.stream), "a penalty's gradients");
  });
}

}  // namespace sweetspot::engine::cuda
