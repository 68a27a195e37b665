// `report --compare` and `report --tensorboard` through the real binary, on a fake workload.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;

struct Exports : testing::Test {
  TemporaryFolder folder;

  Finished sweetspot(std::vector<std::string> arguments) {
    Launch made;
    made.arguments = std::move(arguments);
    made.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C"}};
    made.folder = folder.path().string();
    return run(made);
  }

  void measure(const std::string& db, const std::string& fixed, const std::string& sample) {
    const Finished finished =
        sweetspot({"sweep", "--batch", "16,64", "--db", db, "--workload",
                   "fake:fixed=" + fixed + ",sample=" + sample + ",noise=1%"});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
  }
};

TEST_F(Exports, TwoStoresAreComparedInEveryForm) {
  measure("sweetspot.db", "2ms", "20us");
  measure("other.db", "1ms", "10us");
  const Finished text = sweetspot({"report", "--compare", "1", "other.db:1"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_WORDS(without_numbers(text.out.substr(text.out.find("\n\n"))));
  const auto json = json_of(sweetspot({"report", "--compare", "1", "other.db:1", "--json"}));
  EXPECT_EQ(json["verdict"], "faster");
  EXPECT_NEAR(json["best_samples_per_second_ratio"]["mean"].get<double>(), 2, 0.05);
  EXPECT_EQ(json["batches"].size(), 2u);
  EXPECT_THAT(sweetspot({"report", "--compare", "other.db:1", "1", "--markdown"}).out,
              testing::StartsWith("# "));
  EXPECT_EQ(json_of(sweetspot({"report", "--compare", "other.db:1", "1", "--json"}))["verdict"],
            "slower");
  const Finished page =
      sweetspot({"report", "--compare", "1", "other.db:1", "--html", "-o", "two.html"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  EXPECT_EQ(elements_of(read_file(folder / "two.html"), "svg").size(), 2u);
}

TEST_F(Exports, WhatCannotBeComparedIsOneSentence) {
  measure("sweetspot.db", "2ms", "20us");
  expect_sentence(sweetspot({"report", "--compare", "1", "7"}), 2);
  expect_sentence(sweetspot({"report", "--compare", "1", "no.db:1"}), 2);
  expect_sentence(sweetspot({"report", "--compare", "1", "one"}), 2);
  expect_sentence(sweetspot({"report", "--compare", "1"}), 2, "--compare");
  expect_sentence(sweetspot({"report", "--compare", "1", "1", "--csv"}), 2);
  expect_sentence(sweetspot({"report", "1", "--compare", "1", "1"}), 2, "--compare");
}

TEST_F(Exports, TensorBoardGetsARunForEachTrial) {
  measure("sweetspot.db", "2ms", "20us");
  const Finished finished = sweetspot({"report", "--tensorboard", "runs"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out, "2 runs in runs\n");
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "runs"))
    files += entry.path().filename().string().starts_with("events.out.tfevents.");
  EXPECT_EQ(files, 3u);  // and the experiment's
  write_file(folder / "taken", "");
  const Finished taken = sweetspot({"report", "--tensorboard", "taken"});
  expect_sentence(taken, 1);
}

}  // namespace
}  // namespace sweetspot::tests
