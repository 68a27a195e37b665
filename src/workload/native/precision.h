#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workload/native/train.h"

namespace sweetspot::workload::native {

// The distance of a loss curve from fp32's, step for step on the same batches: in each tenth of the
// steps the two means may differ by 5% of fp32's mean there plus 1% of the total decrease of fp32's
// loss; the worst tenth relative to that, so that up to 1 they agree.
double curve_distance(std::span<const double> fp32, std::span<const double> other);

struct PrecisionTried {
  engine::Precision precision = engine::Precision::fp32;
  double samples_per_second = 0;
  double distance = 0;  // from fp32's curve
  bool agrees() const { return distance <= 1; }
};

struct PrecisionChoice {
  engine::Precision precision = engine::Precision::fp32;
  std::string reason;  // what was compared, and the result
};

// The fastest that agrees; among those within 5% of it the most exact, so that noise does not
// decide. `tried` begins with fp32.
engine::Precision pick(std::span<const PrecisionTried> tried);

// A sentence if the CPU engine would compute no layer in bf16 at this batch, so that such a training
// is one in fp32.
std::optional<std::string> why_bf16_changes_nothing(const Run& run, std::int64_t batch);

// Trains a few hundred steps in each precision of the device, from the same weights in the same
// order. A CPU without bf16 stays in fp32, and the reason says so.
PrecisionChoice choose_precision(const Run& run, std::int64_t batch);

}  // namespace sweetspot::workload::native
