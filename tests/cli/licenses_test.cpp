// The notices, held against what is linked and embedded.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "cli/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path source = SWEETSPOT_SOURCE_DIR;

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern, std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

// The packages whose code is in the page: those that are no tools of the build.
std::map<std::string, std::string> packages_in_page() {
  const auto lock = nlohmann::json::parse(read_file(source / "web/package-lock.json"));
  std::map<std::string, std::string> found;
  for (const auto& [path, package] : lock["packages"].items())
    if (!path.empty() && !package.value("dev", false))
      found[path.substr(path.rfind("node_modules/") + 13)] = package["version"];
  return found;
}

TEST(Licenses, AreTheNoticeAndOurOwn) {
  const Finished finished = run({"--licenses"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, HasSubstr(read_file(source / "NOTICE")));
  EXPECT_THAT(finished.out, HasSubstr(read_file(source / "LICENSE")));
}

TEST(Licenses, EveryLibraryThatIsBuiltWithIsNamed) {
  const std::string setup = read_file(source / "scripts/setup");
  const std::string base = setup.substr(0, setup.find("for option"));
  const std::set<std::string> development = matches(base, R"(\b([a-z0-9-]+-dev)\b)");
  ASSERT_GT(development.size(), 8u);
  // Tests are not a part of the program.
  const std::set<std::string> for_tests{"libgtest-dev", "libgmock-dev"};
  const std::set<std::string> named =
      matches(read_file(source / "NOTICE"), R"(^  Debian package: ([a-z0-9+-]+))");
  for (const std::string& package : development) {
    EXPECT_TRUE(for_tests.contains(package) || named.contains(package)) << package;
  }
}

TEST(Licenses, EverySharedLibraryOfTheProgramIsNamed) {
  FILE* pipe = popen("readelf -d '" SWEETSPOT_BINARY "'", "r");
  ASSERT_TRUE(pipe);
  std::string table;
  char piece[4096];
  while (const std::size_t count = fread(piece, 1, sizeof piece, pipe)) table.append(piece, count);
  ASSERT_EQ(pclose(pipe), 0);
  const std::set<std::string> needed = matches(table, R"(NEEDED.*\[(lib[^.\]]*?)(?:-0)?\.so)");
  ASSERT_TRUE(needed.contains("libfmt"));
  const std::string notice = read_file(source / "NOTICE");
  // The system's own, and the sanitizers' where one is built in.
  const std::regex system("libc|libm|libdl|librt|libpthread|ld-linux.*|lib[a-z]*san");
  for (const std::string& library : needed) {
    if (std::regex_match(library, system)) continue;
    const bool named = notice.find("(" + library + ")") != std::string::npos ||
                       notice.find("(" + library + ",") != std::string::npos ||
                       notice.find(" " + library + ")") != std::string::npos;
    EXPECT_TRUE(named) << library;
  }
}

TEST(Licenses, EveryLicenceThatAsksForItsTextHasIt) {
  const std::string notice = read_file(source / "NOTICE");
  const std::set<std::string> texts = matches(notice, R"(^Licence text: (.+)$)");
  // Our own; and those under which programs of any licence may use a library as it is.
  const std::regex others("public domain|Apache-2.0|GPL-3.0 with .*|NVIDIA.*");
  for (const std::string& licence : matches(notice, R"(^  Licence: (.+)$)"))
    EXPECT_TRUE(texts.contains(licence) || std::regex_match(licence, others)) << licence;
}

TEST(Licenses, WhatThePageCarriesIsNamedWithItsVersion) {
  const auto packages = packages_in_page();
  ASSERT_TRUE(packages.contains("uplot"));
  const std::string notice = read_file(source / "NOTICE");
  for (const auto& [name, version] : packages) {
    EXPECT_THAT(notice, HasSubstr(" " + version + "\n  npm package: " + name + "\n"));
  }
}

TEST(Licenses, APageBringsTheNoticesOfItsCode) {
  const TemporaryFolder folder;
  Launch launch;
  launch.folder = folder.path().string();
  launch.arguments = {"tune", "--workload", "fake:fixed=2ms,sample=10us", "--no-report"};
  ASSERT_EQ(run(launch).exit_code, 0);
  for (const std::vector<std::string>& form :
       {std::vector<std::string>{"report", "--html", "-o", "page.html"},
        {"report", "--compare", "1", "1", "--html", "-o", "page.html"}}) {
    launch.arguments = form;
    ASSERT_EQ(run(launch).exit_code, 0);
    const std::string page = read_file(folder / "page.html");
    std::vector<std::string> expected{"Copyright (c) 2022 Leon Sorokin",
                                      "The above copyright notice and this permission notice"};
    for (const auto& [name, version] : packages_in_page())
      expected.push_back("/*! " + name + " " + version + "\n");
    for (const std::string& words : expected)
      EXPECT_NE(page.find(words), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace sweetspot::tests
