#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "model/network.h"

namespace sweetspot::workload::native {

using Say = std::function<void(std::string_view)>;

// "mnist" for a classifier of 28×28×1 images with ten outputs, "synthetic" for any other model.
std::string default_data(const model::Network& network, model::Loss loss);

// Opens `data` ("" chooses as above) and adapts it to the model. A known data set that is missing
// is fetched first, with a message.
data::Dataset open_data(const std::string& data, const model::Network& network, model::Loss loss,
                        std::uint64_t seed, const Say& say);

// The same without the samples: names, counts and shapes, for planning. Fetches nothing.
data::Dataset describe_data(const std::string& data, const model::Network& network,
                            model::Loss loss);

// InputError if the data set cannot train the model with this loss; converts class labels to
// one-hot targets if the loss needs them, and numbers for the mean squared error of one output.
void fit_to_model(data::Dataset& dataset, const model::Network& network, model::Loss loss);

// Accuracy is meaningful only for classes.
bool has_accuracy(model::Loss loss);

}  // namespace sweetspot::workload::native
