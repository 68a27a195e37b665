#include "workload/command/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "core/text.h"
#include "temporary_folder.h"
#include "words.h"
#include "workload/command/config_files.h"
#include "workload/command/libraries.h"
#include "workload/command/options.h"

namespace sweetspot::workload::command {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Pair;

trial::Setting setting() {
  trial::Setting setting;
  setting.batch = 96;
  setting.accumulation = 3;
  setting.configuration.precision = "bf16";
  setting.configuration.workers = 4;
  setting.learning_rate = 0.0005;
  return setting;
}

TEST(Template, ExpandsEachPlaceholderWhereverItStands) {
  EXPECT_EQ(
      expand("{batch} {micro_batch} {accumulation} {precision} {workers} {lr} {seed}", setting()),
      "96 32 3 bf16 4 0.0005 1000");
  EXPECT_EQ(expand("data.batch_size={batch},x={batch}", setting()), "data.batch_size=96,x=96");
}

TEST(Template, LeavesEveryOtherBraceAsItIs) {
  EXPECT_EQ(expand("{} {batches} { batch } {{batch}} ${HOME} {", setting()),
            "{} {batches} { batch } {96} ${HOME} {");
}

TEST(Template, SaysWhichPlaceholdersAreUsed) {
  EXPECT_EQ(used({"python", "train.py", "--bs={batch}", "-w", "{workers}"}),
            (Placeholders{"{batch}", "{workers}"}));
  EXPECT_EQ(used({"{batch", "{micro batch}"}), Placeholders{});
}

TEST(Template, GivesTheShellOneLine) {
  Options options;
  options.argv = {"cd", "x", "&&", "./train", "{batch}"};
  EXPECT_THAT(command_line(options, setting()), ElementsAre("cd", "x", "&&", "./train", "96"));
  options.shell = true;
  EXPECT_THAT(command_line(options, setting()), ElementsAre("/bin/sh", "-c", "cd x && ./train 96"));
}

TEST(Template, PutsTheSettingIntoTheEnvironmentAndTheUsersOwnLast) {
  Options options;
  options.environment = {{"SWEETSPOT_LR", "1"}, {"TQDM_MININTERVAL", "5"}};
  const Environment environment = trial_environment(options, setting());
  EXPECT_THAT(environment, Contains(Pair("SWEETSPOT_BATCH", "96")));
  EXPECT_THAT(environment, Contains(Pair("SWEETSPOT_MICRO_BATCH", "32")));
  EXPECT_THAT(environment, Contains(Pair("SWEETSPOT_WORKERS", "4")));
  EXPECT_THAT(environment, Contains(Pair("SWEETSPOT_LR", "1")));
  EXPECT_THAT(environment, Contains(Pair("TQDM_MININTERVAL", "5")));
  EXPECT_THAT(environment, Not(Contains(Pair("SWEETSPOT_LR", "0.0005"))));
}

TEST(Template, ACommandMustSayWhereItsBatchGoes) {
  Options options;
  options.argv = {"python", "train.py"};
  try {
    check(options);
    FAIL() << "it was accepted";
  } catch (const core::InputError& error) {
    EXPECT_WORDS(error.what());
    EXPECT_WORDS(error.what());
  }
  options.batch_from_environment = true;
  EXPECT_NO_THROW(check(options));
  options = {};
  options.argv = {"python", "train.py", "{micro_batch}"};
  EXPECT_NO_THROW(check(options));
  options.argv = {"python train.py --batch $SWEETSPOT_BATCH"};
  EXPECT_NO_THROW(check(options));
  options.argv = {};
  EXPECT_THROW(check(options), core::InputError);
}

Options command() {
  Options options;
  options.argv = {"python", "train.py"};
  return options;
}

std::string refusal(const Options& options) {
  try {
    check(options);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "it was accepted";
}

Template file(const std::string& name, const std::string& text) {
  return {.file = name, .copy = {}, .text = text};
}

TEST(Template, TheRefusalNamesEveryPlaceForTheBatch) { EXPECT_WORDS(refusal(command())); }

TEST(Template, FillsVariablesAndTheFolder) {
  Options options = command();
  options.environment = {{"BATCH_SIZE", "{batch}"}, {"ARGS", "--bs={micro_batch} --c {config}"}};
  options.folder = "runs/{batch}";
  EXPECT_NO_THROW(check(options));
  const Environment environment =
      trial_environment(options, setting(), {{"{config}", "/x/c.yaml"}});
  EXPECT_THAT(environment, Contains(Pair("BATCH_SIZE", "96")));
  EXPECT_THAT(environment, Contains(Pair("ARGS", "--bs=32 --c /x/c.yaml")));
  EXPECT_EQ(trial_folder(options, setting()), "runs/96");
}

TEST(Template, AJsonArgumentIsNoPlaceholder) {
  const std::string json = R"({"lr": 1, "batch": {"batch": 2}, "f": "{x}"})";
  EXPECT_EQ(expand(json, setting(), {{"{config}", "c"}}), json);
  EXPECT_EQ(expand("${batch} {{config}}", setting(), {{"{config}", "c"}}), "$96 {c}");
}

TEST(Template, NamesEachPlaceOfTheBatch) {
  const auto places = [](auto change) {
    Options options = command();
    change(options);
    EXPECT_EQ(refusal(options), "it was accepted");
    return core::joined(batch_destinations(options));
  };
  EXPECT_EQ(places([](Options& o) {
              o.argv.insert(o.argv.end(), {"--bs", "{batch}"});
            }),
            "as argument 3, behind --bs");
  EXPECT_EQ(places([](Options& o) { o.argv.push_back("train.batch_size={batch}"); }),
            "as argument 2 (train.batch_size={batch})");
  EXPECT_EQ(places([](Options& o) {
              o.argv = {"bash", "-c", "cd x && ./t {batch}"};
            }),
            "in the command line");
  EXPECT_EQ(places([](Options& o) {
              o.environment = {{"BS", "{batch}"}};
            }),
            "in the environment variable BS");
  EXPECT_EQ(places([](Options& o) { o.batch_from_environment = true; }),
            "in the environment variable SWEETSPOT_BATCH");
  EXPECT_EQ(places([](Options& o) { o.prepare = "sed -i s/x/{batch}/ y"; }), "in --prepare");
  EXPECT_EQ(places([](Options& o) { o.folder = "runs/{batch}"; }), "in --cwd");
  EXPECT_EQ(places([](Options& o) {
              o.templates = {file("a/c.yaml", "train: {batch_size: 1}")};
              o.edits = {{"train.batch_size", "{batch}"}};
              o.argv.push_back("{config}");
            }),
            "as train.batch_size in c.yaml");
  EXPECT_EQ(places([](Options& o) {
              o.templates = {file(".env", "BS={batch}")};
              o.environment = {{"DOTENV", "{config}"}, {"BS", "{batch}"}};
            }),
            "in the environment variable BS and in .env");
}

TEST(Template, AHookOfNoTrialTakesNoBatch) {
  Options options = command();
  options.argv.push_back("{batch}");
  options.setup = "make B={batch}";
  EXPECT_WORDS(refusal(options));
  options.setup = {}, options.cleanup = "rm {batch}";
  EXPECT_WORDS(refusal(options));
}

TEST(Template, AFileThatNobodyReadsIsRefused) {
  Options options = command();
  options.templates = {file("c.yaml", "batch: {batch}")};
  EXPECT_WORDS(refusal(options));
  options.prepare = "cp {config} here";
  EXPECT_EQ(refusal(options), "it was accepted");
  options.templates.push_back(file("d.yaml", "x: 1"));
  EXPECT_WORDS(refusal(options));
  options.prepare = "cp {config:c.yaml} {config:d.yaml} here";
  EXPECT_EQ(refusal(options), "it was accepted");
}

TEST(Template, AnEditFindsItsFile) {
  Options options = command();
  options.templates = {file("c.yaml", "batch: 1\nlr: 1"),
                       file("d.json", R"({"batch": 1, "x": 2})")};
  options.argv.insert(options.argv.end(), {"{config:c.yaml}", "{config:d.json}"});
  options.edits = {{"batch", "{batch}"}};
  EXPECT_WORDS(refusal(options));
  options.edits = {{"d.json:batch", "{batch}"}, {"lr", "{lr}"}};
  EXPECT_EQ(refusal(options), "it was accepted");
  EXPECT_EQ(filled(options, options.templates[0], setting()), "batch: 1\nlr: 0.0005");
  EXPECT_EQ(filled(options, options.templates[1], setting()), R"({"batch": 96, "x": 2})");
  options.edits = {{"y", "{batch}"}};
  EXPECT_WORDS(refusal(options));
}

TEST(Template, AMissingKeyAndAStrangeFileAreRefused) {
  Options options = command();
  options.argv.push_back("{config}");
  options.edits = {{"batch-size", "{batch}"}};
  EXPECT_WORDS(refusal(options));
  options.templates = {file("c.toml", "[train]\nbatch_size = 1")};
  EXPECT_WORDS(refusal(options));
  options.templates = {file("c.ini", "batch_size = 1")};
  EXPECT_WORDS(refusal(options));
}

// A run's name may have braces of its own.
TEST(Template, AFileEditedByItsKeysKeepsItsBraces) {
  Options options = command();
  options.templates = {file("c.yaml", "name: run-{lr}\nbatch: 1\n")};
  options.edits = {{"batch", "{batch}"}};
  EXPECT_EQ(filled(options, options.templates[0], setting()), "name: run-{lr}\nbatch: 96\n");
  options.edits = {};
  EXPECT_EQ(filled(options, options.templates[0], setting()), "name: run-0.0005\nbatch: 1\n");
}

TEST(Template, AnotherFileIsAnotherQuestion) {
  Options options = command();
  options.argv.push_back("{batch}");
  const std::string plain = identity_json(options);
  EXPECT_THAT(plain, Not(testing::HasSubstr("templates"))) << "studies from before stay known";
  options.templates = {file("c.yaml", "a: 1")};
  const std::string one = identity_json(options);
  options.templates[0].text = "a: 2";
  const std::string other = identity_json(options);
  options.edits = {{"a", "{batch}"}};
  EXPECT_NE(one, other);
  EXPECT_NE(identity_json(options), other);
}

TEST(Template, SuggestsTheVariablesOfLibrariesItSees) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder / "train.py") << "import os, wandb\nfrom transformers.x import y\n";
  std::ofstream(folder / "run.sh") << "exec python3 train.py \"$@\"\n";
  Options options;
  options.folder = folder.path();
  for (const auto& argv : {std::vector<std::string>{"python", "train.py"},
                           {"bash", "run.sh"},
                           {"python", "-m", "train"},
                           {"bash", "-c", "cd . && python train.py"}}) {
    options.argv = argv;
    std::vector<std::string> variables;
    for (const Library& seen : libraries_seen(options)) variables.emplace_back(seen.variable);
    EXPECT_THAT(variables, ElementsAre("WANDB_MODE", "HF_HUB_OFFLINE", "TRANSFORMERS_VERBOSITY"));
  }
  options.environment = {{"WANDB_MODE", "offline"}, {"TRANSFORMERS_VERBOSITY", "info"}};
  EXPECT_EQ(libraries_seen(options).size(), 1u);
  EXPECT_EQ(libraries_in_output("wandb: Tracking run\n", {}).size(), 1u);
  EXPECT_TRUE(libraries_in_output("import wandb\n", {}).empty());
}

TEST(Template, RefusesLimitsThatMakeNoSense) {
  const auto with = [](auto change) {
    Options options;
    options.argv = {"train", "{batch}"};
    change(options);
    return options;
  };
  EXPECT_THROW(check(with([](Options& o) { o.timeout = core::Seconds(0); })), core::InputError);
  EXPECT_THROW(check(with([](Options& o) { o.grace = core::Seconds(-1); })), core::InputError);
  EXPECT_THROW(check(with([](Options& o) { o.samples_per_run = 0; })), core::InputError);
}

}  // namespace
}  // namespace sweetspot::workload::command
