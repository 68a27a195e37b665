#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::workload::native {

constexpr double epoch_rounding = 1e-9;  // of samples over their number

// The batch from so many epochs on: from the first update that has as much behind it.
struct BatchStage {
  std::int64_t batch = 1;
  double from_epoch = 0;
  bool operator==(const BatchStage&) const = default;
};

// "64@0,256@1,1024@2.5": batch 64 at the start, 256 after one epoch, 1024 after two and a half.
// InputError for batches below 1, and for epochs that do not rise from 0.
std::vector<BatchStage> parse_batch_schedule(std::string_view text);
std::string text(std::span<const BatchStage> stages);  // the inverse

// After so many epochs; `stages` is not empty.
std::int64_t batch_after(std::span<const BatchStage> stages, double epochs);

// A batch that grows with the noise scale, doubling from `least` to at most `most`.
struct DynamicBatch {
  std::int64_t least = 32, most = 1024;
  bool most_given = false;  // else what the data set and the memory allow

  std::vector<std::int64_t> ladder() const;
  bool operator==(const DynamicBatch&) const = default;
};

// "dynamic" or "dynamic:32..2048".
bool asks_for_dynamic_batch(std::string_view text);
DynamicBatch parse_dynamic_batch(std::string_view text);

}  // namespace sweetspot::workload::native
