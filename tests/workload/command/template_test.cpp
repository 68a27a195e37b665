#include "workload/command/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"

namespace sweetspot::workload::command {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

trial::Setting setting() {
  trial::Setting setting;
  setting.batch = 96;
  setting.accumulation = 3;
  setting.precision = "bf16";
  setting.workers = 4;
  setting.learning_rate = 0.0005;
  return setting;
}

TEST(Template, ExpandsEachPlaceholderWhereverItStands) {
  EXPECT_EQ(expand("{batch} {micro_batch} {accumulation} {precision} {workers} {lr}", setting()),
            "96 32 3 bf16 4 0.0005");
  EXPECT_EQ(expand("data.batch_size={batch},x={batch}", setting()), "data.batch_size=96,x=96");
}

TEST(Template, LeavesEveryOtherBraceAsItIs) {
  EXPECT_EQ(expand("{} {batches} { batch } {{batch}} ${HOME} {", setting()),
            "{} {batches} { batch } {96} ${HOME} {");
}

TEST(Template, SaysWhichPlaceholdersAreUsed) {
  EXPECT_EQ(used({"python", "train.py", "--bs={batch}", "-w", "{workers}"}),
            (Placeholders{.batch = true, .workers = true}));
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
    EXPECT_THAT(error.what(), HasSubstr("{batch}"));
    EXPECT_THAT(error.what(), HasSubstr("--batch-from-env"));
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
