#include "cli/support.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "words.h"

namespace sweetspot::tests {
namespace {

std::string big_endian(int value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

}  // namespace

std::string last_sentence(const Finished& finished) {
  const std::size_t at = finished.err.rfind("sweetspot: ");
  if (at == std::string::npos) return "";
  std::string sentence = finished.err.substr(at);
  while (sentence.ends_with('\n') || sentence.ends_with('\r')) sentence.pop_back();
  return sentence;
}

void expect_sentence(const Finished& finished, int exit_code, const std::string& named) {
  EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
  EXPECT_EQ(finished.out, "");
  const std::string sentence = last_sentence(finished);
  EXPECT_NE(sentence, "") << finished.err;
  EXPECT_EQ(sentence.find('\n'), sentence.npos) << finished.err;
  EXPECT_TRUE(finished.err.ends_with('\n')) << finished.err;
  EXPECT_THAT(sentence, testing::HasSubstr(named));
}

void expect_sentence(const Finished& finished, int exit_code, std::source_location caller) {
  expect_sentence(finished, exit_code, std::string());
  EXPECT_WORDS_OF(caller.file_name(), last_sentence(finished));
}

nlohmann::ordered_json json_of(const Finished& finished) {
  const auto json = nlohmann::ordered_json::parse(finished.out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << finished.out << finished.err;
  if (!json.is_object()) return nlohmann::ordered_json::object();
  EXPECT_EQ(json.begin().key(), "schema_version");
  return json;
}

void write_file(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string read_file(const std::filesystem::path& file) {
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  return bytes.str();
}

void write_idx_folder(const std::filesystem::path& folder, int count, int height, int width) {
  std::filesystem::create_directories(folder);
  std::string images =
      big_endian(0x803) + big_endian(count) + big_endian(height) + big_endian(width);
  std::string labels = big_endian(0x801) + big_endian(count);
  for (int i = 0; i < count; ++i) {
    labels += static_cast<char>(i % 10);
    images +=
        std::string(static_cast<std::size_t>(height * width), static_cast<char>(25 * (i % 10)));
  }
  for (const std::string split : {"train", "t10k"}) {
    write_file(folder / (split + "-images-idx3-ubyte"), images);
    write_file(folder / (split + "-labels-idx1-ubyte"), labels);
  }
}

}  // namespace sweetspot::tests
