#include "engine/cuda/kernels/tma_product.h"
#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {
namespace {

int blocks_of(const GemmPart& p) { return p.phases * p.tiles_m * p.tiles_n * p.splits; }
void divide_tiles(GemmPart& p) {
  p.by_tiles_m = Divider(static_cast<std::uint32_t>(p.tiles_m));
  p.by_tiles_n = Divider(static_cast<std::uint32_t>(p.tiles_n));
}
bool on_chip(const GemmPart& p) { return p.tile == TileKind::on_chip; }

}  // namespace

Aside::Aside(Pass& pass, bool always) : pass_(pass), stream_(pass.stream), scratch_(pass.scratch) {
  if (!pass.branches || (pass.last && !always)) return;
  Branch& branch = pass.branches->gradients;
  branch.fork(pass.stream);
  pass.stream = branch, pass.scratch = pass.branch_scratch;
  late_ = std::make_unique<WholePredecessors>();
}
Aside::~Aside() { pass_.stream = stream_, pass_.scratch = scratch_; }

void Pass::run(GemmPart part) {
  divide_tiles(part);
  const auto launch = [&] {
    switch (math) {
      case Math::fp32:
        return (on_chip(part) ? launch_on_chip_forward_fp32 : launch_forward_fp32)(part, stream);
      case Math::tf32:
        return (on_chip(part) ? launch_on_chip_forward_tf32 : launch_forward_tf32)(part, stream);
      case Math::bf16:
        return (on_chip(part) ? launch_on_chip_forward_bf16 : launch_forward_bf16)(part, stream);
      case Math::fp16:
        return (on_chip(part) ? launch_on_chip_forward_fp16 : launch_forward_fp16)(part, stream);
    }
    return cudaErrorInvalidValue;
  };
  check(launch(), "a matrix product");
}

void Pass::run_packed(GemmPart part, int columns) {
  divide_tiles(part);
  const bool tma = part.tile == TileKind::tma;
  const auto launch = [&] {
    switch (math) {
      case Math::fp32:
        return launch_packed_fp32(part, columns, stream);
      case Math::tf32:
        return (tma ? launch_tma_tf32 : launch_packed_tf32)(part, columns, stream);
      case Math::bf16:
        return (tma ? launch_tma_bf16 : launch_packed_bf16)(part, columns, stream);
      case Math::fp16:
        return (tma ? launch_tma_fp16 : launch_packed_fp16)(part, columns, stream);
    }
    return cudaErrorInvalidValue;
  };
  check(launch(), "a matrix product");
}

void Pass::run(MergedForward parts) {
  divide_tiles(parts.part);
  const auto launch = [&] {
    switch (math) {
      case Math::tf32:
        return launch_merged_forward_tf32(parts, stream);
      case Math::bf16:
        return launch_merged_forward_bf16(parts, stream);
      case Math::fp16:
        return launch_merged_forward_fp16(parts, stream);
      case Math::fp32:
        break;
    }
    return cudaErrorInvalidValue;
  };
  check(launch(), "a convolution");
}

void Pass::run(MergedBackward parts) {
  flush();
  divide_tiles(parts.data), divide_tiles(parts.weights);
  const auto launch = [&] {
    switch (math) {
      case Math::fp32:
        return launch_merged_backward_fp32(parts, stream);
      case Math::tf32:
        return launch_merged_backward_tf32(parts, stream);
      case Math::bf16:
        return launch_merged_backward_bf16(parts, stream);
      case Math::fp16:
        return launch_merged_backward_fp16(parts, stream);
    }
    return cudaErrorInvalidValue;
  };
  check(launch(), "a matrix product");
}

void Pass::add(GemmPart part) {
  divide_tiles(part);
  const bool data = part.kind == GemmKind::data;
  const int queued = (pending.weight_blocks[0] > 0) + (pending.weight_blocks[1] > 0);
  const bool any = pending.data_blocks > 0 || queued > 0;
  if (runs_alone(part)) {
    flush();
    pending_on_chip = false;
    set(part);
    return flush();
  }
  // The on-chip kernels do not support a second weight gradient.
  const int most_weights = on_chip(part) ? 1 : 2;
  if ((any && pending_on_chip != on_chip(part)) || (data && pending.data_blocks > 0) ||
      (!data && queued == most_weights))
    flush();
  pending_on_chip = on_chip(part);
  set(part);
}

void Pass::set(const GemmPart& part) {
  if (part.kind == GemmKind::data) {
    pending.data = part, pending.data_blocks = blocks_of(part);
  } else {
    const int place = pending.weight_blocks[0] > 0;
    pending.weights[place] = part, pending.weight_blocks[place] = blocks_of(part);
  }
}

void Pass::flush() {
  if (pending.data_blocks == 0 && pending.weight_blocks[0] == 0) return;
  const bool kept = pending_on_chip;
  std::optional<Aside> aside;
  if (pending.data_blocks == 0) aside.emplace(*this);
  const auto launch = [&] {
    switch (math) {
      case Math::fp32:
        return (kept ? launch_on_chip_backward_fp32 : launch_backward_fp32)(pending, stream);
      case Math::tf32:
        return (kept ? launch_on_chip_backward_tf32 : launch_backward_tf32)(pending, stream);
      case Math::bf16:
        return (kept ? launch_on_chip_backward_bf16 : launch_backward_bf16)(pending, stream);
      case Math::fp16:
        return (kept ? launch_on_chip_backward_fp16 : launch_backward_fp16)(pending, stream);
    }
    return cudaErrorInvalidValue;
  };
  check(launch(), "a matrix product");
  pending.data_blocks = pending.weight_blocks[0] = pending.weight_blocks[1] = 0;
}

}  // namespace sweetspot::engine::cuda
