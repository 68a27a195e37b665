// Finding our own control group, from fake files.
#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"
#include "workload/command/process/cgroup.h"

namespace sweetspot::workload::command::process {
namespace {

std::vector<CgroupPlace> places(const std::string& cgroup, const std::string& mountinfo) {
  const tests::TemporaryFolder proc;
  std::ofstream(proc / "cgroup") << cgroup;
  std::ofstream(proc / "mountinfo") << mountinfo;
  return own_cgroups(proc.path().string());
}

const std::string v1_mount =
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
const std::string v2_mount = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST(CgroupPlaces, VersionOneComesFirstWhereBothAre) {
  const auto found = places("4:memory:/jobs/7\n3:cpuset:/\n0::/\n", v2_mount + v1_mount);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].version, 1);
  EXPECT_EQ(found[0].folder, "/sys/fs/cgroup/memory/jobs/7");
  EXPECT_EQ(found[1].version, 2);
  EXPECT_EQ(found[1].folder, "/sys/fs/cgroup/unified");
}

TEST(CgroupPlaces, AContainersMountShowsAPartOfTheHierarchy) {
  const auto found = places("0::/docker/abc/inner\n",
                            "30 20 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].folder, "/sys/fs/cgroup/inner");
}

TEST(CgroupPlaces, AGroupThatIsNotVisibleIsNone) {
  EXPECT_TRUE(places("0::/../other\n", v2_mount).empty());
  EXPECT_TRUE(places("0::/docker/ab\n", "30 20 0:26 /docker/abc /c rw - cgroup2 c rw\n").empty());
  EXPECT_TRUE(places("0::/\n", "").empty());
  EXPECT_TRUE(places("", v2_mount).empty());
  EXPECT_TRUE(places("nonsense\n4:cpu:/\n", "nonsense\n" + v1_mount).empty());
}

}  // namespace
}  // namespace sweetspot::workload::command::process
