// Where the batch goes into a program, and what a trial leaves, through the real binary.
#include <map>
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::StartsWith;

// A project of somebody's, with a program in it; the store is elsewhere.
struct Templates : testing::Test {
  TemporaryFolder project, elsewhere;

  Templates() {
    fs::copy_file(SWEETSPOT_SOURCE_DIR "/tests/fixtures/programs/configured.py",
                  project / "configured.py");
  }

  Finished sweetspot(std::vector<std::string> arguments) {
    Launch made;
    made.arguments = std::move(arguments);
    made.environment = {{"SWEETSPOT_DB", "sqlite:" + (elsewhere / "db").string()}, {"LC_ALL", "C"}};
    made.environment["TMPDIR"] = rooms().string();
    made.folder = project.path().string();
    return run(made);
  }

  fs::path rooms() {
    fs::create_directories(elsewhere / "tmp");
    return elsewhere / "tmp";
  }

  // One batch, so that a tune is one trial.
  Json tune(std::vector<std::string> arguments) {
    std::vector<std::string> all{"tune",   "--min",    "4", "--max",      "4",
                                 "--json", "--repeat", "1", "--no-report"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished finished = sweetspot(all);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json_of(finished);
  }

  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(project.path()))
      if (entry.is_regular_file())
        found[entry.path().lexically_relative(project.path())] = read_file(entry.path());
    return found;
  }

  // Pastes a command that was recommended into a shell, and gives what it wrote to `starts`.
  std::string pasted(const std::string& command) {
    fs::remove(project / "starts");
    const std::string line = "cd '" + project.path().string() + "' && PATH='" +
                             fs::path(SWEETSPOT_BINARY).parent_path().string() + "':$PATH && { " +
                             command + "; } 2>&1 | head -1 >/dev/null";  // its first step ends it
    EXPECT_EQ(std::system(("sh -c \"" + line + "\"").c_str()), 0) << line;
    return read_file(project / "starts");
  }
};

TEST_F(Templates, ATuneByAKeyLeavesTheFileAndEndsInACommandThatWorks) {
  const std::string yaml = "# mine\ntrain:\n  batch_size: 16  # per GPU\n  lr: 1e-3\n";
  write_file(project / "config.yaml", yaml);
  const Json json = tune({"--template", "config.yaml", "--set", "train.batch_size={batch}", "--",
                          "python3", "-B", "configured.py", "{config}"});
  const std::string command = json["recommendation"]["command"];
  EXPECT_EQ(command,
            "sweetspot fill config.yaml --set train.batch_size=4 --output config.batch-4.yaml && "
            "python3 -B configured.py config.batch-4.yaml");
  EXPECT_THAT(read_file(project / "starts"), StartsWith("4 " + rooms().string()));
  EXPECT_EQ(read_file(project / "config.yaml"), yaml);
  EXPECT_TRUE(fs::is_empty(rooms()));
  EXPECT_THAT(sweetspot({"report", "--markdown"}).out,
              testing::HasSubstr("```sh\n" + command + "\n```"));
  EXPECT_EQ(pasted(command), "4 config.batch-4.yaml\n");
  EXPECT_EQ(read_file(project / "config.batch-4.yaml"),
            "# mine\ntrain:\n  batch_size: 4  # per GPU\n  lr: 1e-3\n");
}

TEST_F(Templates, ATuneByAVariableEndsInOne) {
  const Json json = tune({"--env", "BATCH_SIZE={batch}", "--env", "NOTE=two words", "--", "python3",
                          "configured.py", "env", "BATCH_SIZE"});
  EXPECT_EQ(json["recommendation"]["command"],
            "BATCH_SIZE=4 NOTE='two words' python3 configured.py env BATCH_SIZE");
  EXPECT_EQ(pasted(json["recommendation"]["command"]), "4 env BATCH_SIZE\n");
}

TEST_F(Templates, AFileWithAPlaceholderIsFilledWhereTheProgramLooks) {
  write_file(project / "train.cfg.in", "[train]\nbatch = {batch}\n");
  const Json json =
      tune({"--template", "train.cfg.in:train.cfg", "--", "python3", "configured.py", "train.cfg"});
  EXPECT_EQ(json["recommendation"]["command"],
            "sweetspot fill train.cfg.in --batch 4 --output train.cfg && python3 configured.py "
            "train.cfg");
  EXPECT_FALSE(fs::exists(project / "train.cfg"));
  EXPECT_EQ(pasted(json["recommendation"]["command"]), "4 train.cfg\n");
  expect_sentence(sweetspot({"tune", "--template", "train.cfg.in:train.cfg", "--", "python3",
                             "configured.py", "train.cfg"}),
                  2);
}

