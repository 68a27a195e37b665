// Data sets that are missing, broken or do not fit, and caches that cannot be used.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;

class Data : public testing::Test {
 protected:
  Data() { write_idx_folder(data, 30, 28, 28); }
  Finished train(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"train",       "--data", data.string(), "--batch", "10",
                                       "--max-steps", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  fs::path images() const { return data / "train-images-idx3-ubyte"; }
  fs::path labels() const { return data / "train-labels-idx1-ubyte"; }

  TemporaryFolder folder;
  fs::path data = folder / "data";
};

TEST_F(Data, ALocalFolderTrains) { EXPECT_EQ(train().exit_code, 0); }

TEST_F(Data, MissingFolderOrFiles) {
  expect_sentence(run({"train", "--data", (folder / "none").string()}), 2);
  fs::remove(labels());
  expect_sentence(train(), 2);
}

TEST_F(Data, TruncatedCorruptAndOversized) {
  const std::string whole = read_file(images());
  write_file(images(), whole.substr(0, whole.size() - 1));
  expect_sentence(train(), 2);
  write_file(images(), whole + "x");
  expect_sentence(train(), 2);
  write_file(images(), "junk");
  expect_sentence(train(), 2);
  write_file(images(), "");
  expect_sentence(train(), 2);
  write_file(images(), whole.substr(0, 4) + "\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff");
  expect_sentence(train(), 2);
}

TEST_F(Data, BrokenGzip) {
  fs::remove(images());
  write_file(images().string() + ".gz", "\x1f\x8b\x08 not really");
  expect_sentence(train(), 2);
}

TEST_F(Data, CountsThatDiffer) {
  TemporaryFolder other;
  write_idx_folder(other.path(), 31, 28, 28);
  fs::copy_file(other / "train-labels-idx1-ubyte", labels(), fs::copy_options::overwrite_existing);
  expect_sentence(train(), 2);
}

TEST_F(Data, ALabelTheModelHasNoOutputFor) {
  std::string bytes = read_file(labels());
  bytes.back() = static_cast<char>(200);
  write_file(labels(), bytes);
  expect_sentence(train(), 2);
}

TEST_F(Data, ImagesOfAnotherShape) { expect_sentence(train({"--model", "rgb64-cnn"}), 2); }

TEST_F(Data, ABatchLargerThanTheDataSet) {
  expect_sentence(run({"train", "--data", data.string(), "--batch", "31"}), 2);
}

TEST_F(Data, ShowAsJson) {
  const auto json = json_of(run({"data", "show", data.string(), "--json"}));
  EXPECT_EQ(json["classes"], 10);
  EXPECT_EQ(json["train"]["samples"], 30);
  EXPECT_EQ(json["train"]["sample_shape"], nlohmann::json({28, 28, 1}));
  EXPECT_EQ(json["train"]["samples_per_class"][9], 3);
}

TEST_F(Data, WithoutNpmTheWayOutIsTold) {
  Launch launch;
  // And without a network: a proxy where nobody listens.
  launch.environment = {{"PATH", "/nonexistent"},
                        {"XDG_CACHE_HOME", (folder / "cache").string()},
                        {"https_proxy", "http://127.0.0.1:9"}};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"train", "--max-steps", "1"}, {"data", "fetch", "mnist"}}) {
    launch.arguments = command;
    expect_sentence(run(launch), 1, "sweetspot data fetch mnist");
  }
  // Nothing half-made: no file of a data set anywhere below the cache.
  if (fs::exists(folder / "cache")) {
    for (const auto& entry : fs::recursive_directory_iterator(folder / "cache"))
      EXPECT_EQ(entry.path().filename().string().find("ubyte"), std::string::npos);
  }
}

TEST_F(Data, ACacheThatCannotBeWrittenIsTold) {
  write_file(folder / "file", "");
  Launch launch;
  launch.arguments = {"data", "fetch", "mnist"};
  launch.environment = {{"XDG_CACHE_HOME", (folder / "file").string()}};
  expect_sentence(run(launch), 1);
}

TEST_F(Data, WhatIsNotFetchedCannotBeVerifiedOrShown) {
  Launch launch;
  launch.environment = {{"XDG_CACHE_HOME", (folder / "cache").string()}};
  launch.arguments = {"data", "verify", "mnist"};
  expect_sentence(run(launch), 2);
  launch.arguments = {"data", "show", "mnist"};
  expect_sentence(run(launch), 2);
  launch.arguments = {"data", "fetch", "imagenet"};
  expect_sentence(run(launch), 2);
}

}  // namespace
}  // namespace sweetspot::tests
