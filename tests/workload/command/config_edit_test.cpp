// --set: changes one value of a YAML, JSON or TOML file, and no other byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "words.h"
#include "workload/command/config/edit.h"

namespace sweetspot::workload::command::config {
namespace {

std::string yaml(const std::string& text, const std::string& key, const std::string& value) {
  return with_value(text, Format::yaml, key, value);
}
std::string json(const std::string& text, const std::string& key, const std::string& value) {
  return with_value(text, Format::json, key, value);
}
std::string toml(const std::string& text, const std::string& key, const std::string& value) {
  return with_value(text, Format::toml, key, value);
}

std::string refusal(Format format, const std::string& text, const std::string& key,
                    const std::string& value = "64") {
  try {
    with_value(text, format, key, value);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "it was accepted";
}

TEST(ConfigYaml, ChangesTheValueAndNothingElse) {
  EXPECT_EQ(yaml("# größe\nname: 'ü' # ä\ntrain:\n    batch_size:   16   # per GPU\n    lr: 1e-3\n",
                 "train.batch_size", "64"),
            "# größe\nname: 'ü' # ä\ntrain:\n    batch_size:   64   # per GPU\n    lr: 1e-3\n");
  EXPECT_EQ(yaml("{train: {batch: 16, lr: 0.1}, x: [1, 2]}", "train.batch", "64"),
            "{train: {batch: 64, lr: 0.1}, x: [1, 2]}");
}

TEST(ConfigYaml, KeepsLineEndsAndByteOrderMark) {
  EXPECT_EQ(yaml("\xef\xbb\xbf"
                 "a: 1\r\nbatch: 16\r\nb: é\r\nlast: 2\r\n",
                 "batch", "8"),
            "\xef\xbb\xbf"
            "a: 1\r\nbatch: 8\r\nb: é\r\nlast: 2\r\n");
  EXPECT_EQ(yaml("a: é\r\nlast: 2", "last", "8"), "a: é\r\nlast: 8");
}

TEST(ConfigYaml, ReachesListsBothWays) {
  const std::string text = "stages:\n- name: warm\n  batch: 8\n- name: main\n  batch: 16\n";
  const std::string wanted = "stages:\n- name: warm\n  batch: 8\n- name: main\n  batch: 32\n";
  EXPECT_EQ(yaml(text, "stages[1].batch", "32"), wanted);
  EXPECT_EQ(yaml(text, "stages.1.batch", "32"), wanted);
  EXPECT_EQ(yaml("sizes: [1, 2, 3]\n", "sizes[2]", "9"), "sizes: [1, 2, 9]\n");
}

TEST(ConfigYaml, TakesKeysWithDots) {
  EXPECT_EQ(yaml("opt:\n  train.batch: 16\n", "opt.train.batch", "4"), "opt:\n  train.batch: 4\n");
  EXPECT_EQ(yaml("'a b': 16\n", "a b", "4"), "'a b': 4\n");
  EXPECT_WORDS(refusal(Format::yaml, "a.b: 1\na:\n  b: 2\n", "a.b"));
}

TEST(ConfigYaml, KeepsAnchorsAndTagsAndReplacesAnAlias) {
  EXPECT_EQ(yaml("bs: &bs 16\nuse: *bs\n", "bs", "64"), "bs: &bs 64\nuse: *bs\n");
  EXPECT_EQ(yaml("bs: &bs 16\nuse: *bs # x\n", "use", "64"), "bs: &bs 16\nuse: 64 # x\n");
  EXPECT_EQ(yaml("bs: !!int &a '16'\n", "bs", "64"), "bs: !!int &a \"64\"\n");
}

TEST(ConfigYaml, SaysWhereAMergedKeyComesFrom) {
  const std::string text = "base: &base\n  batch: 16\ntrain:\n  <<: *base\n  lr: 1\n";
  EXPECT_WORDS(refusal(Format::yaml, text, "train.batch"));
  EXPECT_WORDS(refusal(Format::yaml, "base: &b {batch: 1}\ntrain: *b\n", "train.batch"));
  EXPECT_WORDS(refusal(Format::yaml, "base: &b {batch: 1}\ntrain: {<<: [*b]}\n", "train.batch"));
}

TEST(ConfigYaml, ReplacesTextsOfSeveralLinesAndNone) {
  EXPECT_EQ(yaml("note: |\n  two\n  lines\nbatch: 16\n", "batch", "8"),
            "note: |\n  two\n  lines\nbatch: 8\n");
  EXPECT_EQ(yaml("batch: |\n  16\nlast: 1\n", "batch", "8"), "batch: 8\nlast: 1\n");
  EXPECT_EQ(yaml("batch: one\n  two\nlast: 1\n", "batch", "8"), "batch: 8\nlast: 1\n");
  EXPECT_EQ(yaml("batch:\nlast: 1\n", "batch", "8"), "batch: 8\nlast: 1\n");
  EXPECT_EQ(yaml("batch: # none yet\nlast: 1\n", "batch", "8"), "batch: 8 # none yet\nlast: 1\n");
  EXPECT_EQ(yaml("batch: ~\n", "batch", "8"), "batch: 8\n");
}

TEST(ConfigYaml, WritesAStringWhereTheValueIsNoneByItself) {
  EXPECT_EQ(yaml("name: a\n", "name", "tune-64"), "name: tune-64\n");
  EXPECT_EQ(yaml("name: a\n", "name", "tune: 64 # x"), "name: \"tune: 64 # x\"\n");
  EXPECT_EQ(yaml("name: a\n", "name", ""), "name: \"\"\n");
  EXPECT_EQ(yaml("name: a\n", "name", "[64, 8]"), "name: [64, 8]\n");
  EXPECT_EQ(yaml("{name: a}\n", "name", "b, c: d"), "{name: \"b, c: d\"}\n");
  EXPECT_EQ(yaml("name: a\n", "name", "*x"), "name: \"*x\"\n");
}

TEST(Config, ANumberInQuotationMarksStaysInThem) {
  EXPECT_EQ(yaml("batch: '16'\n", "batch", "64"), "batch: \"64\"\n");
  EXPECT_EQ(json(R"({"batch": "16"})", "batch", "64"), R"({"batch": "64"})");
  EXPECT_EQ(toml("batch = '16'\n", "batch", "64"), "batch = \"64\"\n");
  EXPECT_EQ(json(R"({"train_batch_size": "auto"})", "train_batch_size", "64"),
            R"({"train_batch_size": 64})")
      << "as DeepSpeed's configuration has it";
}

TEST(Config, TheLastOfEqualKeysIsTheOneThatCounts) {
  EXPECT_EQ(yaml("batch: 1\nbatch: 2\n", "batch", "64"), "batch: 1\nbatch: 64\n");
  EXPECT_EQ(json(R"({"batch": 1, "batch": 2})", "batch", "64"), R"({"batch": 1, "batch": 64})");
}

TEST(ConfigJson, ChangesTheValueAndNothingElse) {
  const std::string text =
      "{\n\t\"name\" : \"q\\\"\\ud83d\\ude00\",\r\n\t\"data\" : [ {\"n\": 1.5e3} , null,true ],\n"
      "\t\"train\":{ \"batch\" :16 ,\"lr\":0.1}}\n";
  std::string wanted = text;
  wanted.replace(wanted.find("16"), 2, "128");
  EXPECT_EQ(json(text, "train.batch", "128"), wanted);
  wanted = text;
  wanted.replace(wanted.find("1.5e3"), 5, "7");
  EXPECT_EQ(json(text, "data[0].n", "7"), wanted);
  wanted = text;
  wanted.replace(wanted.find("true"), 4, "false");
  EXPECT_EQ(json(text, "data.2", "false"), wanted);
  wanted = text;
  wanted.replace(wanted.find("null"), 4, "\"run 8\"");
  EXPECT_EQ(json(text, "data[1]", "run 8"), wanted);
  EXPECT_EQ(json("[16, 2]", "0", "4"), "[4, 2]");
}

TEST(ConfigJson, PassesOverComments) {
  EXPECT_EQ(json("{ // \"batch\": 1,\n \"batch\": /* 2, */ 16 // 3\n}", "batch", "64"),
            "{ // \"batch\": 1,\n \"batch\": /* 2, */ 64 // 3\n}");
}

TEST(ConfigToml, ChangesTheValueAndNothingElse) {
  const std::string text =
      "# größe\ntitle = \"ü\"\r\n[tool.train]\nbatch-size = 16 # per GPU\nrate = 1e-3\n"
      "[[stage]]\nbatch = 1_000\n[[stage]]\nname = \"é\" \nbatch = 8\nopt = { a.b = 3, c = [1,2] "
      "}\n";
  const auto wanted = [&](const std::string& before, const std::string& after) {
    std::string changed = text;
    changed.replace(changed.find(before), before.size(), after);
    return changed;
  };
  EXPECT_EQ(toml(text, "tool.train.batch-size", "64"), wanted("16", "64"));
  EXPECT_EQ(toml(text, "stage[0].batch", "4"), wanted("1_000", "4"));
  EXPECT_EQ(toml(text, "stage.1.batch", "4"), wanted("batch = 8", "batch = 4"));
  EXPECT_EQ(toml(text, "stage.1.name", "run 7"), wanted("\"é\"", "\"run 7\""));
  EXPECT_EQ(toml(text, "stage.1.opt.a.b", "9"), wanted("3,", "9,"));
  EXPECT_EQ(toml(text, "stage.1.opt.c[1]", "9"), wanted("1,2", "1,9"));
  EXPECT_EQ(toml("\xef\xbb\xbf"
                 "batch = 16",
                 "batch", "8"),
            "\xef\xbb\xbf"
            "batch = 8");
  EXPECT_EQ(toml("x = '''\na\nb'''\nbatch=16\n", "x", "7"), "x = 7\nbatch=16\n");
}

TEST(Config, AMissingKeyIsRefusedWithTheNearest) {
  const std::string text = "train:\n  batch_size: 16\n  lr: 1\neval:\n  batch: 4\n";
  EXPECT_EQ(refusal(Format::yaml, text, "train.batchsize"),
            "train.batchsize is not there; the nearest are train.batch_size, eval.batch and "
            "train.lr");
  EXPECT_WORDS(refusal(Format::yaml, text, "batch_size"));
  EXPECT_WORDS(refusal(Format::json, R"({"a": {"batch": 1}})", "batch"));
  EXPECT_WORDS(refusal(Format::toml, "[a]\nbatch = 1\n", "batch"));
  EXPECT_WORDS(refusal(Format::yaml, "", "batch"));
}

TEST(Config, AMapOrListIsNoValue) {
  EXPECT_WORDS(refusal(Format::yaml, "train:\n  batch: 1\n", "train"));
  EXPECT_WORDS(refusal(Format::yaml, "b: &b {c: 1}\ntrain: *b\n", "train"));
  EXPECT_WORDS(refusal(Format::json, R"({"train": [1]})", "train"));
  EXPECT_WORDS(refusal(Format::toml, "[train]\nbatch = 1\n", "train"));
}

TEST(Config, WhatCannotBeReadIsRefusedByLine) {
  EXPECT_WORDS(refusal(Format::yaml, "a: 1\nb: [1\n", "a"));
  EXPECT_WORDS(refusal(Format::json, "{\"a\": 1,\n \"b\" 2}", "a"));
  EXPECT_WORDS(refusal(Format::toml, "a = 1\nb = = 2\n", "a"));
  EXPECT_WORDS(refusal(Format::yaml, std::string(5000, '['), "a"));
  EXPECT_NE(refusal(Format::json, std::string(100000, '['), "a"), "it was accepted");
  EXPECT_NE(refusal(Format::toml, "a = " + std::string(5000, '['), "a"), "it was accepted");
  EXPECT_NE(refusal(Format::yaml, std::string("a: 1\0b", 6), "a"), "it was accepted");
}

TEST(Config, IsKnownByItsEnding) {
  EXPECT_EQ(format_of("a/b.YML"), Format::yaml);
  EXPECT_EQ(format_of("pyproject.toml"), Format::toml);
  EXPECT_EQ(format_of("ds_config.json"), Format::json);
  EXPECT_EQ(format_of("config.yaml.in"), Format::yaml);
  EXPECT_EQ(format_of("train.cfg"), std::nullopt);
}

}  // namespace
}  // namespace sweetspot::workload::command::config
