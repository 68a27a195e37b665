#include "data/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/files.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;

class Unpack : public testing::Test {
 protected:
  Unpack() {
    fs::create_directories(folder / "in/deep/er");
    fs::create_directory(folder / "out");
    write_file(folder / "in/deep/er/first", Bytes(1000, 'a'));  // not a whole number of blocks
    write_file(folder / "in/deep/second", Bytes(512, 'b'));
    write_text(folder / "in/other", "not asked for");
  }
  fs::path pack(const std::string& how) {
    const fs::path archive = folder / "archive";
    const std::string command =
        "tar -C '" + (folder / "in").string() + "' " + how + " -cf '" + archive.string() + "' .";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return archive;
  }
  std::size_t unpack(const fs::path& archive) {
    return unpack_tar(archive, {{"first", 1000}, {"second", 1000}}, folder / "out");
  }
  std::string refusal(const fs::path& archive) {
    return failure_of([&] { unpack(archive); });
  }

  TemporaryFolder folder;
};

TEST_F(Unpack, TakesTheFilesAskedForWhereverTheyLie) {
  for (const char* how : {"", "-z", "--format=pax", "--format=v7"}) {
    SCOPED_TRACE(how);
    EXPECT_EQ(unpack(pack(how)), 2u);
    EXPECT_EQ(fs::file_size(folder / "out/first"), 1000u);
    EXPECT_EQ(sha256_of_file(folder / "out/second"), sha256_of_file(folder / "in/deep/second"));
    EXPECT_FALSE(fs::exists(folder / "out/other"));
    fs::remove_all(folder / "out");
    fs::create_directory(folder / "out");
  }
}

TEST_F(Unpack, TakesNoLinksAndNothingLargerThanExpected) {
  fs::remove(folder / "in/deep/second");
  fs::create_symlink("/etc/passwd", folder / "in/deep/second");
  EXPECT_EQ(unpack(pack("")), 1u);
  write_file(folder / "in/deep/er/first", Bytes(1001, 'a'));
  EXPECT_WORDS(refusal(pack("")));
}

TEST_F(Unpack, RefusesWhatIsDamaged) {
  write_file(folder / "junk", Bytes(2000, 'x'));
  EXPECT_WORDS(refusal(folder / "junk"));
  write_text(folder / "short", "few");
  EXPECT_WORDS(refusal(folder / "short"));
  const fs::path cut = folder / "cut.tar";
  const std::string command =
      "tar -C '" + (folder / "in/deep/er").string() + "' -cf '" + cut.string() + "' first";
  ASSERT_EQ(std::system(command.c_str()), 0);
  fs::resize_file(cut, 512 + 700);  // its header, and a part of its content
  EXPECT_WORDS(refusal(cut));
}

TEST_F(Unpack, GunzipsUpToTheSizeThatIsPublished) {
  const Bytes bytes(5000, 'z');
  write_file(folder / "file.gz", gzip(bytes));
  unpack_gzip(folder / "file.gz", folder / "file", 5000);
  EXPECT_EQ(fs::file_size(folder / "file"), 5000u);
  EXPECT_WORDS(failure_of([&] { unpack_gzip(folder / "file.gz", folder / "file", 4999); }));
}

}  // namespace
}  // namespace sweetspot::data
