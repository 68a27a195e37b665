// Fetching from mirrors, one after the other, and from a place the user names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "core/error.h"
#include "data/fetch.h"
#include "data/files.h"
#include "data/https_server.h"
#include "data/support.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// One file that is published raw, one compressed, one in an archive.
class Mirrors : public testing::Test {
 protected:
  Mirrors() {
    fs::create_directory(source_);
    for (const auto& [name, fill] : {std::pair{"plain", 'p'}, {"packed", 'q'}, {"inside.bin", 'r'}})
      write_file(source_ / name, Bytes(4000, static_cast<std::uint8_t>(fill)));
    write_file(folder_ / "packed.gz", gzip(Bytes(4000, 'q')));
    const std::string tar = "tar -C '" + folder_.path().string() + "' -czf '" +
                            (folder_ / "all.tar.gz").string() + "' source/inside.bin";
    if (std::system(tar.c_str()) != 0) throw std::runtime_error("no tar");
    fs::copy_file(source_ / "plain", folder_ / "plain");
    for (std::size_t i = 0; i < files_.size(); ++i) {
      sums_[i] = sha256_of_file(source_ / files_[i].name);
      files_[i].sha256 = sums_[i];
      remote_sums_[i] = sha256_of_file(folder_ / remote_[i].name);
      remote_[i].size = fs::file_size(folder_ / remote_[i].name);
      remote_[i].sha256 = remote_sums_[i];
    }
  }

  void serve(const HttpsServer& server) const {
    for (const RemoteFile& file : remote_)
      server.serve(std::string(file.name), file_bytes(folder_ / file.name));
  }
  static Bytes file_bytes(const fs::path& path) {
    Bytes bytes(fs::file_size(path));
    InputFile(path).read(bytes);
    return bytes;
  }

