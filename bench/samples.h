#pragma once
#include <algorithm>
#include <string>

#include "data/sources.h"
#include "model/network.h"

namespace sweetspot::bench {

// The training data of a network here: MNIST for paper-cnn, since the CPU engine's speed depends on
// how many gradients are zero and its figures are quoted; synthetic samples of the right shape for
// any other, enough for four batches of 1024.
inline data::Dataset samples_for(const model::Network& network, const std::string& mnist_folder) {
  if (network.name == "paper-cnn")
    return data::read_folder(mnist_folder.empty() ? data::cache_folder("mnist").string()
                                                  : mnist_folder);
  const bool classes = model::natural_loss(network) != model::Loss::mean_squared_error;
  const auto size = static_cast<std::size_t>(network.input.size());
  return data::make_synthetic(
      {.height = network.input.height,
       .width = network.input.width,
       .channels = network.input.channels,
       .classes = classes ? static_cast<int>(network.output().channels) : 0,
       .target_size = network.output().size(),
       .train_count = std::clamp<std::size_t>((std::size_t{64} << 20) / size, 4096, 65536),
       .test_count = 1000});
}

}  // namespace sweetspot::bench
