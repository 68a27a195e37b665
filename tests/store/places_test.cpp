// What a path can turn out to be: each gives one sentence and a remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/error.h"
#include "store/store.h"
#include "store/support.h"
#include "store/unprivileged.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The message of the exception that `work` throws.
std::string sentence_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

class Places : public testing::Test {
 protected:
  std::string writing(const fs::path& file) const {
    return sentence_of(
        [&] { store::open_store(file.string())->open_study(study_key(), environment(), false); });
  }
  std::string reading(const fs::path& file) const {
    return sentence_of([&] { store::open_store(file.string())->studies(); });
  }
  void expect_sentence(const fs::path& file, const std::string& part) const {
    for (const std::string& sentence : {writing(file), reading(file)})
      EXPECT_THAT(sentence, AllOf(HasSubstr(part), HasSubstr("pass --db"), Not(HasSubstr("\n"))));
  }
  void fill(const fs::path& file, std::size_t trials = 20) const {
    const auto writer =
        store::open_store(file.string())->open_study(study_key(), environment(), false);
    for (std::size_t i = 0; i < trials; ++i) add(*writer, trial_of(8, 100));
  }
  static void execute(const fs::path& file, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(database);
  }
  static std::string bytes_of(const fs::path& file) {
    std::ostringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    return bytes.str();
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_ / "a.db";
};

TEST_F(Places, AMissingFolder) { expect_sentence(folder_ / "gone/a.db", "does not exist"); }

TEST_F(Places, AFolder) {
  expect_sentence(folder_.path(), (folder_ / "sweetspot.db").string());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Places, AFileThatIsNoDatabase) {
  std::ofstream(file_) << std::string(10000, 'x');
  expect_sentence(file_, "not a database");
  EXPECT_EQ(bytes_of(file_), std::string(10000, 'x')) << "it is not ours to change";
}

TEST_F(Places, ADatabaseOfAnotherProgram) {
  execute(file_, "CREATE TABLE songs (title TEXT)");
  const std::string before = bytes_of(file_);
  expect_sentence(file_, "another program");
  EXPECT_EQ(bytes_of(file_), before);
}

TEST_F(Places, AnEmptyFileIsANewDatabase) {
  std::ofstream{file_};
  EXPECT_EQ(reading(file_), "no error");
  EXPECT_EQ(fs::file_size(file_), 0u);
  EXPECT_EQ(writing(file_), "no error");
}

TEST_F(Places, ANewerSchema) {
  fill(file_);
  execute(file_, "PRAGMA user_version = 1000");
  expect_sentence(file_, "newer sweetspot (its schema is 1000");
}

TEST_F(Places, ATruncatedFile) {
  fill(file_);
  fs::resize_file(file_, fs::file_size(file_) / 2);
  expect_sentence(file_, "damaged");
}

TEST_F(Places, GarbageInTheMiddle) {
  fill(file_);
  const auto size = static_cast<std::streamoff>(fs::file_size(file_));
  std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff page = 4096; page < size; page += 4096)
    file.seekp(page) << std::string(64, '\xff');
  file.close();
  expect_sentence(file_, "damaged");
}

TEST_F(Places, ValuesThatMakeNoSense) {
  fill(file_, 1);
  execute(file_, "UPDATE trial SET outcome = 'splendid'");
  expect_sentence(file_, "damaged");
  execute(file_, "UPDATE trial SET outcome = 'ok', stop_reason = 'tired'");
  expect_sentence(file_, "damaged");
  execute(file_, "UPDATE trial SET stop_reason = NULL; UPDATE study SET state = 'asleep'");
  EXPECT_THAT(reading(file_), HasSubstr("damaged"));
  execute(file_, "UPDATE study SET state = 'stopped'; UPDATE steps SET data = x'0102'");
  EXPECT_EQ(reading(file_), "no error");
  const auto studying = [&] {
    return sentence_of([&] { store::open_store(file_.string())->study(1); });
  };
  EXPECT_THAT(studying(), HasSubstr("damaged"));
  execute(file_, "UPDATE steps SET data = x''");
  EXPECT_EQ(studying(), "no error");
  execute(file_, "INSERT INTO trace VALUES (1, x'0102')");
  EXPECT_THAT(studying(), HasSubstr("damaged"));
}

TEST_F(Places, AReadOnlyFileIsReadAndNotWritten) {
  fill(file_);
  fs::permissions(file_, fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0555));
  const Unprivileged user;
  EXPECT_THAT(writing(file_), AllOf(HasSubstr("cannot be written"), HasSubstr("pass --db")));
  EXPECT_EQ(store::open_store(file_.string())->studies().at(0).trials.size(), 20u);
}

TEST_F(Places, AReadOnlyFileInAWritableFolder) {
  fill(file_);
  fs::permissions(file_, fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0777));
  const Unprivileged user;
  EXPECT_THAT(writing(file_), HasSubstr("cannot be written"));
  EXPECT_EQ(store::open_store(file_.string())->studies().at(0).trials.size(), 20u);
}

TEST_F(Places, AReadOnlyFolder) {
  fs::permissions(folder_.path(), fs::perms(0555));
  const Unprivileged user;
  EXPECT_THAT(writing(file_), AllOf(HasSubstr("cannot be opened"), HasSubstr("pass --db")));
  EXPECT_EQ(reading(file_), "no error");
}

TEST_F(Places, AFolderThatMayNotBeEntered) {
  fill(file_);
  fs::permissions(folder_.path(), fs::perms(0));
  const Unprivileged user;
  expect_sentence(file_, "cannot be");
}

TEST_F(Places, NamesThatMeanSomethingToSqlite) {
  for (const char* name : {":memory:", "file:x?mode=memory", "a%20b#c?d.db", "ü.db"}) {
    SCOPED_TRACE(name);
    fill(folder_ / name, 1);
    EXPECT_TRUE(fs::exists(folder_ / name));
    EXPECT_EQ(store::open_store((folder_ / name).string())->studies().size(), 1u);
  }
}

TEST(StoreUrl, IsTheFlagThenTheVariableThenTheDefault) {
  unsetenv("SWEETSPOT_DB");
  EXPECT_EQ(store::store_url(std::nullopt), "sqlite:sweetspot.db");
  setenv("SWEETSPOT_DB", "", 1);
  EXPECT_EQ(store::store_url(std::nullopt), "sqlite:sweetspot.db");
  setenv("SWEETSPOT_DB", "sqlite:env.db", 1);
  EXPECT_EQ(store::store_url(std::nullopt), "sqlite:env.db");
  EXPECT_EQ(store::store_url("flag.db"), "flag.db");
  unsetenv("SWEETSPOT_DB");
}

TEST(StoreUrl, OtherKindsAndNoNameAreRefused) {
  for (const char* url : {"mysql://host/db", "sqlite:", ""}) {
    SCOPED_TRACE(url);
    EXPECT_THAT(sentence_of([&] { store::open_store(url); }), HasSubstr("pass --db sqlite:PATH"));
  }
}

}  // namespace
}  // namespace sweetspot::tests