  Package package(const std::vector<std::string>& urls, const std::string& npm = "") {
    urls_ = urls;
    mirrors_.assign(urls_.begin(), urls_.end());
    npm_ = npm;
    return {"three", npm_, "1.0.0", files_, mirrors_, remote_, {}};
  }
  fs::path fetch(const Package& three, const std::string& from = "") {
    return fetch_package(three, [&](std::string_view line) { said_.emplace_back(line); },
                         {from, [&](core::Bytes done, core::Bytes all) {
                            done_ = done;
                            all_ = all;
                          }});
  }
  std::string failure(const Package& three, const std::string& from = "") {
    return failure_of([&] { fetch(three, from); });
  }
  std::vector<std::string> cached() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache/sweetspot"))
      if (entry.path().extension() != ".lock") names.push_back(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  fs::path source_ = folder_ / "source";
  ScopedVariable cache_{"XDG_CACHE_HOME", (folder_ / "cache").string()};
  std::array<PackagedFile, 3> files_{
      {{"plain", "", 4000, ""}, {"packed", "", 4000, ""}, {"inside.bin", "", 4000, ""}}};
  std::array<RemoteFile, 3> remote_{
      {{"plain", 0, ""}, {"packed.gz", 0, ""}, {"all.tar.gz", 0, ""}}};
  std::array<std::string, 3> sums_, remote_sums_;
  std::vector<std::string> urls_, said_;
  std::vector<std::string_view> mirrors_;
  std::string npm_;
  core::Bytes done_ = 0, all_ = 0;
};

TEST_F(Mirrors, FilesComeWholeHoweverTheyArePublished) {
  const HttpsServer server;
  serve(server);
  const Package three = package({server.url("whole")});
  fetch(three);
  EXPECT_NO_THROW(verify_package(three));
  EXPECT_THAT(cached(), ElementsAre("three"));
  EXPECT_EQ(done_, all_);
  EXPECT_GT(all_, 4000u);
}

TEST_F(Mirrors, TheNextOneIsAskedUntilOneHasIt) {
  const HttpsServer server;
  serve(server);
  const Package three = package(
      {server.url("missing"), server.url("wrong"), server.url("oversized"), server.url("broken")});
  fetch(three);
  EXPECT_NO_THROW(verify_package(three));
  EXPECT_THAT(said_, Contains(HasSubstr("answered with status 404")));
  EXPECT_THAT(said_, Contains(HasSubstr("plain of localhost:")));  // differs
  EXPECT_THAT(said_, Contains(HasSubstr("larger than the published")));
  EXPECT_THAT(cached(), ElementsAre("three"));
}

TEST_F(Mirrors, APartIsKeptForTheNextFetchAndADamagedOneIsNot) {
  const HttpsServer server;
  serve(server);
  EXPECT_THAT(failure(package({server.url("rangeless")})),
              AllOf(StartsWith("1: cannot fetch three: localhost:"), HasSubstr("--from")));
  EXPECT_THAT(cached(), ElementsAre(".three.parts"));
  ASSERT_EQ(fs::file_size(folder_ / "cache/sweetspot/.three.parts/plain"), 1000u);
  fetch(package({server.url("whole")}));
  EXPECT_THAT(server.requests(), Contains("GET /whole/plain bytes=1000-"));
  EXPECT_THAT(cached(), ElementsAre("three"));

  fs::remove_all(folder_ / "cache/sweetspot/three");
  fs::create_directories(folder_ / "cache/sweetspot/.three.parts");
  write_file(folder_ / "cache/sweetspot/.three.parts/plain", Bytes(2000, 'w'));
  fetch(package({server.url("whole")}));
  EXPECT_NO_THROW(verify_package(package({})));
}

TEST_F(Mirrors, NpmIsAskedLastAndEveryAnswerIsTold) {
  const HttpsServer server;
  const ScopedVariable path("PATH", "/nonexistent");
  EXPECT_THAT(failure(package({server.url("missing"), "https://localhost:1/"}, "three-data")),
              AllOf(StartsWith("1: cannot fetch three: "), HasSubstr("status 404"),
                    HasSubstr("localhost:1 "), HasSubstr("npm cannot be run"),
                    HasSubstr("sweetspot data fetch three")));
  EXPECT_THAT(cached(), ElementsAre());
}

TEST_F(Mirrors, FromAUrlAFolderOrAnArchive) {
  const HttpsServer server;
  serve(server);
  const Package three = package({"https://localhost:1/"});
  const std::string whole = server.url("whole");
  const std::string all = "tar -C '" + folder_.path().string() + "' -cf '" +
                          (folder_ / "elsewhere.tar").string() + "' source";
  ASSERT_EQ(std::system(all.c_str()), 0);
  for (const std::string& from :
       {whole, whole.substr(0, whole.size() - 1), whole + "packed.gz", source_.string(),
        folder_.path().string(), (folder_ / "elsewhere.tar").string()}) {
    SCOPED_TRACE(from);
    fetch(three, from);
    EXPECT_NO_THROW(verify_package(three));
    fs::remove_all(folder_ / "cache/sweetspot/three");
  }
  EXPECT_THAT(said_, Not(Contains(HasSubstr("localhost:1 "))));
}

TEST_F(Mirrors, FromAPlaceThatHasItNot) {
  const Package three = package({"https://localhost:1/"});
  EXPECT_THAT(failure(three, (folder_ / "none").string()),
              AllOf(StartsWith("2: "), HasSubstr("--from")));
  EXPECT_THAT(failure(three, "ftp://host/folder"), StartsWith("2: "));
  EXPECT_THAT(failure(three, (folder_ / "packed.gz").string()), HasSubstr("plain of"));
  fs::remove(source_ / "packed");
  EXPECT_THAT(failure(three, source_.string()),
              AllOf(HasSubstr("packed of"), HasSubstr("is missing")));
  write_file(source_ / "packed", Bytes(4000, 'x'));
  EXPECT_THAT(failure(three, source_.string()),
              AllOf(HasSubstr("packed of"), HasSubstr("differs from the published")));
  EXPECT_FALSE(is_package_fetched(three));
}

TEST(Catalog, EveryDataSetCanBeChecked) {
  for (const Package& known : all_packages()) {
    SCOPED_TRACE(known.name);
    EXPECT_FALSE(known.files.empty());
    EXPECT_FALSE(known.mirrors.empty());
    for (const PackagedFile& file : known.files) {
      EXPECT_EQ(file.sha256.size(), 64u);
      EXPECT_EQ(file.path.empty(), known.npm_name.empty());
    }
    for (const RemoteFile& file : known.remote) EXPECT_EQ(file.sha256.size(), 64u);
    for (const std::string_view mirror : known.mirrors)
      EXPECT_TRUE(mirror.starts_with("https://") && mirror.ends_with("/")) << mirror;
    const Dataset samples = describe(known.name);
    EXPECT_GT(samples.train.sample_size(), 0);
    EXPECT_EQ(samples.classes, 10);
  }
}

}  // namespace
}  // namespace sweetspot::data
