#include "data/layout.h"

#include <algorithm>

#include "core/buffer.h"

namespace sweetspot::data {
namespace {

// Sizes from the command line may be absurd: what is beyond any memory stays so, and does not wrap
// round to something small. Capped far enough below 2^64 for the few sums of this file.
constexpr core::Bytes beyond_any_memory = core::Bytes{1} << 60;

core::Bytes times(core::Bytes a, core::Bytes b) {
  core::Bytes product = 0;
  return __builtin_mul_overflow(a, b, &product) ? beyond_any_memory
                                                : std::min(product, beyond_any_memory);
}

core::Bytes whole_lines(core::Bytes bytes) {
  constexpr core::Bytes line = core::Buffer::alignment;
  return (bytes + line - 1) / line * line;
}

}  // namespace

Layout lay_out(const Samples& samples, const PipelineOptions& options) {
  const auto batch = static_cast<core::Bytes>(options.most_samples());
  const auto sample_bytes = times(static_cast<core::Bytes>(samples.sample_size()), sizeof(float));
  const core::Bytes answer_bytes =
      samples.target_size > 0 ? static_cast<core::Bytes>(samples.target_size) * sizeof(float)
                              : sizeof(std::int32_t);
  Layout layout;
  // One batch is in the trainer's hands while the others are ready or being filled.
  layout.slots = options.workers == 0 ? 1 : 1 + static_cast<std::size_t>(options.prefetch);
  layout.inputs_bytes = whole_lines(times(batch, sample_bytes));
  layout.answers_bytes = whole_lines(times(batch, answer_bytes));
  if (options.shuffle) layout.order_bytes = samples.count * sizeof(std::uint32_t);
  if (options.cache) {
    layout.cached_values_bytes = times(samples.count, sample_bytes);
    layout.cached_flags_bytes = samples.count;
  }
  return layout;
}

core::Bytes pipeline_bytes(const Samples& samples, const PipelineOptions& options) {
  const Layout layout = lay_out(samples, options);
  return times(layout.slots, layout.slot_bytes()) + layout.order_bytes + layout.cache_bytes();
}

}  // namespace sweetspot::data
