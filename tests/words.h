#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

// The sentences that users read, such as error messages. Tests assert behaviour; the words are in
// words.txt of the test's folder, one entry per EXPECT_WORDS in the order of the calls, so that a
// rewording is one diff to review. SWEETSPOT_REWORD=1 in the environment of a test program
// regenerates the entries of the tests that it runs.
#define EXPECT_WORDS(text)                                        \
  EXPECT_TRUE(::sweetspot::test::Words::of(__FILE__).match(text)) \
      << "SWEETSPOT_REWORD=1 writes tests/*/words.txt anew"

namespace sweetspot::test {

class Words {
 public:
  static Words& of(const std::string& source) {
    static std::map<std::string, Words> files;
    // __FILE__ may be relative to the compiler's working directory.
    const std::size_t at = source.rfind("tests/");
    const auto file = std::filesystem::path(SWEETSPOT_SOURCE_DIR) / source.substr(at);
    return files.try_emplace(file.parent_path() / "words.txt", file.parent_path() / "words.txt")
        .first->second;
  }

  explicit Words(std::filesystem::path file) : file_(std::move(file)) {
    std::ifstream lines(file_);
    Key key;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) {
        const std::size_t space = line.rfind(' ');
        key = {line.substr(2, space - 2), std::stoi(line.substr(space))};
        kept_[key];
      } else if (line.starts_with("  ")) {
        std::string& text = kept_[key];
        text += (text.empty() ? "" : "\n") + line.substr(2);
      }
    }
  }

  testing::AssertionResult match(const std::string& said) {
    const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(info.test_suite_name()) + "." + info.name();
    const Key key{name, ++calls_[name]};
    const std::string text = without_folder(said);
    if (std::getenv("SWEETSPOT_REWORD")) {
      if (key.second == 1)
        std::erase_if(kept_, [&](const auto& e) { return e.first.first == name; });
      kept_[key] = text;
      write();
      return testing::AssertionSuccess();
    }
    const auto found = kept_.find(key);
    if (found == kept_.end())
      return testing::AssertionFailure() << "no words are kept for \"" << text << '"';
    if (found->second == text) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "said: " << text << "\nkept: " << found->second;
  }

 private:
  using Key = std::pair<std::string, int>;  // the test, and which of its calls

  // A test's own folder has a different name each time.
  static std::string without_folder(std::string text) {
    const std::string temporary = std::filesystem::temp_directory_path().string() + "/";
    for (std::size_t at = 0; (at = text.find(temporary, at)) != text.npos;) {
      const std::size_t end = text.find_first_of("/ '\",;:\n", at + temporary.size());
      text.replace(at, std::min(end, text.size()) - at, "FOLDER");
    }
    return text;
  }

  void write() const {
    std::ofstream out(file_);
    for (const auto& [key, text] : kept_) {
      out << "# " << key.first << ' ' << key.second << "\n  ";
      for (const char c : text) c == '\n' ? out << "\n  " : out << c;
      out << '\n';
    }
  }

  std::filesystem::path file_;
  std::map<Key, std::string> kept_;
  std::map<std::string, int> calls_;
};

}  // namespace sweetspot::test
