// The contract over SQLite files, and what is specific to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract.h"
#include "store/sqlite/place.h"
#include "store/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

class FilePlace : public Place {
 public:
  explicit FilePlace(std::string prefix) : prefix_(std::move(prefix)) {}
  std::shared_ptr<store::Store> open() const override {
    return store::open_store(prefix_ + (folder_ / "a.db").string());
  }
  bool is_untouched() const override { return std::filesystem::is_empty(folder_.path()); }

 private:
  std::string prefix_;
  TemporaryFolder folder_;
};

class MemoryPlace : public Place {
 public:
  std::shared_ptr<store::Store> open() const override { return store_; }
  bool is_untouched() const override { return true; }

 private:
  std::shared_ptr<store::Store> store_ = store::open_store("memory:");
};

const StoreKind memory{"memory", [] { return std::make_unique<MemoryPlace>(); }};

StoreKind kind(const char* name, const char* prefix) {
  return {name, [prefix] { return std::make_unique<FilePlace>(prefix); }};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         testing::Values(kind("url", "sqlite:"), kind("path", ""), memory),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, QueueContract, testing::Values(kind("path", ""), memory),
                         kind_name);

TEST(SqliteFollower, OutlivesItsFile) {
  const TemporaryFolder folder;
  const auto open = [&] { return store::open_store((folder / "a.db").string()); };
  const auto expect_heard = [](store::Follower& follower, const char* of) {
    EXPECT_TRUE(follower.changed()) << of;
    EXPECT_FALSE(follower.changed()) << of;
  };
  open()->open_study(study_key(), environment(), false);
  const auto follower = open()->follow();
  expect_heard(*follower, "the first look");
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::remove(file);
  expect_heard(*follower, "a file that is gone");
  open()->open_study(study_key(), environment(), false);
  expect_heard(*follower, "a file that came");
}

TEST(StoreInMemory, EndsWithTheLastThatUsesIt) {
  const TemporaryFolder folder;
  auto store = store::open_store("memory:");
  const auto writer = store->open_study(study_key(), environment(), false);
  add(*writer, full_trial());
  EXPECT_TRUE(store::open_store("memory:")->studies().empty()) << "another one";
  const auto follower = store->follow();
  store.reset();
  add(*writer, trial_of(1));
  EXPECT_TRUE(follower->changed());
  EXPECT_FALSE(std::filesystem::exists("memory:"));
}

// The numbers of statfs(2): ext4, XFS, tmpfs and overlay are local.
TEST(NetworkFileSystems, AreToldFromLocalOnes) {
  using store::sqlite::network_file_system;
  EXPECT_EQ(network_file_system(0x6969), "NFS");
  EXPECT_EQ(network_file_system(0xFF534D42), "SMB");
  EXPECT_EQ(network_file_system(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_file_system(0x47504653), "GPFS");
  for (const unsigned long local : {0xEF53ul, 0x58465342ul, 0x01021994ul, 0x794C7630ul})
    EXPECT_FALSE(network_file_system(local)) << std::hex << local;
}

}  // namespace
}  // namespace sweetspot::tests
