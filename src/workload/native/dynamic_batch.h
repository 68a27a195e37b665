#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sweetspot::workload::native {

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
