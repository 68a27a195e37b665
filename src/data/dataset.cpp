#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::data {
namespace {

using core::InputError;

// As users write it: a vector and a sequence have no leading ones.
std::string shape_text(std::int64_t height, std::int64_t width, std::int64_t channels) {
  if (height > 1) return fmt::format("{}×{}×{}", height, width, channels);
  return width > 1 ? fmt::format("{}×{}", width, channels) : std::to_string(channels);
}

void require_labels_below(const Samples& samples, std::int64_t outputs, const std::string& name,
                          std::string_view split) {
  const auto bad = std::find_if(samples.labels.begin(), samples.labels.end(),
                                [&](std::int32_t label) { return label < 0 || label >= outputs; });
  if (bad == samples.labels.end()) return;
  throw InputError(fmt::format(
      "the {} data of {} have label {} (sample {}), but the model has {} outputs; use a "
      "model whose last layer is at least {} wide",
      split, name, *bad, bad - samples.labels.begin(), outputs,
      *std::max_element(samples.labels.begin(), samples.labels.end()) + 1));
}

}  // namespace

void require_fits(const Dataset& dataset, std::int64_t height, std::int64_t width,
                  std::int64_t channels, std::int64_t outputs) {
  const std::string name = core::printable(dataset.name);
  const Samples& train = dataset.train;
  if (train.height != height || train.width != width || train.channels != channels)
    throw InputError(fmt::format(
        "the samples of {} are {} but the model takes {}; use a model or a data set of that shape",
        name, shape_text(train.height, train.width, train.channels),
        shape_text(height, width, channels)));
  if (train.target_size > 0 && train.target_size != outputs)
    throw InputError(
        fmt::format("the targets of {} have {} values but the model has {} outputs; use a model of "
                    "as many outputs",
                    name, train.target_size, outputs));
  require_labels_below(dataset.train, outputs, name, "training");
  require_labels_below(dataset.test, outputs, name, "test");
}

}  // namespace sweetspot::data
