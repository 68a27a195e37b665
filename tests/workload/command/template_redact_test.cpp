#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "temporary_folder.h"
#include "workload/command/options.h"
#include "workload/command/redact.h"

namespace sweetspot::workload::command {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(Redact, KnowsASecretByItsName) {
  for (const char* name :
       {"--api-key", "--apiKey", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "token",
        "db.password", "--credentials", "MYSQL_PWD", "--client_secret", "APIKEY", "--key"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"--batch-size", "--tokenizer", "--max-tokens", "--pad-token", "PWD",
                           "--label-key", "keyboard", "--key-dim", "", "--", "PATH"})
    EXPECT_FALSE(is_secret_name(name)) << name;
}

TEST(Redact, HidesValuesOfArguments) {
  EXPECT_THAT(
      redacted({"train", "--api-key", "abc123", "--token=xyz 12", "--batch", "64"}),
      ElementsAre("train", "--api-key", "[redacted]", "--token=[redacted]", "--batch", "64"));
  EXPECT_THAT(
      redacted({"wandb.api_key=abc", "--max-token", "512", "--token", "--verbose"}),
      ElementsAre("wandb.api_key=[redacted]", "--max-token", "512", "--token", "--verbose"));
}

TEST(Redact, HidesWhatStandsInAShellsLine) {
  EXPECT_EQ(redacted("HF_TOKEN=hf_1 python t.py --password 'a b' --lr 1"),
            "HF_TOKEN=[redacted] python t.py --password [redacted] --lr 1");
  EXPECT_EQ(redacted("curl -H 'Authorization: x' https://h/p?token=abc&n=1"),
            "curl -H 'Authorization: x' https://h/p?token=[redacted]&n=1");
  EXPECT_EQ(redacted("curl -H Authorization: Bearer abcd"),
            "curl -H Authorization: Bearer [redacted]");
}

TEST(Redact, HidesUsersOfAddresses) {
  EXPECT_EQ(redacted("postgresql://me:pa:ss@db/x"), "postgresql://me:[redacted]@db/x");
  EXPECT_EQ(redacted("https://ghp_12345@github.com/a/b"), "https://[redacted]@github.com/a/b");
  EXPECT_EQ(redacted("ssh://git@github.com/a https://h:80/@x"),
            "ssh://git@github.com/a https://h:80/@x");
  EXPECT_EQ(redacted("a:// b://@ c://:@"), "a:// b://@ c://:@");
}

TEST(Redact, HidesTheEnvironmentsSecrets) {
  EXPECT_THAT(redacted(Environment{{"HF_TOKEN", "abc"}, {"SEED", "1"}, {"DB", "pg://u:p@h"}}),
              ElementsAre(Pair("HF_TOKEN", "[redacted]"), Pair("SEED", "1"),
                          Pair("DB", "pg://u:[redacted]@h")));
}

TEST(Redact, FindsTheSecretsInWhatAProgramPrints) {
  ::setenv("SWEETSPOT_TEST_API_KEY", "inherited-value", 1);
  Options options;
  options.argv = {"train", "--token", "s3cret-long", "--password=s3cret"};
  options.environment = {{"MY_SECRET", "from-env"}};
  const Secrets secrets(options);
  ::unsetenv("SWEETSPOT_TEST_API_KEY");
  EXPECT_EQ(secrets.redact("got s3cret-long, s3cret, from-env and inherited-value"),
            "got [redacted], [redacted], [redacted] and [redacted]");
}

TEST(Identity, HasNoSecretsAndTellsProgramsApart) {
  Options options;
  options.argv = {"python", "train.py", "--api-key", "abc123", "{batch}"};
  options.environment = {{"HF_TOKEN", "hf_abc"}};
  options.prepare = "TOKEN=def456 ./prepare";
  const std::string identity = identity_json(options);
  EXPECT_THAT(identity, AllOf(Not(HasSubstr("abc123")), Not(HasSubstr("hf_abc")),
                              Not(HasSubstr("def456")), HasSubstr("{batch}")));
  EXPECT_EQ(identity, identity_json(options));
  Options other = options;
  other.environment.emplace_back("SEED", "2");
  EXPECT_NE(identity, identity_json(other));
  other = options;
  other.folder = "/";
  EXPECT_NE(identity, identity_json(other));
  other = options;
  other.timeout = core::Seconds(7);  // a timeout does not change the study key
  EXPECT_EQ(identity, identity_json(other));
}

TEST(Identity, ChangesWithTheScript) {
  const tests::TemporaryFolder folder;
  const auto identity_of = [&](const char* text) {
    std::ofstream(folder / "train.py") << text;
    Options options;
    options.argv = {"python", "train.py", "{batch}"};
    options.folder = folder.path();
    return identity_json(options);
  };
  const std::string before = identity_of("a");
  EXPECT_NE(before, identity_of("b"));
  EXPECT_EQ(before, identity_of("a"));
}

TEST(Title, IsShortAndHasNoSecrets) {
  Options options;
  options.argv = {"train", "--token", "abc123", "\033[31m"};
  EXPECT_EQ(title(options), "train --token [redacted] \\x1b[31m");
  std::string many(78, 'a');
  many += "ééééé";
  options.argv = {"train", many};
  EXPECT_LE(title(options).size(), 84u);
  EXPECT_THAT(title(options), testing::EndsWith("…"));
}

}  // namespace
}  // namespace sweetspot::workload::command
