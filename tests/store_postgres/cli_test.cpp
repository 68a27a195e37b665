// The real binary on a shared store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/support.h"
#include "store/store.h"
#include "store_postgres/server.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
const std::string fake = "fake:fixed=2ms,sample=10us,oom-above=256,side-by-side=false";

TEST(PostgresBinary, EveryCommandReadsAndWritesIt) {
  const std::string url = the_server().new_database();
  const TemporaryFolder folder;
  const auto run_here = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--db", url});
    Launch launch;
    launch.arguments = arguments;
    launch.folder = folder.path().string();
    return run(launch);
  };
  const Finished tuned = run_here({"tune", "--workload", fake, "--max", "1024", "--json"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  const auto answer = json_of(tuned);
  EXPECT_EQ(answer["status"], "found");
  EXPECT_TRUE(std::filesystem::exists(folder / "sweetspot-study-1.html"));
  const Finished swept = run_here({"sweep", "--workload", fake, "--batch", "16..512*2", "--json"});
  EXPECT_EQ(json_of(swept)["trials"].size(), 6u) << swept.err;
  const auto listed = json_of(run_here({"studies", "list", "--json"}));
  ASSERT_EQ(listed["studies"].size(), 2u);
  EXPECT_EQ(listed["studies"][1]["answer"]["batch"], answer["recommendation"]["batch"]);
  const auto shown = json_of(run_here({"studies", "show", "2", "--json"}));
  EXPECT_EQ(shown["trials"].size(), 6u);
  const Finished reported = run_here({"report", "2", "--csv"});
  EXPECT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_EQ(run_here({"studies", "delete", "1"}).exit_code, 0);
  EXPECT_EQ(json_of(run_here({"studies", "list", "--json"}))["studies"].size(), 1u);
}

// Eight processes, as on eight machines.
TEST(PostgresBinary, EightWorkersShareOneSweep) {
  const std::string url = the_server().new_database();
  std::vector<Finished> ended(8);
  {
    std::vector<std::jthread> workers;
    for (Finished& one : ended)
      workers.emplace_back([&] {
        one = run({"sweep", "--shared", "--workload", fake, "--batch", "8..512+8", "--json", "--db",
                   url});
      });
  }
  const auto store = store::open_store(url);
  const auto studies = store->studies();
  ASSERT_EQ(studies.size(), 1u);
  EXPECT_EQ(studies[0].end, trial::End::finished);
  ASSERT_EQ(studies[0].trials.size(), 64u);
  std::set<std::int64_t> batches;
  for (const trial::Trial& trial : studies[0].trials) batches.insert(trial.setting.batch);
  EXPECT_EQ(batches.size(), 64u);
  EXPECT_EQ(store->attempts(studies[0].id).size(), 64u) << "each was taken once";
  for (const Finished& one : ended) {
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(json_of(one)["trials"].size(), 64u);
  }
}

TEST(PostgresBinary, APasswordIsNeitherTakenNorShown) {
  for (const std::string command : {"tune", "sweep", "studies list", "serve", "report"}) {
    std::vector<std::string> arguments{command.substr(0, command.find(' '))};
    if (command == "studies list") arguments.push_back("list");
    arguments.insert(arguments.end(), {"--db", "postgresql://me:hunter2@nowhere.invalid/db"});
    const Finished finished = run(arguments);
    expect_sentence(finished, 2, "password");
    EXPECT_THAT(finished.err, Not(HasSubstr("hunter2"))) << command;
    Launch launch;
    launch.arguments = {arguments.begin(), arguments.end() - 2};
    launch.environment["SWEETSPOT_DB"] = arguments.back();
    EXPECT_THAT(run(launch).err, Not(HasSubstr("hunter2"))) << command;
  }
}

}  // namespace
}  // namespace sweetspot::tests
