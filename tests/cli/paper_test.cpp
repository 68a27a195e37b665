// The paper's experiment through the real binary, on a few images of one colour each.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;

struct Paper : testing::Test {
  TemporaryFolder folder;

  Paper() { write_idx_folder(folder.path() / "images", 1000, 28, 28); }

  Launch launch(std::vector<std::string> more) const {
    Launch made;
    made.arguments = {"paper", "--data", "images", "--device", "cpu"};
    made.arguments.insert(made.arguments.end(), more.begin(), more.end());
    made.environment = {{"SWEETSPOT_DB", ""}};
    made.folder = folder.path().string();
    return made;
  }
  Finished paper(std::vector<std::string> more) const { return run(launch(std::move(more))); }
};

std::size_t trials_run(const Json& json) {
  std::size_t all = 0;
  for (const auto& device : json["devices"]) all += device["trials"].size();
  return all - json["cost"]["resumed_trials"].get<std::size_t>();
}

TEST_F(Paper, IsStoppedGoesOnAndWritesVerdictsAndAPage) {
  Launch whole = launch({"--json"});
  whole.signal_when_seen = "epochs in";  // the first finished trial's line
  whole.signal = SIGINT;
  const Finished first = run(whole);
  EXPECT_EQ(first.exit_code, 130) << first.err;
  const Json stopped = json_of(first);
  EXPECT_EQ(stopped["status"], "stopped");
  const std::size_t done = trials_run(stopped);
  EXPECT_GE(done, 1u);
  EXPECT_LT(done, 10u);

  const Json quick = json_of(paper({"--quick", "--json", "--export-markdown", "paper.md"}));
  EXPECT_EQ(quick["status"], "finished");
  EXPECT_EQ(quick["cost"]["resumed_trials"], done);
  EXPECT_LE(trials_run(quick), 3u);
  EXPECT_EQ(quick["output"], "sweetspot-paper.html");
  ASSERT_EQ(quick["devices"].size(), 1u);
  EXPECT_EQ(quick["devices"][0]["device"], "cpu");
  EXPECT_GE(quick["devices"][0]["cells"].size(), 3u * 5);
  for (const auto& claim : quick["claims"]) EXPECT_NE(claim["evidence"], "") << claim;
  const std::string page = read_file(folder.path() / "sweetspot-paper.html");
  EXPECT_GE(elements_of(page, "svg").size(), 2u);
  EXPECT_EQ(cells_of(read_file(folder.path() / "paper.md")).at(1).at(0),
            quick["claims"][0]["says"].get<std::string>());

  const Finished again = paper({"--quick", "--output", "again.html"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_WORDS(without_numbers(again.err));  // nothing of a trial
  EXPECT_THAT(elements_of(read_file(folder.path() / "again.html"), "svg"),
              testing::SizeIs(elements_of(page, "svg").size()));
  for (const auto& claim : quick["claims"])
    EXPECT_THAT(again.out, testing::HasSubstr(claim["says"].get<std::string>()));
}

TEST_F(Paper, AFileThatCannotBeWrittenIsToldFirst) {
  expect_sentence(paper({"--output", "nowhere/paper.html"}), 2);
  expect_sentence(paper({"--seeds", "0"}), 2);
  expect_sentence(run({"paper", "--device", "tpu"}), 2);
}

}  // namespace
}  // namespace sweetspot::tests
