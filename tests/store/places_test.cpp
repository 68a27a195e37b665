// What a path can turn out to be: each gives one sentence and a remedy.
#include <fmt/format.h>
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
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;

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
  void expect_sentence(const fs::path& file) const {
    for (const std::string& sentence : {writing(file), reading(file)}) {
      EXPECT_EQ(sentence.find('\n'), sentence.npos);
      EXPECT_WORDS(without_numbers(sentence));
    }
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

TEST_F(Places, AMissingFolder) { expect_sentence(folder_ / "gone/a.db"); }

TEST_F(Places, AFolder) {
  expect_sentence(folder_.path());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Places, AFileThatIsNoDatabase) {
  std::ofstream(file_) << std::string(10000, 'x');
  expect_sentence(file_);
  EXPECT_EQ(bytes_of(file_), std::string(10000, 'x')) << "it is not ours to change";
}

TEST_F(Places, ADatabaseOfAnotherProgram) {
  execute(file_, "CREATE TABLE songs (title TEXT)");
  const std::string before = bytes_of(file_);
  expect_sentence(file_);
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
  expect_sentence(file_);
  EXPECT_THAT(reading(file_), testing::HasSubstr("1000"));
}

// As programs before the first release wrote them.
constexpr const char* older_schema =
    "PRAGMA journal_mode = WAL; CREATE TABLE study (id INTEGER PRIMARY KEY, question TEXT);"
    "INSERT INTO study VALUES (1, 'what?'); PRAGMA application_id = 0x73777370;"
    "PRAGMA user_version = 14";

TEST_F(Places, AnOlderSchemaIsRefusedAndStaysAsItIs) {
  execute(file_, older_schema);
  const std::string before = bytes_of(file_);
  expect_sentence(file_);
  EXPECT_THROW(store::open_store(file_.string())->studies(), core::InputError);
  EXPECT_EQ(bytes_of(file_), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "only the file";
}

TEST_F(Places, AnOlderSchemaInTheLogOfAKilledProcess) {
  const fs::path log = file_.string() + "-wal";
  {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "alive.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, older_schema, nullptr, nullptr, nullptr), SQLITE_OK);
    fs::copy_file(folder_ / "alive.db", file_);
    fs::copy_file(folder_ / "alive.db-wal", log);
    sqlite3_close(database);
  }
  const std::string before = bytes_of(file_), log_before = bytes_of(log);
  ASSERT_NE(log_before, "");
  expect_sentence(file_);
  EXPECT_EQ(bytes_of(file_), before);
  EXPECT_EQ(bytes_of(log), log_before);
}

TEST_F(Places, ATruncatedFile) {
  fill(file_);
  fs::resize_file(file_, fs::file_size(file_) / 2);
  expect_sentence(file_);
}

TEST_F(Places, GarbageInTheMiddle) {
  fill(file_);
  const auto size = static_cast<std::streamoff>(fs::file_size(file_));
  std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff page = 4096; page < size; page += 4096)
    file.seekp(page) << std::string(64, '\xff');
  file.close();
  expect_sentence(file_);
}

TEST_F(Places, ValuesThatMakeNoSense) {
  fill(file_, 1);
  const auto studying = [&] {
    return sentence_of([&] { store::open_store(file_.string())->study(1); });
  };
  for (const char* body : {"", "[]", "{}", "{\"outcome\":\"splendid\"}"}) {
    execute(file_, fmt::format("UPDATE trial SET body = '{}'", body).c_str());
    expect_sentence(file_);
  }
  execute(file_, "UPDATE trial SET body = '{\"outcome\":\"ok\"}'; UPDATE raw SET steps = x'0102'");
  EXPECT_EQ(reading(file_), "no error");
  EXPECT_WORDS(studying());
  execute(file_, "UPDATE raw SET steps = x'', trace = x'0102'");
  EXPECT_WORDS(studying());
  execute(file_, "UPDATE raw SET trace = 'text'");
  EXPECT_WORDS(studying());
  execute(file_, "UPDATE raw SET trace = x''");
  EXPECT_EQ(studying(), "no error");
  execute(file_, "UPDATE study SET state = 'asleep'");
  EXPECT_WORDS(reading(file_));
}

TEST_F(Places, AReadOnlyFileIsReadAndNotWritten) {
  fill(file_);
  fs::permissions(file_, fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0555));
  const Unprivileged user;
  EXPECT_WORDS(writing(file_));
  EXPECT_EQ(store::open_store(file_.string())->studies().at(0).trials.size(), 20u);
}

TEST_F(Places, AReadOnlyFileInAWritableFolder) {
  fill(file_);
  fs::permissions(file_, fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0777));
  const Unprivileged user;
  EXPECT_WORDS(writing(file_));
  EXPECT_EQ(store::open_store(file_.string())->studies().at(0).trials.size(), 20u);
}

TEST_F(Places, AReadOnlyFolder) {
  fs::permissions(folder_.path(), fs::perms(0555));
  const Unprivileged user;
  EXPECT_WORDS(writing(file_));
  EXPECT_EQ(reading(file_), "no error");
}

TEST_F(Places, AFolderThatMayNotBeEntered) {
  fill(file_);
  fs::permissions(folder_.path(), fs::perms(0));
  const Unprivileged user;
  expect_sentence(file_);
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
    EXPECT_WORDS(sentence_of([&] { store::open_store(url); }));
  }
}

}  // namespace
}  // namespace sweetspot::tests
