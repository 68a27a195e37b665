// Help by another way, examples of each command, and what was probably meant.
#include "cli/commands_of_help.h"
#include "cli/support.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

TEST(Help, OfACommandIsWhatTheCommandSays) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "tune"}).out, run({"tune", "--help"}).out);
  EXPECT_EQ(run({"help", "studies", "list"}).out, run({"studies", "list", "--help"}).out);
  expect_sentence(run({"help", "tnue"}), 2);
  expect_sentence(run({"help", "data", "fetsh"}), 2);
  expect_sentence(run({"help", "data", "fetch", "more"}), 2);
}

TEST(Help, EveryCommandHasExamplesOfItsOwn) {
  const std::vector<HelpedCommand> commands = commands_of_help();
  ASSERT_GT(commands.size(), 15u);
  for (const HelpedCommand& command : commands) {
    SCOPED_TRACE(command.path());
    const std::size_t begin = command.help.find("\nExample");
    ASSERT_NE(begin, std::string::npos);
    const std::string first = command.words.empty() ? "" : " " + command.words.front();
    EXPECT_THAT(command.help.substr(begin), testing::HasSubstr("\n  sweetspot" + first));
    EXPECT_EQ(command.help.find("what GPUs and host", begin) != std::string::npos, first.empty());
  }
}

TEST(Help, AMisspeltCommandOrFlagIsGuessed) {
  expect_sentence(run({"tnue"}), 2);
  expect_sentence(run({"studeis", "list"}), 2);
  expect_sentence(run({"data", "fetsh"}), 2);
  expect_sentence(run({"train", "--epoch", "3"}), 2);
  expect_sentence(run({"train", "--bacth=64"}), 2);
  expect_sentence(run({"tune", "--memory-limt", "4GiB"}), 2);
  expect_sentence(run({"tune", "--critical"}), 2);
  expect_sentence(run({"report", "--markdwon"}), 2);  // of a group
}

TEST(Help, NothingIsGuessedFromAfar) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"fly"}, {"train", "--quantum"}, {"train", std::string(50, 'x')}}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_WORDS(last_sentence(finished));
  }
  EXPECT_EQ(run({"train", std::string(5000, 'x')}).exit_code, 2);
  EXPECT_WORDS(last_sentence(run({"tune", "train.py"})));
  EXPECT_WORDS(last_sentence(run({"data", "fetsh"})));
}

TEST(Help, TheWayOutNamesTheCommandsOwnHelp) {
  expect_sentence(run({"train", "--quantum"}), 2, "sweetspot train --help");
  expect_sentence(run({"studies"}), 2, "sweetspot studies --help");
}

TEST(Help, VersionTellsWhatItWasBuiltWith) {
  const Finished version = run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("sweetspot [0-9.]+ \\([^\n]*\\)\n"
                                                 "compiler: [^\n]*[0-9][^\n]*\n"
                                                 "CPU engine: [^\n]*\n"
                                                 "GPU engine: [^\n]*\n"
                                                 "libraries: [^\n]*\n"));
  for (const std::string library : {"Boost", "CLI11", "fmt", "libpq", "libyaml", "OpenSSL", "PCRE2",
                                    "SQLite", "toml\\+\\+", "uPlot", "zlib"})
    EXPECT_THAT(version.out, testing::ContainsRegex("[ ,]" + library + " [0-9]"));
}

}  // namespace
}  // namespace sweetspot::tests
