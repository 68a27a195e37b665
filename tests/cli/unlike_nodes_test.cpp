// Nodes of two kinds, by a Slurm of two scripts whose tasks run at once, every other one with a
// single core.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;

class UnlikeNodes : public testing::Test {
 protected:
  UnlikeNodes() {
    script("sbatch",
           "tasks=$(sed -n 's/^#SBATCH --array=//p' \"$2\" | tr ',' ' ')\n"
           "for range in $tasks; do for i in $(seq \"${range%-*}\" \"${range#*-}\"); do\n"
           "  echo >> turns\n"
           "  cores=0-1; [ $(($(wc -l < turns) % 2)) = 1 ] || cores=0\n"
           "  SLURM_ARRAY_TASK_ID=$i taskset -c \"$cores\" bash \"$2\" > \"$i.log\" 2>&1\n"
           "done; done\n"
           "echo 7\n");
    script("squeue", "for i in 0 1 2 3 4; do echo \"$i|COMPLETED|None|node$i\"; done\n");
  }
  Finished run_here(std::vector<std::string> arguments) const {
    Launch launch;
    launch.arguments = std::move(arguments);
    for (const char* word : {"--workload", "fake:fixed=2ms,sample=10us,side-by-side=false",
                             "--cluster", "slurm", "--json"})
      launch.arguments.emplace_back(word);
    launch.folder = folder_.path().string();
    launch.environment["PATH"] = folder_.path().string() + ":" + std::getenv("PATH");
    return run(launch);
  }
  Json studies() const {
    Launch launch;
    launch.arguments = {"studies", "list", "--json"};
    launch.folder = folder_.path().string();
    return json_of(run(launch))["studies"];
  }

 private:
  void script(const std::string& name, const std::string& text) const {
    write_file(folder_ / name, "#!/bin/bash\n" + text);
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  TemporaryFolder folder_;
};

TEST_F(UnlikeNodes, OfASweepHaveAStudyEach) {
  const Finished finished = run_here({"sweep", "--batch", "16..256*2"});
  EXPECT_EQ(json_of(finished)["trials"].size(), 3u) << finished.err;
  std::multiset<std::size_t> trials;
  for (const Json& study : studies()) trials.insert(study["trial_count"].get<std::size_t>());
  EXPECT_EQ(trials, (std::multiset<std::size_t>{2, 3}));
  EXPECT_NE(finished.err, "") << "the result tells of the other kind";
}

TEST_F(UnlikeNodes, EndASearch) {
  const Finished finished = run_here({"tune", "--max", "256"});
  EXPECT_EQ(finished.exit_code, 5) << finished.err;
  for (const Json& study : studies()) EXPECT_LE(study["trial_count"].get<std::size_t>(), 1u);
}

}  // namespace
}  // namespace sweetspot::tests
