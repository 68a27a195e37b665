#include "data/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/text.h"
#include "data/files.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using core::InputError;

constexpr std::size_t cifar_side = 32, cifar_pixels = cifar_side * cifar_side, cifar_channels = 3;
constexpr std::size_t cifar_record = 1 + cifar_channels * cifar_pixels;
constexpr int cifar_classes = 10;

bool is_train_batch(const std::string& name) {
  return name.starts_with("data_batch_") && name.ends_with(".bin");
}
bool is_test_batch(const std::string& name) { return name == "test_batch.bin"; }

// Converts planar to interleaved pixels.
void add_record(std::span<const std::uint8_t> record, Samples& samples) {
  samples.labels.push_back(record[0]);
  for (std::size_t pixel = 0; pixel < cifar_pixels; ++pixel)
    for (std::size_t channel = 0; channel < cifar_channels; ++channel)
      samples.bytes.push_back(record[1 + channel * cifar_pixels + pixel]);
}

void add_batch(const fs::path& path, Samples& samples) {
  InputFile file(path);
  const std::string shown = core::printable(path.string());
  if (file.size() == 0 || file.size() % cifar_record != 0)
    throw InputError(
        fmt::format("{} has {} bytes, which is no whole number of CIFAR-10's records of "
                    "{}; get the file again",
                    shown, file.size(), cifar_record));
  samples.bytes.reserve(samples.bytes.size() + file.size());
  std::vector<std::uint8_t> record(cifar_record);
  while (file.read(record) == cifar_record) {
    if (record[0] >= cifar_classes)
      throw InputError(
          fmt::format("{} has label {} (sample {}) where CIFAR-10 has 0 to {}; get the "
                      "file again",
                      shown, record[0], samples.labels.size(), cifar_classes - 1));
    add_record(record, samples);
  }
}

Samples read_half(const fs::path& folder, const std::vector<std::string>& names,
                  bool (*is_of_half)(const std::string&), std::string_view what) {
  Samples samples;
  samples.height = samples.width = cifar_side;
  samples.channels = cifar_channels;
  for (const std::string& name : names)
    if (is_of_half(name)) add_batch(folder / name, samples);
  samples.count = samples.labels.size();
  if (samples.count == 0)
    throw InputError(
        fmt::format("{} has no {}; CIFAR-10 has data_batch_1.bin to data_batch_5.bin "
                    "and test_batch.bin",
                    core::printable(folder.string()), what));
  return samples;
}

}  // namespace

bool has_cifar_batches(const std::vector<std::string>& names) {
  return std::ranges::any_of(
      names, [](const std::string& name) { return is_train_batch(name) || is_test_batch(name); });
}

Dataset read_cifar(const fs::path& folder, const std::vector<std::string>& names) {
  Dataset dataset;
  dataset.name = folder.string();
  dataset.classes = cifar_classes;
  dataset.train = read_half(folder, names, is_train_batch, "data_batch_*.bin");
  dataset.test = read_half(folder, names, is_test_batch, "test_batch.bin");
  return dataset;
}

}  // namespace sweetspot::data
