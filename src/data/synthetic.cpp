// A data set out of nothing but a seed. Sample i is the same however many are asked for.
#include "data/synthetic.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"

namespace sweetspot::data {
namespace {

// Refuses what is empty or would not fit in any memory, before anything is allocated.
void check(const SyntheticOptions& options) {
  const bool positive = options.height > 0 && options.width > 0 && options.channels > 0 &&
                        options.classes >= 0 && (options.classes > 0 || options.target_size > 0);
  if (!positive || options.train_count == 0 || options.test_count == 0)
    throw core::InputError(fmt::format(
        "a synthetic data set of {} + {} samples of {}×{}×{} with {} cannot be made; all sizes "
        "must be positive",
        options.train_count, options.test_count, options.height, options.width, options.channels,
        options.classes != 0 ? fmt::format("{} classes", options.classes)
                             : fmt::format("{} targets", options.target_size)));
  constexpr double limit = 16.0 * core::GiB;
  const double size = static_cast<double>(options.height) * static_cast<double>(options.width) *
                      static_cast<double>(options.channels);
  const double count =
      static_cast<double>(options.train_count) + static_cast<double>(options.test_count);
  const double outputs = static_cast<double>(options.target_size);
  const double bytes = options.classes > 0
                           ? (count + options.classes) * size + count * sizeof(std::int32_t)
                           : (count * (size + outputs) + size * outputs) * sizeof(float);
  if (bytes > limit)
    throw core::InputError(
        fmt::format("a synthetic data set of {} + {} samples of {}×{}×{} is larger than {}; ask "
                    "for fewer samples",
                    options.train_count, options.test_count, options.height, options.width,
                    options.channels, core::format_bytes(static_cast<core::Bytes>(limit))));
}

Samples make_split(const SyntheticOptions& options, const Split& split) {
  Samples samples;
  samples.count = split.count;
  samples.height = options.height;
  samples.width = options.width;
  samples.channels = options.channels;
  (options.classes > 0 ? make_images : make_regression)(options, split, samples);
  return samples;
}

}  // namespace

Dataset make_synthetic(const SyntheticOptions& options) {
  check(options);
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.classes = options.classes;
  dataset.train =
      make_split(options, {options.train_count, Stream::train_answers, Stream::train_inputs});
  dataset.test =
      make_split(options, {options.test_count, Stream::test_answers, Stream::test_inputs});
  return dataset;
}

}  // namespace sweetspot::data
