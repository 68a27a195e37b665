#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

// The sentences that users read, such as error messages. Tests assert behaviour; the words are in
// words.txt of the test's folder, one entry per EXPECT_WORDS in the order of the calls, so that a
// rewording is one diff to review. SWEETSPOT_REWORD=1 in the environment of a test program
// regenerates the entries of the tests that it runs. What differs between machines and runs is
// replaced: folders, ports and process ids by names; without_numbers() removes what was measured.
#define EXPECT_WORDS(text) EXPECT_WORDS_OF(__FILE__, text)
#define EXPECT_WORDS_OF(file, text)                            \
  EXPECT_TRUE(::sweetspot::tests::Words::of(file).match(text)) \
      << "SWEETSPOT_REWORD=1 writes tests/*/words.txt anew"

namespace sweetspot::tests {

// Of what was measured: each number, with its interval and unit, is #; and tables are as narrow as
// they can be.
std::string without_numbers(const std::string& text);

class Words {
 public:
  static Words& of(const std::string& source);
  explicit Words(std::filesystem::path file);
  testing::AssertionResult match(std::string_view said);

 private:
  using Key = std::pair<std::string, int>;  // the test, and which of its calls
  void write() const;

  std::filesystem::path file_;
  std::map<Key, std::string> kept_;
  std::map<std::string, int> calls_;
};

}  // namespace sweetspot::tests
