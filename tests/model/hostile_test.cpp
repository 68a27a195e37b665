// Text that is not a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "model/keras.h"
#include "model/keras/json.h"
#include "support.h"
#include "words.h"

namespace sweetspot::model {
namespace {

TEST(Hostile, EveryTruncationIsAnInputError) {
  const std::string whole = fixture("keras/keras3-paper-cnn.json");
  ASSERT_EQ(whole.back(), '}');
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(read_keras(std::string_view(whole).substr(0, length), "cut.json"),
                 core::InputError)
        << length;
}

TEST(Hostile, EveryDamagedByteIsReadOrRefused) {
  const std::string whole = fixture("tfjs/every-layer.json");
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char byte : {'\0', '"', '{', '0', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = byte;
      try {
        read_keras(damaged, "damaged.json");
      } catch (const core::InputError&) {
      }  // anything else fails the test
    }
}

TEST(Hostile, DeepNestingIsRefusedWithoutRecursion) {
  const std::string deep_array(100'000, '[');
  std::string deep_object;
  for (int i = 0; i < 100'000; ++i) deep_object += R"({"config":)";
  for (const std::string& text : {deep_array, deep_array + std::string(100'000, ']'), deep_object,
                                  R"({"modelTopology": ")" + deep_array + "\"}"})
    EXPECT_WORDS(refusal(text));
}

TEST(Hostile, JsonErrorsNameTheLine) {
  EXPECT_WORDS(refusal("{\n\"class_name\": oops}"));
  EXPECT_WORDS(refusal(""));
  EXPECT_WORDS(refusal("{} {}"));
  EXPECT_WORDS(refusal("{\"class_name\": \"\xff\"}"));
  EXPECT_WORDS(refusal("[1e999]"));
}

TEST(Hostile, TextLargerThanAnyModelIsRefused) {
  const std::string spaces(keras::max_json_bytes + 1, ' ');
  EXPECT_WORDS(refusal(spaces));
}

class Files : public testing::Test {
 protected:
  Files()
      : folder_(std::filesystem::temp_directory_path() /
                ("sweetspot-model-test-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  static std::string message(const std::string& path) {
    try {
      load_network(path);
    } catch (const core::InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << path << " was read";
    return "";
  }
  std::string write(std::string_view name, std::string_view text) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_;
};

TEST_F(Files, AreReadByPath) {
  const std::string path = write("net.json", zoo_json("mlp"));
  EXPECT_EQ(describe(load_network(path)), describe(load_network("mlp")));
}

TEST_F(Files, ThatAreBrokenAreNamed) {
  const std::string path = write("broken.json", "{");
  EXPECT_WORDS(message(path));
}

TEST_F(Files, ThatDoNotExistAreAnsweredWithTheZoo) {
  const std::string text = message((folder_ / "none.json").string());
  for (const std::string& name : zoo_names()) EXPECT_THAT(text, testing::HasSubstr(name));
  EXPECT_WORDS(text);
}

TEST_F(Files, ThatAreFoldersOrEndlessAreRefused) {
  EXPECT_WORDS(message(folder_.string()));
  EXPECT_WORDS(message("/dev/zero"));
  EXPECT_WORDS(message(""));
  EXPECT_WORDS(message("a\x1b[2Jb"));
  EXPECT_WORDS(message(std::string(10'000, 'a')));
}

}  // namespace
}  // namespace sweetspot::model
