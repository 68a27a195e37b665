// A full disk and a folder that disappears: one sentence, and the finished trials are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <filesystem>

#include "core/error.h"
#include "faults/victim.h"
#include "store/store.h"
#include "store/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

void expect_kept(const fs::path& file, const LastWords& words) {
  EXPECT_GT(words.trials, 0);
  const auto study = store::open_store(file.string())->study(words.study);
  ASSERT_TRUE(study);
  EXPECT_EQ(static_cast<std::int64_t>(study->trials.size()), words.trials);
}

TEST(Disk, AFileThatMayNotGrow) {
  const TemporaryFolder folder;
  const LastWords words = Victim(folder / "a.db", 1, [] {
                            const rlimit limit{1 << 20, 1 << 20};
                            setrlimit(RLIMIT_FSIZE, &limit);
                          }).wait();
  EXPECT_THAT(words.failure,
              AllOf(HasSubstr("the finished trials are kept"), HasSubstr("pass --db other.db")));
  expect_kept(folder / "a.db", words);
}

// A disk of one megabyte, if the test may have one.
class TinyDisk {
 public:
  TinyDisk() { mounted_ = mount("tmpfs", path().c_str(), "tmpfs", 0, "size=1m") == 0; }
  ~TinyDisk() {
    if (mounted_) umount2(path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const fs::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

TEST(Disk, Full) {
  const TinyDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const auto file = disk.path() / "a.db";
  const LastWords words = Victim(file, 1).wait();
  EXPECT_THAT(words.failure, AllOf(HasSubstr("no space is left"), HasSubstr("pass --db other.db")));
  expect_kept(file, words);
}

std::string sentence_of_adding(store::Writer& writer) {
  try {
    add(writer, {});
  } catch (const core::MachineError& error) {
    return error.what();
  }
  return "no error";
}

// The path of the trials in the sentence.
fs::path rescued_in(const std::string& sentence) {
  const std::string flag = "--db ";
  return sentence.substr(sentence.rfind(flag) + flag.size());
}

class Gone : public testing::TestWithParam<const char*> {
 protected:
  void go(const fs::path& folder, const fs::path& file) const {
    const std::string how = GetParam();
    if (how == "folder") fs::remove_all(folder);
    if (how == "file") fs::remove(file);
    if (how == "moved") fs::rename(folder, folder.string() + "-moved");
    if (how == "replaced") fs::copy_file(file, folder / "copy"), fs::rename(folder / "copy", file);
  }
};

TEST_P(Gone, TheFinishedTrialsAreKept) {
  const TemporaryFolder outer;
  const auto folder = outer / "in", file = folder / "a.db";
  fs::create_directory(folder);
  const auto writer = store::open_store(file.string())
                          ->open_study({"fake", "question"}, {"program", "machine", "{}"}, false);
  add(*writer, {});
  add(*writer, {});
  go(folder, file);
  const std::string sentence = sentence_of_adding(*writer);
  EXPECT_THAT(sentence, AllOf(HasSubstr(file.string()), HasSubstr("removed during the run")));
  const fs::path copy = rescued_in(sentence);
  const auto study = store::open_store(copy.string())->study(writer->study().id);
  ASSERT_TRUE(study) << sentence;
  EXPECT_EQ(study->trials.size(), 3u) << "the one that was being added included";
  EXPECT_EQ(sentence_of_adding(*writer), sentence) << "and so it stays";
  const auto resumed =
      store::open_store(copy.string())->open_study({"fake", "question"}, {"", "", "{}"}, false);
  EXPECT_EQ(resumed->study().trials.size(), 3u);
  fs::remove_all(copy.parent_path());
}
INSTANTIATE_TEST_SUITE_P(Ways, Gone, testing::Values("folder", "file", "moved", "replaced"),
                         [](const auto& way) { return std::string(way.param); });

}  // namespace
}  // namespace sweetspot::tests
