// The paper's experiment through the real binary, on a few images of one colour each.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

struct Paper : testing::Test {
  TemporaryFolder folder;

  Paper() { write_idx_folder(folder.path() / "images", 1000, 28, 28); }

  Launch launch(std::vector<std::string> more) const {
    Launch made;
    made.arguments = {"paper", "--data", "images"};
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

TEST_F(Paper, QuickWritesVerdictsAndAPageAndIsPartOfTheWhole) {
  const Json quick = json_of(paper({"--quick", "--json"}));
  EXPECT_EQ(quick["status"], "finished");
  EXPECT_EQ(quick["output"], "sweetspot-paper.html");
  ASSERT_FALSE(quick["devices"].empty());
  EXPECT_EQ(quick["devices"][0]["device"], "cpu");
  EXPECT_EQ(quick["devices"][0]["cells"].size(), 3u * 5);
  EXPECT_EQ(trials_run(quick), 3 * quick["devices"].size());
  for (const auto& claim : quick["claims"]) EXPECT_FALSE(claim["evidence"].empty()) << claim;
  const std::string page = read_file(folder.path() / "sweetspot-paper.html");
  EXPECT_THAT(page, HasSubstr("<svg "));
  EXPECT_THAT(page, HasSubstr("Figures 3, 5 and 10"));

  EXPECT_EQ(trials_run(json_of(paper({"--quick", "--json"}))), 0u);
  const Finished whole = paper({"--export-markdown", "paper.md", "--output", "all.html"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("3 finished trials are known already"));
  EXPECT_THAT(whole.out, HasSubstr("What the paper says"));
  EXPECT_THAT(whole.err, HasSubstr("the figures are in all.html"));
  EXPECT_THAT(read_file(folder.path() / "paper.md"), HasSubstr("# The paper on this machine"));
}

TEST_F(Paper, AStoppedRunKeepsWhatIsFinishedAndGoesOn) {
  Launch stopped = launch({"--json"});
  stopped.signal_when_seen = "epochs in";  // the first finished trial's line
  stopped.signal = SIGINT;
  const Finished first = run(stopped);
  EXPECT_EQ(first.exit_code, 130) << first.err;
  const Json json = json_of(first);
  EXPECT_EQ(json["status"], "stopped");
  const std::size_t done = trials_run(json);
  EXPECT_GE(done, 1u);
  EXPECT_LT(done, 10u);
  const Json again = json_of(paper({"--json"}));
  EXPECT_EQ(again["status"], "finished");
  EXPECT_GE(again["cost"]["resumed_trials"], done);
}

TEST_F(Paper, AFileThatCannotBeWrittenIsToldFirst) {
  expect_sentence(paper({"--output", "nowhere/paper.html"}), 2, "--output nowhere/paper.html");
  expect_sentence(paper({"--seeds", "0"}), 2, "--seeds");
}

}  // namespace
}  // namespace sweetspot::tests
