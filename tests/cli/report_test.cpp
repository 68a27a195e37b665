// Reports of stored studies, and the one that tune leaves, through the real binary.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Report : testing::Test {
  TemporaryFolder folder;

  Finished in_folder(std::vector<std::string> arguments) {
    Launch launch;
    launch.arguments = std::move(arguments);
    launch.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C"}};
    launch.folder = folder.path().string();
    return run(launch);
  }
  Finished tune(std::vector<std::string> more = {}) {
    std::vector<std::string> all{"tune", "--workload", "fake:fixed=2ms,sample=10us,noise=1%"};
    all.insert(all.end(), more.begin(), more.end());
    return in_folder(all);
  }
};

TEST_F(Report, IsLeftByTuneWhichSaysWhere) {
  const Finished finished = tune();
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, HasSubstr("sweetspot-study-1.html"));
  EXPECT_THAT(read_file(folder / "sweetspot-study-1.html"), StartsWith("<!doctype html>"));
}

TEST_F(Report, OfAnotherStoreInTheFolderIsAnotherFile) {
  tune();
  const std::string first = read_file(folder / "sweetspot-study-1.html");
  EXPECT_THAT(tune({"--db", "other.db", "--max", "32"}).out, HasSubstr("other-study-1.html"));
  EXPECT_EQ(read_file(folder / "sweetspot-study-1.html"), first);
}

TEST_F(Report, OfTwoStudiesIsAPageBesideTheStoreToo) {
  tune({"--no-report"});
  tune({"--no-report", "--max", "32"});
  const Finished finished = in_folder({"report", "--compare", "1", "2", "--html"});
  EXPECT_EQ(finished.out, "sweetspot-comparison.html\n");
  EXPECT_THAT(read_file(folder / "sweetspot-comparison.html"), StartsWith("<!doctype html>"));
}

TEST_F(Report, ComparesADozenStudiesAtMost) {
  tune({"--no-report"});
  std::vector<std::string> asked{"report", "--compare"};
  asked.insert(asked.end(), 13, "1");
  expect_sentence(in_folder(asked), 2);
}

TEST_F(Report, IsLeftOutWhenAsked) {
  const Finished finished = tune({"--no-report"});
  EXPECT_THAT(found_in(finished.out + finished.err, {"sweetspot-study-1.html"}), IsEmpty());
  EXPECT_FALSE(fs::exists(folder / "sweetspot-study-1.html"));
}

TEST_F(Report, ThatCannotBeWrittenDoesNotFailTheTune) {
  fs::create_directory(folder / "sweetspot-study-1.html");
  const Finished finished = tune();
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_WORDS(last_sentence(finished));
  EXPECT_EQ(json_of(in_folder({"report", "--json"}))["status"], "found");
}

TEST_F(Report, OfAStoredStudySaysWhatTuneSaid) {
  const nlohmann::ordered_json told = json_of(tune({"--json"}));
  const nlohmann::ordered_json stored = json_of(in_folder({"report", "--json"}));
  EXPECT_EQ(stored["status"], "found");
  EXPECT_EQ(stored["recommendation"], told["recommendation"]);
  EXPECT_EQ(stored["trials"], told["trials"]);
}

TEST_F(Report, AndTheListOfStudiesNameTunesAnswer) {
  const nlohmann::ordered_json told = json_of(tune({"--json"}));
  const nlohmann::ordered_json listed = json_of(in_folder({"studies", "list", "--json"}));
  EXPECT_EQ(listed["studies"][0]["answer"]["batch"], told["recommendation"]["batch"]);
  EXPECT_EQ(listed["studies"][0]["best"]["batch"], told["recommendation"]["best_batch"]);
  EXPECT_WORDS(without_numbers(in_folder({"studies", "list"}).out));
  EXPECT_THAT(in_folder({"studies", "show", "1"}).out,
              HasSubstr("\n\n" + told["recommendation"]["sentence"].get<std::string>()));
}

TEST_F(Report, OfTheNewestStudyIsAPageBesideItsStore) {
  tune({"--no-report"});
  tune({"--no-report", "--max", "32"});
  const Finished finished = in_folder({"report"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out, "sweetspot-study-2.html\n");
  EXPECT_THAT(read_file(folder / "sweetspot-study-2.html"), HasSubstr("raw_steps"));
}

TEST_F(Report, HasOtherFormsAndPlaces) {
  tune({"--no-report"});
  EXPECT_THAT(in_folder({"report", "1", "--markdown"}).out, StartsWith("# "));
  EXPECT_THAT(in_folder({"report", "--csv"}).out, StartsWith("batch,micro_batch,"));
  EXPECT_THAT(in_folder({"report", "-o", "-"}).out, StartsWith("<!doctype html>"));
  EXPECT_EQ(in_folder({"report", "--csv", "-o", "a.csv"}).out, "a.csv\n");
  EXPECT_THAT(read_file(folder / "a.csv"), StartsWith("batch,"));
}

TEST_F(Report, RefusesInASentence) {
  expect_sentence(in_folder({"report"}), 2);
  tune({"--no-report"});
  expect_sentence(in_folder({"report", "7"}), 2);
  expect_sentence(in_folder({"report", "0"}), 2);
  expect_sentence(in_folder({"report", "-5"}), 2);
  expect_sentence(in_folder({"report", "x"}), 2);
  expect_sentence(in_folder({"report", "--html", "x.html"}), 2);
  expect_sentence(in_folder({"report", "--csv", "--json"}), 2, "--csv");
  expect_sentence(in_folder({"report", "-o", "no/such/folder/a.html"}), 2);
}

}  // namespace
}  // namespace sweetspot::tests
