#include "architecture/includes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "architecture/tables.h"
#include "words.h"

namespace sweetspot::architecture {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const fs::path sources = fs::path(SWEETSPOT_SOURCE_DIR) / "src";

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

const std::vector<Include>& includes_of_tree() {
  static const std::vector<Include> all = [] {
    std::vector<Include> list;
    const std::set<fs::path> code{".h", ".cpp", ".inl", ".cu", ".cuh", ".in"};
    for (const auto& entry : fs::recursive_directory_iterator(sources)) {
      if (!code.contains(entry.path().extension())) continue;
      const auto found =
          includes_of(fs::relative(entry.path(), sources).generic_string(), text_of(entry.path()));
      list.insert(list.end(), found.begin(), found.end());
    }
    return list;
  }();
  return all;
}

TEST(Architecture, DependenciesPointDownwardAndStayInTheirFolders) {
  ASSERT_GT(includes_of_tree().size(), 100u) << "the tree was not read";
  for (const Violation& violation : violations(includes_of_tree()))
    ADD_FAILURE() << words(violation);
}

// A test that needs the CUDA toolkit's headers compiles to nothing without it, as on a machine that
// has none.
TEST(Architecture, TestsCompileWithoutTheCudaToolkit) {
  std::set<std::string> with_toolkit;  // headers of ours that reach one of its own
  for (bool grows = true; grows;) {
    grows = false;
    for (const Include& i : includes_of_tree())
      if (i.quoted ? with_toolkit.contains(i.target) : i.target.starts_with("cuda"))
        grows |= with_toolkit.insert(i.file).second;
  }
  ASSERT_TRUE(with_toolkit.contains("engine/cuda/ops/packed_tiles.h"));
  const fs::path tests = fs::path(SWEETSPOT_SOURCE_DIR) / "tests";
  int guarded = 0;
  for (const auto& entry : fs::recursive_directory_iterator(tests)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    const std::string text = text_of(entry.path());
    const bool guards = text.find("#ifdef SWEETSPOT_HAS_CUDA") < text.find("#include");
    guarded += guards;
    for (const Include& i : includes_of(entry.path().filename().string(), text))
      EXPECT_TRUE(guards || !with_toolkit.contains(i.target)) << entry.path() << ": " << i.target;
  }
  EXPECT_GT(guarded, 0);
}

// The tables must not name anything that does not exist.
TEST(Architecture, TablesNameWhatIsThere) {
  std::set<std::string> named, there;
  for (const Part& part : parts()) {
    named.insert(part.name);
    for (const std::string& used : part.uses)
      EXPECT_TRUE(std::ranges::count(parts(), used, &Part::name)) << used;
  }
  for (const auto& entry : fs::directory_iterator(sources)) there.insert(entry.path().filename());
  EXPECT_EQ(named, there);
  for (const Dependency& dependency : dependencies())
    for (const std::string& folder : dependency.folders)
      EXPECT_TRUE(std::ranges::any_of(includes_of_tree(),
                                      [&](const Include& include) {
                                        return include.file.starts_with(folder) &&
                                               std::regex_match(include.target,
                                                                std::regex(dependency.headers));
                                      }))
          << folder << " no longer includes " << dependency.name;
  for (const FolderUse& use : folder_uses())
    for (const std::string& used : use.uses)
      EXPECT_TRUE(std::ranges::any_of(includes_of_tree(),
                                      [&](const Include& include) {
                                        return include.file.starts_with(use.folder + "/") &&
                                               include.target.starts_with(used + "/");
                                      }))
          << use.folder << " no longer includes " << used;
}

TEST(Architecture, PageShowsTheTables) {
  const std::string page = text_of(fs::path(SWEETSPOT_SOURCE_DIR) / "docs/architecture.md");
  EXPECT_TRUE(page.find("```mermaid\n" + graph() + "```\n") != page.npos)
      << "docs/architecture.md is to show this graph:\n"
      << graph();
  EXPECT_TRUE(page.find(dependency_table()) != page.npos)
      << "docs/architecture.md is to show this table:\n"
      << dependency_table();
}

// Each row of its table of folders names exactly the folders of the part.
TEST(Architecture, PageNamesTheFolders) {
  std::istringstream lines(text_of(sources.parent_path() / "docs/architecture.md"));
  const std::regex row(R"(\| `([a-z]+)` \| (.*) \|)"), folder("`([a-z_]+)/`");
  std::set<std::string> rows;
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, match, row)) continue;
    const std::string part = match[1], words = match[2];
    rows.insert(part);
    std::set<std::string> named, there;
    for (std::sregex_iterator i(words.begin(), words.end(), folder), end; i != end; ++i)
      named.insert((*i)[1]);
    for (const auto& entry : fs::directory_iterator(sources / part))
      if (entry.is_directory() && !fs::is_empty(entry)) there.insert(entry.path().filename());
    for (const std::string& name : there)
      EXPECT_TRUE(named.contains(name)) << part << "/" << name << " is not in the table";
    for (const std::string& name : named)  // nested folders too
      EXPECT_TRUE(std::ranges::any_of(fs::recursive_directory_iterator(sources / part),
                                      [&](const fs::directory_entry& entry) {
                                        return entry.is_directory() &&
                                               entry.path().filename() == name;
                                      }))
          << part << " has no folder " << name;
  }
  for (const Part& part : parts()) {
    const bool has_folders =
        std::ranges::any_of(fs::directory_iterator(sources / part.name),
                            [](const fs::directory_entry& entry) { return entry.is_directory(); });
    EXPECT_EQ(rows.contains(part.name), has_folders) << part.name;
  }
}

