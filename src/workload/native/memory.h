#pragma once
#include <cstdint>
#include <optional>

#include "core/buffer.h"
#include "data/dataset.h"
#include "workload/native/options.h"

namespace sweetspot::workload::native {

// What a run will hold in its device's memory, by category, to the byte. Uses only the counts and
// shapes of `dataset`.
core::MemoryByUse predict(const model::Network& network, const Options& options,
                          const data::Dataset& dataset);

// The largest batch (a multiple of the accumulation) whose run stays within `limit`; nullopt if not
// even the smallest does.
std::optional<std::int64_t> largest_batch(const model::Network& network, const Options& options,
                                          const data::Dataset& dataset, core::Bytes limit);

// The memory of the samples themselves, besides the run.
core::Bytes sample_bytes(const data::Dataset& dataset);

}  // namespace sweetspot::workload::native
