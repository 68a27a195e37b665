#include "workload/native/weights_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::workload::native {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

engine::Variable variable(const std::string& name, std::vector<std::int64_t> shape, float first) {
  engine::Variable made;
  made.parameter.name = name;
  made.parameter.shape = std::move(shape);
  for (std::int64_t i = 0; i < made.parameter.size(); ++i)
    made.values.push_back(first + static_cast<float>(i));
  return made;
}

class WeightsFile : public testing::Test {
 protected:
  void write(const std::string& header, const std::string& data) const {
    const std::uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    write_raw(bytes + header + data);
  }
  void write_raw(const std::string& bytes) const { std::ofstream(file, std::ios::binary) << bytes; }
  std::string read_raw() const {
    std::ostringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    return bytes.str();
  }
  void expect_refused() const {
    try {
      load_weights(file, weights);
      FAIL() << "accepted";
    } catch (const core::InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
      EXPECT_WORDS(error.what());
    }
  }
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }

  tests::TemporaryFolder folder;
  fs::path file = folder / "weights.safetensors";
  std::vector<engine::Variable> weights{variable("dense/kernel", {2, 3}, 1),
                                        variable("dense/bias", {3}, 100)};
};

const std::string kernel_entry =
    R"("dense/kernel":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
const std::string bias_entry = R"("dense/bias":{"dtype":"F32","shape":[3],"data_offsets":[24,36]})";

TEST_F(WeightsFile, WhatIsSavedIsLoaded) {
  save_weights(file, "a model", weights);
  std::vector<engine::Variable> blank = weights;
  for (engine::Variable& one : blank) one.values.assign(one.values.size(), 0.0f);
  const auto loaded = load_weights(file, blank);
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded[0].values, weights[0].values);
  EXPECT_EQ(loaded[1].values, weights[1].values);
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(WeightsFile, IsSafetensorsWithKerasNames) {
  save_weights(file, "a model", weights);
  const std::string bytes = read_raw();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 36);
  const std::string header = bytes.substr(8, length);
  EXPECT_THAT(header,
              testing::AllOf(HasSubstr(kernel_entry), HasSubstr(bias_entry),
                             HasSubstr(R"("__metadata__":{"format":"keras","model":"a model"})")));
}

TEST_F(WeightsFile, SavingReplacesAnOlderFileAndKeepsALink) {
  save_weights(folder / "target", "old", weights);
  fs::create_symlink(folder / "target", file);
  weights[0].values[0] = 7;
  save_weights(file, "new", weights);
  EXPECT_TRUE(fs::is_symlink(file));
  EXPECT_EQ(load_weights(folder / "target", weights)[0].values[0], 7);
}

TEST_F(WeightsFile, AFullDeviceIsToldAndNothingIsReplaced) {
  EXPECT_THROW(save_weights("/dev/full", "a model", weights), core::MachineError);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WeightsFile, AFolderThatVanishedIsTold) {
  EXPECT_THROW(save_weights(folder / "gone/weights", "a model", weights), core::MachineError);
}

TEST_F(WeightsFile, ChecksThePlaceBeforehand) {
  EXPECT_NO_THROW(check_can_save(file));
  EXPECT_NO_THROW(check_can_save("weights.safetensors"));
  EXPECT_THROW(check_can_save(folder / "missing/weights"), core::InputError);
  EXPECT_THROW(check_can_save(folder.path()), core::InputError);
  EXPECT_THROW(check_can_save(""), core::InputError);
}

TEST_F(WeightsFile, RefusesWhatIsNoFile) {
  expect_refused();
  fs::create_directory(file);
  expect_refused();
}

TEST_F(WeightsFile, RefusesEveryTruncation) {
  save_weights(file, "a model", weights);
  const std::string whole = read_raw();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_raw(whole.substr(0, size));
    EXPECT_THROW(load_weights(file, weights), core::InputError) << size;
  }
}

TEST_F(WeightsFile, RefusesBytesBehindTheLastTensor) {
  save_weights(file, "a model", weights);
  write_raw(read_raw() + "x");
  expect_refused();
}

TEST_F(WeightsFile, RefusesAnAbsurdHeaderLength) {
  write_raw(std::string(8, '\xff') + "{}");
  expect_refused();
}

TEST_F(WeightsFile, RefusesBadHeaders) {
  const std::string data(36, '\0');
  const std::string cases[] = {
      "{",
      "[]",
      std::string(10'000, '['),
      "{" + kernel_entry + "," + kernel_entry + "}",
      "{" + kernel_entry + "}",
      R"({"dense/kernel":7})",
      R"({"dense/kernel":{"dtype":"F16","shape":[2],"data_offsets":[0,36]}})",
      R"({"dense/kernel":{"dtype":"F32","shape":[-2],"data_offsets":[0,36]}})",
      R"({"dense/kernel":{"dtype":"F32","shape":[2],"data_offsets":[0,36,37]}})",
      R"({"dense/kernel":{"dtype":"F32","shape":[2],"data_offsets":[4,36]}})",
      R"({"dense/kernel":{"dtype":"F32","shape":[2],"data_offsets":[36,0]}})",
      "{" + kernel_entry + R"(,"dense/bias":{"dtype":"F32","shape":[3],"data_offsets":[20,36]}})",
      R"({"dense/kernel":{"dtype":"F32","shape":[3,3],"data_offsets":[0,36]}})",
      R"({"dense/kernel":{"dtype":"F32","shape":[2,3],"data_offsets":[0,36]}})",
      R"({"other":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}})",
  };
  for (const std::string& header : cases) {
    SCOPED_TRACE(header.substr(0, 100));
    write(header, data);
    expect_refused();
  }
}

TEST_F(WeightsFile, RefusesATensorTheModelHasNot) {
  write("{" + kernel_entry + "," + bias_entry +
            R"(,"more\u001b":{"dtype":"F32","shape":[1],"data_offsets":[36,40]}})",
        std::string(40, '\0'));
  expect_refused();
}

}  // namespace
}  // namespace sweetspot::workload::native
