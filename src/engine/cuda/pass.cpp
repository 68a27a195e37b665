#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {

void Pass::add(GemmPart part) {
  const auto resident = [](const GemmPart& p) { return p.tile == TileKind::resident; };
  if (pending.count == most_parts ||
      (pending.count > 0 && resident(pending.part[0]) != resident(part)))
    flush();
  part.first_block = pending_blocks;
  pending_blocks += part.tiles_m * part.tiles_n * part.splits;
  pending.part[pending.count++] = part;
}

void Pass::flush() {
  if (pending.count == 0) return;
  const bool resident = pending.part[0].tile == TileKind::resident;
  const auto launch = [&] {
    switch (math) {
      case Math::fp32:
        return (resident ? launch_resident_fp32 : launch_gemm_fp32)(pending, pending_blocks,
                                                                    stream);
      case Math::tf32:
        return (resident ? launch_resident_tf32 : launch_gemm_tf32)(pending, pending_blocks,
                                                                    stream);
      case Math::bf16:
        return (resident ? launch_resident_bf16 : launch_gemm_bf16)(pending, pending_blocks,
                                                                    stream);
      case Math::fp16:
        return (resident ? launch_resident_fp16 : launch_gemm_fp16)(pending, pending_blocks,
                                                                    stream);
    }
    return cudaErrorInvalidValue;
  };
  check(launch(), "a matrix product");
  pending.count = 0, pending_blocks = 0;
}

}  // namespace sweetspot::engine::cuda
