#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

namespace sweetspot {
namespace {

// Including them must need only a compiler.
TEST(PublicHeaders, NeedTheStandardLibraryOnly) {
  const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  const std::regex standard("[a-z_]+"), ours(R"(sweetspot/[a-z]+\.h)");
  int seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(SWEETSPOT_SOURCE_DIR) / "include/sweetspot")) {
    std::ifstream lines(file.path());
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      if (!std::regex_match(line, match, include)) continue;
      const std::string target = match[1];
      EXPECT_TRUE(std::regex_match(target, standard) || std::regex_match(target, ours))
          << file.path() << " includes " << target;
      ++seen;
    }
  }
  EXPECT_GT(seen, 10) << "the headers were not read";
}

}  // namespace
}  // namespace sweetspot
