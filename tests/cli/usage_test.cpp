// What the program says to what it is asked: help, versions, and every kind of bad argument.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

TEST(Usage, HelpNamesEveryCommandAndGivesExamples) {
  const Finished help = run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_WORDS(help.out);
}

TEST(Usage, EveryCommandHasHelp) {
  const std::vector<std::vector<std::string>> commands = {
      {"train"},         {"memory"},        {"doctor"},         {"monitor"},     {"model", "show"},
      {"model", "list"}, {"data", "fetch"}, {"data", "verify"}, {"data", "show"}};
  for (auto command : commands) {
    SCOPED_TRACE(command.back());
    command.push_back("--help");
    const Finished help = run(command);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, testing::HasSubstr("--json"));
  }
}

TEST(Usage, TrainHelpNamesEveryFlag) {
  const std::string help = run({"train", "--help"}).out;
  for (const char* flag :
       {"--model",      "--data",       "--batch",   "--accumulation", "--epochs",
        "--max-steps",  "--optimizer",  "--lr",      "--momentum",     "--weight-decay",
        "--loss",       "--seed",       "--threads", "--workers",      "--prefetch",
        "--shuffle",    "--no-shuffle", "--cache",   "--augment",      "--load-delay",
        "--drop-last",  "--save",       "--load",    "--no-eval",      "--json",
        "--noise-scale"})
    EXPECT_NE(help.find(std::string(flag) + " "), help.npos) << flag;
}

TEST(Usage, WithoutOrWithAnUnknownCommand) {
  expect_sentence(run(std::vector<std::string>{}), 2, "--help");
  expect_sentence(run({"fly"}), 2);
  expect_sentence(run({"model"}), 2, "--help");
  expect_sentence(run({"train", "--fly"}), 2);
  expect_sentence(run({"train", "stray"}), 2);
  expect_sentence(run({"train", "--\033[31m"}), 2);
}

TEST(Usage, EveryNumberIsCheckedAndItsFlagNamed) {
  for (const char* flag :
       {"--batch", "--accumulation", "--epochs", "--max-steps", "--threads", "--prefetch"})
    for (const char* value : {"0", "-1", "12abc", "1.5", "nan", "", "99999999999999999999"}) {
      SCOPED_TRACE(value);
      expect_sentence(run({"train", flag, value}), 2, std::string(flag) + " '" + value + "'");
    }
  for (const char* flag : {"--workers", "--seed"})
    for (const char* value : {"-1", "x", "99999999999999999999"})
      expect_sentence(run({"train", flag, value}), 2, std::string(flag) + " '" + value + "'");
  for (const char* value : {"nan", "inf", "0", "-0.1", "1e999", "fast"})
    expect_sentence(run({"train", "--lr", value}), 2, std::string("--lr '") + value + "'");
  for (const char* value : {"nan", "1", "-0.1"})
    expect_sentence(run({"train", "--optimizer", "momentum", "--momentum", value}), 2,
                    "--momentum");
  expect_sentence(run({"train", "--optimizer", "adamw", "--weight-decay", "-1"}), 2,
                  "--weight-decay");
}

TEST(Usage, WordsAreChecked) {
  expect_sentence(run({"train", "--optimizer", "magic"}), 2);
  expect_sentence(run({"train", "--loss", "magic"}), 2);
  expect_sentence(run({"train", "--augment", "magic"}), 2);
  expect_sentence(run({"train", "--load-delay", "soon"}), 2);
  expect_sentence(run({"memory", "--limit", "much"}), 2);
  expect_sentence(run({"memory", "--batch", "16..8"}), 2);
  expect_sentence(run({"memory", "--batch", "0"}), 2);
}

TEST(Usage, FlagsThatDoNotGoTogether) {
  expect_sentence(run({"train", "--momentum", "0.5"}), 2);
  expect_sentence(run({"train", "--weight-decay", "0.1"}), 2);
  expect_sentence(run({"train", "--batch", "100", "--accumulation", "3"}), 2);
  expect_sentence(run({"train", "--data", "synthetic:50", "--batch", "51"}), 2);
  expect_sentence(run({"train", "--model", "mlp", "--loss", "categorical_crossentropy"}), 2);
  expect_sentence(run({"memory", "--accumulation", "3"}), 2);
}

TEST(Usage, ModelsAreChecked) {
  const TemporaryFolder folder;
  write_file(folder / "broken.json", "{\"class_name\":");
  write_file(folder / "deep.json", std::string(100'000, '['));
  expect_sentence(run({"train", "--model", "nothing"}), 2);
  expect_sentence(run({"train", "--model", (folder / "broken.json").string()}), 2);
  expect_sentence(run({"model", "show", (folder / "deep.json").string()}), 2);
  expect_sentence(run({"memory", "--model", folder.path().string()}), 2);
}

TEST(Usage, ModelShowAndListAsJson) {
  const auto model = json_of(run({"model", "show", "paper-cnn", "--json"}));
  EXPECT_EQ(model["model"], "paper-cnn");
  EXPECT_EQ(model["total"]["parameters"], 550886);
  EXPECT_EQ(model["layers"].size(), 9u);
  EXPECT_EQ(json_of(run({"model", "list", "--json"}))["models"].size(), 7u);
}

TEST(Usage, DoctorAsJson) {
  const auto doctor = json_of(run({"doctor", "--json"}));
  EXPECT_GE(doctor["environment"]["usable_cores"], 1);
  EXPECT_GT(doctor["environment"]["memory_total_bytes"], 0);
  EXPECT_FALSE(doctor["environment"]["isa"].get<std::string>().empty());
  EXPECT_FALSE(doctor["data_sets"].empty());
}

TEST(Usage, AFullDiskUnderStdoutIsTold) {
  Launch launch;
  launch.arguments = {"model", "list"};
  launch.stdout_file = "/dev/full";
  expect_sentence(run(launch), 1);
}

}  // namespace
}  // namespace sweetspot::tests