TEST_F(Templates, AHookThatTakesTheBatchIsPartOfTheCommand) {
  const Json json = tune({"--prepare", "echo batch={batch} > my.ini", "--shell", "--", "python3",
                          "configured.py", "my.ini", "&&", "echo done"});
  EXPECT_EQ(json["recommendation"]["command"],
            "sh -c 'echo batch=4 > my.ini' && python3 configured.py my.ini && echo done");
}

TEST_F(Templates, AScratchFolderIsGoneWithAllThatWasWritten) {
  write_file(project / "config.json", "{\"batch\": 16}\n");
  const auto before = contents();
  const Json json = tune({"--scratch", "--template", "config.json:config.json", "--set",
                          "batch={batch}", "--conclude", "test -e starts -a -e checkpoint.pt", "--",
                          "python3", "-B", "configured.py", "config.json"});
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(fs::is_empty(rooms()));
  EXPECT_EQ(json["recommendation"]["command"],
            "sweetspot fill config.json --set batch=4 --in-place && python3 -B configured.py "
            "config.json");
  EXPECT_EQ(pasted(json["recommendation"]["command"]), "4 config.json\n");
  EXPECT_EQ(read_file(project / "config.json"), "{\"batch\": 4}\n");
}

TEST_F(Templates, WhatCannotBeSetIsRefusedBeforeAnythingRuns) {
  write_file(project / "c.yaml", "train:\n  batch_size: 1\n");
  expect_sentence(sweetspot({"tune", "--template", "c.yaml", "--set", "train.batch={batch}",
                             "--setup", "touch ran", "--", "python3", "configured.py", "{config}"}),
                  2);
  expect_sentence(sweetspot({"tune", "--template", "c.yaml", "--set", "train={batch}", "--",
                             "python3", "configured.py", "{config}"}),
                  2);
  expect_sentence(sweetspot({"tune", "--template", "none.yaml", "--", "true", "{config}"}), 2);
  expect_sentence(sweetspot({"tune", "--", "python3", "configured.py"}), 2);
  EXPECT_FALSE(fs::exists(project / "ran"));
  EXPECT_FALSE(fs::exists(project / "starts"));
}

TEST_F(Templates, ADryRunShowsEveryPlaceAndWritesNothing) {
  write_file(project / "c.yaml", "train:\n  batch_size: 1\n");
  write_file(project / "train.py", "import wandb\n");
  const auto before = contents();
  const Finished finished = sweetspot({"tune", "--dry-run", "--min", "16", "--template", "c.yaml",
                                       "--set", "train.batch_size={batch}", "--env", "BS={batch}",
                                       "--", "python3", "train.py", "{config}"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, testing::HasSubstr("train.batch_size=16"));
  EXPECT_WORDS(finished.out.substr(finished.out.find("SWEETSPOT_BATCH=16")));
  EXPECT_EQ(contents(), before);
  EXPECT_TRUE(fs::is_empty(rooms()));
}

TEST_F(Templates, FillWritesWhereItIsTold) {
  write_file(project / "c.yaml", "a: '{batch}x{micro_batch}'\nb: [1, 2]\n");
  EXPECT_EQ(sweetspot({"fill", "c.yaml", "--batch", "8", "--accumulation", "2"}).out,
            "a: '8x4'\nb: [1, 2]\n");
  EXPECT_EQ(sweetspot({"fill", "c.yaml", "--set", "b[1]=7"}).out,
            "a: '{batch}x{micro_batch}'\nb: [1, 7]\n");
  expect_sentence(sweetspot({"fill", "c.yaml"}), 2);
  expect_sentence(sweetspot({"fill", "c.yaml", "--set", "c=7"}), 2);
  expect_sentence(sweetspot({"fill", "c.yaml", "--batch", "8", "-o", "./c.yaml"}), 2);
  expect_sentence(sweetspot({"fill", "c.yaml", "--batch", "9", "--accumulation", "2"}), 2);
  fs::permissions(project / "c.yaml", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("c.yaml", project / "link.yaml");
  EXPECT_EQ(sweetspot({"fill", "link.yaml", "--set", "b[0]=5", "--in-place"}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(project / "link.yaml"));
  EXPECT_EQ(read_file(project / "c.yaml"), "a: '{batch}x{micro_batch}'\nb: [5, 2]\n");
  EXPECT_EQ(fs::status(project / "c.yaml").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  write_file(project / "plain.txt", "nothing here\n");
  expect_sentence(sweetspot({"fill", "plain.txt", "--batch", "8"}), 2);
}

}  // namespace
}  // namespace sweetspot::tests
