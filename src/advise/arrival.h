#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::advise {

// What a program showed at one batch. Whether it used that batch is seen from what moves with it.
struct BatchSigns {
  std::int64_t batch = 1;
  std::optional<double> step_seconds{};
  std::optional<core::Bytes> memory{};
  std::optional<std::int64_t> steps_total{};  // that its counter ends at: fewer at a larger batch
  std::optional<std::int64_t> samples_per_step{};  // as it tells
  std::optional<std::int64_t> sample_stride{};     // by which its count of samples rises
  bool too_large = false;                          // it ran out of memory, or of time
  bool operator==(const BatchSigns&) const = default;
};
// Of trials that differ in nothing but the batch, ascending; runs of one batch together.
std::vector<BatchSigns> batch_signs(std::span<const trial::Trial> trials);

enum class Arrival {
  too_few,  // batches, or too close to each other, to tell
  arrives,
  clamped,  // up to some batch it arrives, and what is larger is run as that one
  scaled,   // a step uses some times the samples that were asked for: a batch for each GPU, perhaps
  miscounted,  // what is taken for a step gets shorter: it counts samples or epochs
  silent,      // nothing moves, and nothing is counted that would have to
  ignored      // nothing moves, and what is counted would have to
};
std::string_view name(Arrival);

struct ArrivalVerdict {
  Arrival arrival = Arrival::too_few;
  // Of `silent`: batches far enough apart that even a program whose steps are all overhead would
  // have moved. Of `clamped`: far enough for it to be no plateau, after which steps grow again.
  bool exhausted = false;
  std::optional<std::int64_t> clamp{};  // of `clamped`: about the largest batch that is used
  std::optional<std::int64_t> limit{};  // likewise: the largest to try and to recommend
  std::optional<double> scale{};        // of `scaled`
  std::optional<std::int64_t>
      used{};  // of `ignored`: the samples of its steps, where they are told
};
// Ascending batches in.
ArrivalVerdict arrival(std::span<const BatchSigns> batches);

// Whether no batch can be recommended.
bool is_doubtful(const ArrivalVerdict& verdict);
// Whether more batches would change nothing of that.
bool is_settled_doubt(const ArrivalVerdict& verdict);

}  // namespace sweetspot::advise
