#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace sweetspot::data {

// Whether a folder with these files has CIFAR-10's binary batches.
bool has_cifar_batches(const std::vector<std::string>& names);

// CIFAR-10's binary format: data_batch_*.bin and test_batch.bin, records of a label and the red,
// the green and the blue plane of 32×32 pixels. InputError names a file in another format.
Dataset read_cifar(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace sweetspot::data
