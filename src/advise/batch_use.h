#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::advise {

// What a program showed at one batch. What changes with the batch shows whether it used it.
struct BatchSigns {
  std::int64_t batch = 1;
  std::optional<double> step_seconds{};
  std::optional<core::Bytes> memory{};
  std::optional<std::int64_t> steps_total{};  // final count of its steps: fewer at a larger batch
  std::optional<std::int64_t> samples_per_step{};  // as it reports
  std::optional<std::int64_t> sample_stride{};     // the increment of its sample count
  bool too_large = false;                          // it ran out of memory, or of time
  // If other processes disturbed it: what a step may have taken alone.
  std::optional<double> least_step_seconds{};
  bool operator==(const BatchSigns&) const = default;
};
// From trials that differ only in the batch, ascending; runs of one batch are combined.
std::vector<BatchSigns> batch_signs(std::span<const trial::Trial> trials);

enum class BatchUse {
  too_few,  // batches, or too close to each other, to decide
  used,
  clamped,     // it is used up to some batch, and larger ones run as that one
  scaled,      // a step uses a multiple of the requested samples: perhaps a batch per GPU
  miscounted,  // what is taken for a step gets shorter: it counts samples or epochs
  silent,      // nothing changes, and nothing is counted that should
  ignored      // nothing changes, although something counted should
};
std::string_view name(BatchUse);

struct BatchUseVerdict {
  BatchUse use = BatchUse::too_few;
  // For `silent`: batches far enough apart that even steps of pure overhead would have changed. For
  // `clamped`: far enough that it is not a plateau, after which steps grow again.
  bool exhausted = false;
  std::optional<std::int64_t> clamp{};  // for `clamped`: about the largest batch that is used
  std::optional<std::int64_t> limit{};  // likewise: the largest to try and to recommend
  std::optional<double> scale{};        // of `scaled`
  std::optional<std::int64_t> used{};   // for `ignored`: the samples of its steps, if reported
};
// Ascending batches in.
BatchUseVerdict batch_use(std::span<const BatchSigns> batches);

// Whether no batch can be recommended.
bool is_doubtful(const BatchUseVerdict& verdict);
// Whether more batches would not change that.
bool is_settled_doubt(const BatchUseVerdict& verdict);

// Why a study has no answer: nothing shows that the program uses its batch.
struct Doubt {
  BatchUse use = BatchUse::silent;
  std::vector<BatchSigns> batches;  // what it showed, ascending
  std::string destination;          // "as argument 3, behind --batch-size"
  std::optional<double> scale;
  std::optional<std::int64_t> used;
  bool operator==(const Doubt&) const = default;
};

// The problem, the evidence, and what to do, for users.
std::string words(const Doubt& doubt);

}  // namespace sweetspot::advise
