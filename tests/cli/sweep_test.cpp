// The grid through the real binary, on a fake workload in virtual time.
#include <nlohmann/json.hpp>
#include <set>

#include "cli/support.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

struct Sweep : testing::Test {
  TemporaryFolder folder;

  Finished sweep(std::vector<std::string> more) {
    Launch made;
    made.arguments = {"sweep", "--workload", "fake:fixed=1ms,sample=10us,samples=2000"};
    made.arguments.insert(made.arguments.end(), more.begin(), more.end());
    made.environment = {{"SWEETSPOT_DB", ""}};
    made.folder = folder.path().string();
    return run(made);
  }
};

TEST_F(Sweep, MeasuresEveryPointAsOftenAsAsked) {
  Json json = json_of(sweep({"--batch", "16..256*2", "--workers", "0,1,2", "--accumulation", "1,2",
                             "--repeat", "2", "--json"}));
  EXPECT_EQ(json["status"], "finished");
  EXPECT_EQ(json["trials"].size(), 5u * 3 * 2 * 2);
  std::set<std::string> settings;
  for (const auto& trial : json["trials"]) settings.insert(trial["setting"].dump());
  EXPECT_EQ(settings.size(), 5u * 3 * 2);
  EXPECT_EQ(json["measured"]["best_batch"], 256);
}

TEST_F(Sweep, AnInterleavedOrderIsKept) {
  Json json = json_of(sweep({"--batch", "1..64*2", "--json"}));
  std::vector<std::pair<double, std::int64_t>> by_time;
  for (const auto& trial : json["trials"])
    by_time.emplace_back(trial["started_at_unix_seconds"], trial["setting"]["batch"]);
  std::sort(by_time.begin(), by_time.end());
  EXPECT_FALSE(std::is_sorted(by_time.begin(), by_time.end(),
                              [](auto& a, auto& b) { return a.second < b.second; }));
}

TEST_F(Sweep, ResumesAndRepeatsNothing) {
  EXPECT_EQ(json_of(sweep({"--batch", "1,2,3", "--json"}))["cost"]["trials"], 3);
  EXPECT_EQ(json_of(sweep({"--batch", "1,2,3", "--json"}))["cost"]["trials"], 0);
}

TEST_F(Sweep, PointsThatDoNotExistAreRefusedNotFatal) {
  const Finished finished = sweep({"--batch", "1000,4000"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_WORDS(cells_of(finished.out).at(2).back());
  EXPECT_EQ(sweep({"--batch", "4000"}).exit_code, 3);
}

TEST_F(Sweep, EpochsAndSeedsAreTrialsLikeAnyOther) {
  const std::vector<std::string> asked{"--batch", "100,200", "--epochs", "1..3",
                                       "--seeds", "2",       "--json"};
  const Json json = json_of(sweep(asked));
  EXPECT_EQ(json["status"], "finished");
  EXPECT_EQ(json["trials"].size(), 4u);
  ASSERT_EQ(json["cells"].size(), 6u);
  for (const auto& cell : json["cells"]) EXPECT_EQ(cell["trials"], 2);
  EXPECT_EQ(json["trials"][0]["epochs"].size(), 3u);
  const Json again = json_of(sweep(asked));
  EXPECT_EQ(again["cost"]["trials"], 0);
  EXPECT_EQ(again["cells"], json["cells"]);
  // The last epoch is what was trained: fewer columns of it are no other question.
  EXPECT_EQ(json_of(sweep({"--batch", "100,200", "--epochs", "3", "--json"}))["cells"].size(), 2u);
}

TEST_F(Sweep, EpochsAreShownAndExported) {
  const Finished finished = sweep({"--batch", "100,4000", "--epochs", "1..2", "--export-csv",
                                   "e.csv", "--export-markdown", "e.md"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_WORDS(without_numbers(finished.out));
  EXPECT_THAT(read_file(folder.path() / "e.csv"),
              testing::HasSubstr(",epoch,epoch_seconds,train_seconds,"));
  EXPECT_WORDS(without_numbers(read_file(folder.path() / "e.md")));
  Launch show;
  show.arguments = {"studies", "show", "1"};
  show.environment = {{"SWEETSPOT_DB", ""}};
  show.folder = folder.path().string();
  EXPECT_THAT(column_of(run(show).out, 1), ElementsAre("2", "–"));
}

TEST_F(Sweep, BadGridsAreTold) {
  expect_sentence(sweep({"--batch", "9..1"}), 2);
  expect_sentence(sweep({"--workers", "x"}), 2);
  expect_sentence(sweep({"--repeat", "0"}), 2);
  expect_sentence(sweep({"--epochs", "0..5"}), 2);
  expect_sentence(sweep({"--seeds", "3"}), 2, "--epochs");
}

}  // namespace
}  // namespace sweetspot::tests
