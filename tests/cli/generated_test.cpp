// Manual pages and completions know every command and flag that the help knows.
#include <iterator>
#include <sstream>

#include "cli/commands_of_help.h"
#include "cli/support.h"
#include "rendered.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using testing::HasSubstr;

std::string dashes_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '-' ? "\\-" : std::string(1, c);
  return out;
}

class Generated : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    ASSERT_EQ(run({"generate", folder->path().string()}).exit_code, 0);
    commands = commands_of_help();
    ASSERT_GT(commands.size(), 15u);
  }
  static void TearDownTestSuite() { delete folder; }

  // What a shell prints that runs `script`.
  static std::string shell(const std::string& program, const std::string& script) {
    const std::string command = program + " -c '" + script + "' 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    char piece[4096];
    while (const std::size_t count = fread(piece, 1, sizeof piece, pipe)) out.append(piece, count);
    EXPECT_EQ(pclose(pipe), 0) << out;
    return out;
  }

  // What bash offers for the last of these words.
  static std::string offered(const std::string& words, int last) {
    return shell("bash", "source " + (*folder / "bash/sweetspot").string() + "; COMP_WORDS=(" +
                             words + "); COMP_CWORD=" + std::to_string(last) +
                             "; _sweetspot; echo \" ${COMPREPLY[*]} \"");
  }

  static inline TemporaryFolder* folder = nullptr;
  static inline std::vector<HelpedCommand> commands;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST_F(Generated, ManualPagesNameEveryCommandAndFlag) {
  for (const HelpedCommand& command : commands) {
    SCOPED_TRACE(command.path());
    const std::string name =
        command.words.empty() ? "sweetspot" : "sweetspot-" + command.words.front();
    const std::string page = read_file(*folder / ("man/" + name + ".1"));
    std::vector<std::string> parts{"\\fB" + dashes_escaped(command.path()) + "\\fR",
                                   ".SH EXAMPLES\n"};
    for (const std::string& flag : command.flags)
      parts.push_back("\\fB" + dashes_escaped(flag) + "\\fR");
    EXPECT_EQ(found_in(page, parts), parts);
  }
}

TEST_F(Generated, BashOffersEveryCommandAndFlag) {
  for (const HelpedCommand& command : commands) {
    SCOPED_TRACE(command.path());
    const int count = static_cast<int>(command.words.size());
    EXPECT_THAT(words_of(offered(command.path() + " --", count + 1)),
                testing::IsSupersetOf(command.flags));
    if (count == 0) continue;
    EXPECT_THAT(words_of(offered(command.path(), count)), testing::Contains(command.words.back()));
  }
}

TEST_F(Generated, BashOffersFilesWhereFilesBelongAndAProgramItsOwn) {
  write_file(*folder / "network.json", "");
  const std::string here = folder->path().string();
  EXPECT_THAT(offered("sweetspot tune --model " + here + "/net", 3), HasSubstr("network.json"));
  EXPECT_THAT(offered("sweetspot tune --batch-size 1 -- " + here + "/net", 5),
              testing::Not(HasSubstr("--for")));
  EXPECT_EQ(offered("sweetspot tune --min x", 3), "  \n");
}

TEST_F(Generated, ZshAndFishNameEveryCommandAndFlag) {
  const std::string zsh = read_file(*folder / "zsh/_sweetspot");
  const std::string fish = read_file(*folder / "fish/sweetspot.fish");
  EXPECT_TRUE(zsh.starts_with("#compdef sweetspot\n"));
  for (const HelpedCommand& command : commands) {
    SCOPED_TRACE(command.path());
    std::string function = "\n_" + command.path() + "() {";
    for (char& c : function)
      if (c == ' ' && &c != &function[function.size() - 2]) c = '_';
    const std::size_t begin = zsh.find(function);
    ASSERT_NE(begin, std::string::npos);
    const std::string body = zsh.substr(begin, zsh.find("\n}\n", begin) - begin);
    const std::string at =
        "__sweetspot_at '" + command.path().substr(std::string("sweetspot").size()) + "'\"";
    for (const std::string& flag : command.flags) {
      EXPECT_THAT(body, HasSubstr("'*" + flag + "["));
      EXPECT_THAT(fish, testing::ContainsRegex(at + "( -s .)? -l " + flag.substr(2) + " "));
    }
    if (command.words.empty()) continue;
    EXPECT_THAT(zsh, HasSubstr("'" + command.words.back() + ":"));
    EXPECT_THAT(fish, HasSubstr(" -f -a " + command.words.back() + " -d "));
  }
}

TEST_F(Generated, WhatCannotBeWrittenIsTold) {
  expect_sentence(run({"generate", "/dev/null/here"}), 1);
}

}  // namespace
}  // namespace sweetspot::tests
