#include "architecture/includes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sweetspot::architecture {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Include> includes_of_tree(const fs::path& source) {
  std::vector<Include> all;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".inl" && extension != ".cu")
      continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto found = includes_of(fs::relative(entry.path(), source).generic_string(), text.str());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

TEST(Architecture, DependenciesPointDownwardAndStayInTheirRooms) {
  const auto includes = includes_of_tree(fs::path(SWEETSPOT_SOURCE_DIR) / "src");
  ASSERT_GT(includes.size(), 100u) << "the tree was not read";
  EXPECT_THAT(violations(includes), IsEmpty());
}

// The checker itself, on made-up includes.
std::vector<std::string> check(const std::string& file, const std::string& text) {
  return violations(includes_of(file, text));
}

TEST(Includes, AreFoundInEveryForm) {
  const auto found = includes_of("core/a.cpp",
                                 "#include \"core/a.h\"\n"
                                 "  #  include <vector>  // why\n"
                                 "// #include \"cli/app.h\"\n"
                                 "const char* text = \"#include <omp.h>\";\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].target, "core/a.h");
  EXPECT_TRUE(found[0].quoted);
  EXPECT_EQ(found[1].target, "vector");
  EXPECT_FALSE(found[1].quoted);
}

TEST(Includes, DownwardIsAllowedThroughSeveralLevels) {
  EXPECT_THAT(check("workload/native/a.cpp", "#include \"engine/trainer.h\""), IsEmpty());
  EXPECT_THAT(check("workload/native/a.cpp", "#include \"core/text.h\""), IsEmpty());
  EXPECT_THAT(check("cli/train.cpp", "#include \"probe/proc/host.h\""), IsEmpty());
}

TEST(Includes, UpwardAndSidewaysAreNot) {
  EXPECT_THAT(check("core/a.h", "#include \"model/network.h\""),
              ElementsAre(HasSubstr("points upwards or sideways")));
  EXPECT_THAT(check("engine/cpu/a.cpp", "#include \"data/pipeline.h\""),
              ElementsAre(HasSubstr("points upwards or sideways")));
  EXPECT_THAT(check("model/a.cpp", "#include \"data/dataset.h\""),
              ElementsAre(HasSubstr("points upwards or sideways")));
}

TEST(Includes, UnknownPartsAreRefused) {
  EXPECT_THAT(check("misc/a.cpp", "#include <vector>"),
              ElementsAre(HasSubstr("in no part of the architecture")));
  EXPECT_THAT(check("core/a.cpp", "#include \"utils/b.h\""),
              ElementsAre(HasSubstr("names no part")));
}

TEST(Includes, HeavyDependenciesStayInTheirRooms) {
  EXPECT_THAT(check("engine/cpu/a.cpp", "#include <oneapi/dnnl/dnnl.hpp>"), IsEmpty());
  EXPECT_THAT(check("engine/a.cpp", "#include <oneapi/dnnl/dnnl.hpp>"),
              ElementsAre(HasSubstr("belongs in engine/cpu/ only")));
  EXPECT_THAT(check("data/a.cpp", "#include <omp.h>"),
              ElementsAre(HasSubstr("belongs in engine/cpu/ only")));
  EXPECT_THAT(check("engine/cpu/a.cpp", "#include <cudnn.h>"),
              ElementsAre(HasSubstr("belongs in engine/cuda/ only")));
  EXPECT_THAT(check("study/a.cpp", "#include <sqlite3.h>"),
              ElementsAre(HasSubstr("belongs in store/sqlite/ only")));
  EXPECT_THAT(check("core/a.cpp", "#include <zlib.h>"),
              ElementsAre(HasSubstr("belongs in data/ only")));
}

TEST(Includes, HeadersStayLight) {
  EXPECT_THAT(check("cli/a.cpp", "#include <nlohmann/json.hpp>\n#include <CLI/CLI.hpp>"),
              IsEmpty());
  EXPECT_THAT(check("cli/a.h", "#include <nlohmann/json_fwd.hpp>"), IsEmpty());
  EXPECT_THAT(
      check("cli/a.h", "#include <nlohmann/json.hpp>\n#include <CLI/CLI.hpp>"),
      ElementsAre(HasSubstr("too heavy for a header"), HasSubstr("too heavy for a header")));
}

}  // namespace
}  // namespace sweetspot::architecture
