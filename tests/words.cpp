// Compiled once for all test programs: std::regex takes longer than most of their tests.
#include "words.h"

#include <cstdlib>
#include <fstream>
#include <regex>

namespace sweetspot::tests {
namespace {

// A test's own folder, a port and a process have different names each time.
std::string without_places(std::string text) {
  const std::string temporary = std::filesystem::temp_directory_path().string() + "/";
  for (std::size_t at = 0; (at = text.find(temporary, at)) != text.npos;) {
    const std::size_t end = text.find_first_of("/ '\",;:\n", at + temporary.size());
    text.replace(at, std::min(end, text.size()) - at, "FOLDER");
  }
  const std::string source = SWEETSPOT_SOURCE_DIR "/";
  for (std::size_t at = 0; (at = text.find(source, at)) != text.npos;)
    text.replace(at, source.size(), "SOURCE/");
  static const std::regex port("(localhost|127\\.0\\.0\\.1):[0-9]+"), pid("\\bpid [0-9]+");
  return std::regex_replace(std::regex_replace(text, port, "$1:PORT"), pid, "pid N");
}

}  // namespace

std::string without_numbers(const std::string& text) {
  static const std::regex number(
      "[0-9]+([.,][0-9]+)*(( ?±[0-9.,]+| ?\\+[0-9.,]+/−[0-9.,]+)%?)?"
      "( (ns|µs|us|ms|s|min|h|B|KiB|MiB|GiB)\\b)?");
  static const std::regex spaces(" {2,}"), dashes("-{3,}");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, number, "#"), spaces, " "),
                            dashes, "---");
}

Words& Words::of(const std::string& source) {
  static std::map<std::string, Words> files;
  // __FILE__ may be relative to the compiler's working directory.
  const std::size_t at = source.rfind("tests/");
  const auto file = std::filesystem::path(SWEETSPOT_SOURCE_DIR) / source.substr(at);
  return files.try_emplace(file.parent_path() / "words.txt", file.parent_path() / "words.txt")
      .first->second;
}

Words::Words(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream lines(file_);
  std::string* text = nullptr;
  bool first_line = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      const std::size_t space = line.rfind(' ');
      text = &kept_[{line.substr(2, space - 2), std::stoi(line.substr(space))}];
      first_line = true;
    } else if (text && line.starts_with("  ")) {
      *text += (first_line ? "" : "\n") + line.substr(2);
      first_line = false;
    }
  }
}

testing::AssertionResult Words::match(std::string_view said) {
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(info.test_suite_name()) + "." + info.name();
  const Key key{name, ++calls_[name]};
  while (said.ends_with('\n') || said.ends_with('\r')) said.remove_suffix(1);  // of a terminal
  const std::string text = without_places(std::string(said));
  if (std::getenv("SWEETSPOT_REWORD")) {
    if (key.second == 1) std::erase_if(kept_, [&](const auto& e) { return e.first.first == name; });
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

void Words::write() const {
  std::ofstream out(file_);
  for (const auto& [key, text] : kept_) {
    out << "# " << key.first << ' ' << key.second << "\n  ";
    for (const char c : text) c == '\n' ? out << "\n  " : out << c;
    out << '\n';
  }
}

}  // namespace sweetspot::tests