// The checker itself, on made-up includes.
std::vector<Fault> check(const std::string& file, const std::string& text) {
  std::vector<Fault> faults;
  for (const Violation& violation : violations(includes_of(file, text)))
    faults.push_back(violation.fault);
  return faults;
}

TEST(Includes, AreFoundInEveryForm) {
  const auto found = includes_of("core/a.cpp",
                                 "#include \"core/a.h\"\n"
                                 "  #  include <vector>  // why\n"
                                 "// #include \"cli/app.h\"\n"
                                 "const char* text = \"#include <mpi.h>\";\n");
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
  EXPECT_THAT(check("core/a.h", "#include \"model/network.h\""), ElementsAre(Fault::not_downward));
  EXPECT_THAT(check("engine/cuda/kernels/a.cuh", "#include \"data/pipeline.h\""),
              ElementsAre(Fault::not_downward));
  EXPECT_THAT(check("model/a.cpp", "#include \"data/dataset.h\""),
              ElementsAre(Fault::not_downward));
}

TEST(Includes, MeasuringAndStudiesReachNoEngine) {
  EXPECT_THAT(check("measure/a.cpp", "#include \"engine/trainer.h\""),
              ElementsAre(Fault::not_of_this_part));
  EXPECT_THAT(check("study/a.h", "#include \"engine/cpu/cpu.h\""),
              ElementsAre(Fault::not_of_this_part));
}

TEST(Includes, FoldersOfAPartAreApart) {
  EXPECT_THAT(check("engine/cuda/a.cpp", "#include \"engine/extents.h\""), IsEmpty());
  EXPECT_THAT(check("engine/a.cpp", "#include \"engine/cuda/cuda.h\""), IsEmpty());
  EXPECT_THAT(check("engine/cuda/ops/a.cuh", "#include \"engine/cpu/tensor.h\""),
              ElementsAre(Fault::between_folders));
  EXPECT_THAT(check("engine/cuda/kernels/a.cu", "#include \"engine/cuda/ops/op.h\""),
              ElementsAre(Fault::between_folders));
  EXPECT_THAT(check("engine/cuda/ops/a.cpp", "#include \"engine/cuda/kernels/few_samples.h\""),
              IsEmpty());
  EXPECT_THAT(check("store/sqlite/a.cpp", "#include \"store/postgres/rows.h\""),
              ElementsAre(Fault::between_folders));
}

TEST(Includes, UnknownPartsAreRefused) {
  EXPECT_THAT(check("misc/a.cpp", "#include <vector>"), ElementsAre(Fault::in_no_part));
  EXPECT_THAT(check("core/a.cpp", "#include \"utils/b.h\""), ElementsAre(Fault::names_no_part));
}

TEST(Includes, HeavyDependenciesStayInTheirFolders) {
  EXPECT_THAT(check("engine/cuda/a.cpp", "#include <cuda_runtime.h>"), IsEmpty());
  EXPECT_THAT(check("engine/cpu/a.cpp", "#include <cuda_runtime.h>"),
              ElementsAre(Fault::out_of_its_folder));
  EXPECT_THAT(check("data/a.cpp", "#include <immintrin.h>"), ElementsAre(Fault::out_of_its_folder));
  EXPECT_THAT(check("study/a.cpp", "#include <sqlite3.h>"), ElementsAre(Fault::out_of_its_folder));
  EXPECT_THAT(check("core/a.cpp", "#include <zlib.h>"), ElementsAre(Fault::out_of_its_folder));
}

TEST(Includes, HeadersStayLight) {
  EXPECT_THAT(check("cli/a.cpp", "#include <nlohmann/json.hpp>\n#include <CLI/CLI.hpp>"),
              IsEmpty());
  EXPECT_THAT(check("cli/a.h", "#include <nlohmann/json_fwd.hpp>"), IsEmpty());
  EXPECT_THAT(check("cli/a.h", "#include <nlohmann/json.hpp>\n#include <CLI/CLI.hpp>"),
              ElementsAre(Fault::heavy_header, Fault::heavy_header));
}

TEST(Includes, FaultsNameFileAndInclude) {
  const auto found = violations(includes_of("core/a.cpp", "#include <zlib.h>"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_WORDS(words(found[0]));
}

}  // namespace
}  // namespace sweetspot::architecture
