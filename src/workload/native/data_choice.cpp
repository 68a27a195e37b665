#include "workload/native/data_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "core/units.h"
#include "data/sources.h"

namespace sweetspot::workload::native {
namespace {

constexpr std::string_view synthetic = "synthetic";

// Enough samples to train on, and at most this much memory for large images.
constexpr std::int64_t synthetic_samples = 10'000, least_synthetic_samples = 1'000;
constexpr core::Bytes synthetic_bytes = 128 * core::MiB;

std::int64_t synthetic_count(const std::string& data, const model::Network& network,
                             model::Loss loss) {
  if (data.size() > synthetic.size())  // "synthetic:5000"
    return core::parse_whole(std::string_view(data).substr(synthetic.size() + 1),
                             "the count of --data synthetic:", 1, 100'000'000);
  const core::Bytes value_bytes = has_accuracy(loss) ? sizeof(std::uint8_t) : sizeof(float);
  const core::Bytes sample_bytes = value_bytes * static_cast<core::Bytes>(network.input.size());
  return std::clamp(static_cast<std::int64_t>(synthetic_bytes / sample_bytes),
                    least_synthetic_samples, synthetic_samples);
}

bool is_synthetic(const std::string& data) {
  return data == synthetic || data.starts_with("synthetic:");
}

data::SyntheticOptions synthetic_options(const std::string& data, const model::Network& network,
                                         model::Loss loss, std::uint64_t seed) {
  data::SyntheticOptions options;
  options.height = network.input.height;
  options.width = network.input.width;
  options.channels = network.input.channels;
  options.classes = has_accuracy(loss) ? static_cast<int>(network.output().size()) : 0;
  options.target_size = network.output().size();
  options.train_count = static_cast<std::size_t>(synthetic_count(data, network, loss));
  options.test_count = std::max<std::size_t>(1, options.train_count / 5);
  options.seed = seed;
  return options;
}

data::Dataset open_fetched(const std::string& name, const Say& say) {
  if (!data::is_fetched(name)) {
    say(fmt::format("the data set {} is not here yet: fetching it", name));
    data::fetch(name, say);
  }
  data::Dataset dataset = data::read_folder(data::cache_folder(name));
  dataset.name = name;
  return dataset;
}

// A model of vectors takes any sample with as many values, and one of sequences an image of one
// channel whose rows are the steps: the memory is the same.
void flatten(data::Samples& samples, const model::Shape& input) {
  const bool as_vector = input.vector && samples.sample_size() == input.size();
  const bool as_steps = input.sequence && samples.channels == 1 && samples.height == input.width &&
                        samples.width == input.channels;
  if (!as_vector && !as_steps) return;
  samples.height = input.height, samples.width = input.width, samples.channels = input.channels;
}

void require_labels(const data::Dataset& dataset, model::Loss loss) {
  if (!has_accuracy(loss) || dataset.classes > 0) return;
  throw core::InputError(
      fmt::format("the data set {} has no class labels, which {} needs; use --loss {}",
                  core::printable(dataset.name), model::name(loss),
                  model::name(model::Loss::mean_squared_error)));
}

void one_hot(data::Samples& samples, std::int64_t outputs) {
  samples.target_size = outputs;
  samples.targets.assign(samples.count * static_cast<std::size_t>(outputs), 0.0f);
  for (std::size_t i = 0; i < samples.count; ++i)
    samples.targets[i * static_cast<std::size_t>(outputs) +
                    static_cast<std::size_t>(samples.labels[i])] = 1;
  samples.labels.clear();
}

// For a model with a single output: the label itself is what it learns.
void as_numbers(data::Samples& samples) {
  samples.target_size = 1;
  samples.targets.assign(samples.labels.begin(), samples.labels.end());
  samples.labels.clear();
}

}  // namespace

bool has_accuracy(model::Loss loss) { return loss != model::Loss::mean_squared_error; }

std::string default_data(const model::Network& network, model::Loss loss) {
  const bool digits = network.input == model::Shape{28, 28, 1} && network.output().size() == 10;
  return digits && has_accuracy(loss) ? "mnist" : std::string(synthetic);
}

data::Dataset open_data(const std::string& asked, const model::Network& network, model::Loss loss,
                        std::uint64_t seed, const Say& say) {
  const std::string data = asked.empty() ? default_data(network, loss) : asked;
  if (asked.empty() && data == synthetic)
    say(fmt::format("training on synthetic data, as no data set is known for an input of {}",
                    model::to_string(network.input)));
  data::Dataset dataset = is_synthetic(data)
                              ? data::make_synthetic(synthetic_options(data, network, loss, seed))
                          : data::is_known(data) ? open_fetched(data, say)
                                                 : data::read_folder(data);
  fit_to_model(dataset, network, loss);
  return dataset;
}

void fit_to_model(data::Dataset& dataset, const model::Network& network, model::Loss loss) {
  const model::Shape& input = network.input;
  flatten(dataset.train, input);
  flatten(dataset.test, input);
  require_labels(dataset, loss);
  if (loss == model::Loss::mean_squared_error && network.output().size() == 1)
    for (data::Samples* samples : {&dataset.train, &dataset.test})
      if (!samples->labels.empty()) as_numbers(*samples);
  data::require_fits(dataset, input.height, input.width, input.channels, network.output().size());
  if (loss == model::Loss::sparse_categorical_crossentropy) return;
  for (data::Samples* samples : {&dataset.train, &dataset.test})
    if (!samples->labels.empty()) one_hot(*samples, network.output().size());
}

data::Dataset describe_data(const std::string& asked, const model::Network& network,
                            model::Loss loss) {
  const std::string data = asked.empty() ? default_data(network, loss) : asked;
  data::Dataset dataset;
  if (data::is_known(data)) {
    dataset = data::describe(data);
  } else if (is_synthetic(data)) {
    const data::SyntheticOptions options = synthetic_options(data, network, loss, 0);
    dataset.name = synthetic;
    dataset.classes = options.classes;
    dataset.train.count = options.train_count, dataset.test.count = options.test_count;
    for (data::Samples* samples : {&dataset.train, &dataset.test}) {
      samples->height = options.height, samples->width = options.width;
      samples->channels = options.channels;
    }
  } else {
    dataset = data::read_folder(data);
    for (data::Samples* samples : {&dataset.train, &dataset.test}) samples->bytes = {};
  }
  fit_to_model(dataset, network, loss);
  if (loss != model::Loss::sparse_categorical_crossentropy)
    dataset.train.target_size = dataset.test.target_size = network.output().size();
  return dataset;
}

}  // namespace sweetspot::workload::native
