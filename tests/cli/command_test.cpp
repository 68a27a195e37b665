// Training programs after -- through the real binary.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/support.h"
#include "core/units.h"
#include "integrity.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string programs = SWEETSPOT_SOURCE_DIR "/tests/fixtures/programs/";

struct Command : testing::Test {
  TemporaryFolder folder;

  Finished sweetspot(std::vector<std::string> arguments) {
    Launch made;
    made.arguments = std::move(arguments);
    made.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C"}};
    made.environment["PYTHONPATH"] = SWEETSPOT_SOURCE_DIR "/clients/python";
    made.folder = folder.path().string();
    return run(made);
  }
};

// A command that is wider than the screen goes on in the next line, as a shell takes it: how wide
// it is depends on the folder of these tests.
std::string on_one_line(std::string out) {
  constexpr std::string_view broken = " \\\n    ";
  for (std::size_t at = 0; (at = out.find(broken)) != std::string::npos;)
    out.replace(at, broken.size(), " ");
  return out;
}

TEST_F(Command, ASweepMeasuresAProgramByItsOutput) {
  const Finished finished = sweetspot(
      {"sweep", "--batch", "4,8", "--json", "--", "python3", programs + "bar.py", "{batch}"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  ASSERT_EQ(json["trials"].size(), 2u);
  for (const Json& trial : json["trials"]) {
    EXPECT_EQ(trial["outcome"], "ok");
    EXPECT_EQ(trial["step_source"], "tqdm bar");
    EXPECT_GT(trial["start_up_seconds"], 0.0);
    EXPECT_GT(trial["cpu_seconds"], 0.0);
    EXPECT_TRUE(trial["memory_bytes"]["measured"].is_number()) << trial.dump();
    // It sleeps 2 ms a step and never less.
    const double batch = trial["setting"]["batch"];
    EXPECT_LT(trial["samples_per_second"]["mean"], 2 * batch / 0.002);  // lines may come late
  }
}

// The command alone filled the line.
TEST_F(Command, ALongCommandLeavesRoomForWhatHappens) {
  Launch made;
  made.arguments = {"sweep",   "--batch",           "4",       "--",
                    "python3", programs + "bar.py", "{batch}", "20000",
                    "0.002",   std::string(90, 'x')};
  made.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}};
  made.folder = folder.path().string();
  made.terminal = true, made.columns = 80;
  EXPECT_THAT(run(made).err, testing::ContainsRegex("… [^\r\n]* batch 4, "));
}

TEST_F(Command, TuneEndsInTheProgramsOwnCommand) {
  const Finished finished = sweetspot({"tune", "--max", "8", "--min", "4", "--multiple-of", "4",
                                       "--", "python3", programs + "bar.py", "{batch}"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(on_one_line(finished.out), HasSubstr("\n  python3 " + programs + "bar.py 8\n"));
  EXPECT_THAT(sweetspot({"report", "--markdown"}).out,
              HasSubstr("```sh\npython3 " + programs + "bar.py 8\n```"));
}

TEST_F(Command, TheSameCommandGoesOnWhereItWas) {
  const std::vector<std::string> command{
      "tune",   "--max", "8", "--min", "8", "--json", "--", "python3", programs + "bar.py",
      "{batch}"};
  EXPECT_EQ(json_of(sweetspot(command))["cost"]["resumed_trials"], 0);
  const std::string taken(64 << 20, 'x');  // what is free meanwhile does not matter
  const Json again = json_of(sweetspot(command));
  EXPECT_EQ(again["cost"]["resumed_trials"], again["trials"].size()) << taken.size();
}

TEST_F(Command, NothingIsMeasuredWithoutTheProgramThatCalls) {
  expect_sentence(sweetspot({"tune", "--attach", "99", "--", "train({batch})"}), 2);
}

TEST_F(Command, ASessionEndsInTheVariableThatSetsItsBatch) {
  Launch made;
  made.arguments = {"tune",
                    "--min",
                    "4",
                    "--max",
                    "4",
                    "--batch-from-env",
                    "--env",
                    "SWEETSPOT_TEST_STARTS=starts",
                    "--",
                    "python3",
                    programs + "session.py"};
  made.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C"}};
  made.environment["PYTHONPATH"] = SWEETSPOT_SOURCE_DIR "/clients/python";
  made.folder = folder.path().string();
  const Finished finished = run(made);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(on_one_line(finished.out),
              HasSubstr("\n  SWEETSPOT_BATCH=4 SWEETSPOT_TEST_STARTS=starts python3 " + programs +
                        "session.py\n"));
}

TEST_F(Command, AFailingBatchIsATrialAndItsSecretsAreKeptOut) {
  const Finished finished =
      sweetspot({"sweep", "--batch", "8,64", "--json", "--env", "API_TOKEN=topsecret", "--",
                 "python3", programs + "faulty.py", "exits_1", "{batch}"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  ASSERT_EQ(json["trials"].size(), 2u);
  EXPECT_EQ(json["trials"][0]["outcome"], "ok");
  EXPECT_EQ(json["trials"][1]["outcome"], "crashed");
  EXPECT_WORDS(json["trials"][1]["note"].get<std::string>());
  EXPECT_THAT(found_in(finished.out + finished.err, {"topsecret"}), IsEmpty());
  EXPECT_EQ(integrity(folder / "sweetspot.db"), "ok");
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_THAT(found_in(read_file(entry.path()), {"topsecret"}), IsEmpty()) << entry.path();
}

TEST_F(Command, AProgramThatShowsNoStepIsToldHowToShowThem) {
  const Finished finished = sweetspot({"tune", "--max", "4", "--json", "--", "true", "{batch}"});
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
  const Json json = json_of(finished);
  for (const Json& trial : json["trials"]) EXPECT_EQ(trial["outcome"], "refused");
  EXPECT_WORDS(last_sentence(finished));
}

TEST_F(Command, TheExpressionThatIsOfferedReadsTheSteps) {
  const std::vector<std::string> program = {
      "--", "sh",     "-c", "for i in $(seq 0 20 800); do echo \"i=$i loss=0.3\"; sleep 0.01; done",
      "sh", "{batch}"};
  std::vector<std::string> arguments = {"tune", "--min", "1", "--max", "1", "--terminal", "no"};
  std::vector<std::string> asked = arguments;
  asked.insert(asked.end(), program.begin(), program.end());
  const std::string offered = "--steps-regex '\\bi=(\\d+)'";
  EXPECT_THAT(sweetspot(asked).err, HasSubstr(offered));
  arguments.insert(arguments.end(), {"--steps-regex", "\\bi=(\\d+)", "--json"});
  arguments.insert(arguments.end(), program.begin(), program.end());
  const Finished finished = sweetspot(arguments);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(json_of(finished)["trials"][0]["outcome"], "ok");
}

TEST_F(Command, TheBudgetEndsATrialThatGoesOn) {
  const Finished finished = sweetspot({"tune", "--min", "64", "--budget", "1s", "--json", "--",
                                       "python3", programs + "faulty.py", "hangs", "{batch}"});
  EXPECT_EQ(finished.exit_code, 4) << finished.err;
  EXPECT_EQ(json_of(finished)["status"], "budget");
  EXPECT_EQ(json_of(finished)["trials"].size(), 0u);
  EXPECT_WORDS(last_sentence(finished));
}

TEST_F(Command, AJobThatIsEndedAsAWholeBlamesNoBatch) {
  const Finished finished =
      sweetspot({"sweep", "--batch", "64", "--json", "--cleanup", "touch tidy", "--", "python3",
                 programs + "faulty.py", "is_ended_with_sweetspot", "{batch}"});
  EXPECT_EQ(finished.exit_code, 143) << finished.err;
  EXPECT_EQ(json_of(finished)["status"], "stopped");
  EXPECT_EQ(json_of(finished)["trials"].size(), 0u);
  EXPECT_TRUE(fs::exists(folder / "tidy"));
}

// 1 MiB a sample: the interpreter and 200 samples cannot be in 200 MiB.
TEST_F(Command, WhatIsPredictedNotToFitIsNeverRun) {
  const Finished finished =
      sweetspot({"tune", "--for", "max-batch", "--min", "64", "--max", "4096", "--multiple-of",
                 "32", "--memory-limit", "200MiB", "--precision-of-estimate", "50%", "--json", "--",
                 "python3", programs + "holds.py", "{batch}", "runs"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  EXPECT_EQ(json["cost"]["out_of_memory"], 0);
  EXPECT_GE(json["recommendation"]["batch"], 96);
  EXPECT_LT(json["recommendation"]["batch"], 200);
  std::size_t predicted = 0;
  for (const Json& trial : json["trials"]) {
    const Json& memory = trial["memory_bytes"];
    if (memory["predicted"].is_null()) continue;
    ++predicted;
    EXPECT_NEAR(memory["predicted"].get<double>(), memory["measured"].get<double>(), 16 << 20);
  }
  EXPECT_EQ(predicted, json["trials"].size() - 2);  // a line needs two
  std::istringstream runs(read_file(folder / "runs"));
  for (std::int64_t batch = 0; runs >> batch;) EXPECT_LT(batch, 200);
}

TEST_F(Command, ACleanupThatFailsIsToldAfterTheAnswer) {
  const Finished finished = sweetspot({"sweep", "--batch", "4", "--json", "--cleanup", "exit 3",
                                       "--", "python3", programs + "bar.py", "{batch}"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_WORDS(last_sentence(finished));
  EXPECT_EQ(json_of(finished)["status"], "finished");
}

TEST_F(Command, ADryRunShowsAndRunsNothing) {
  const Finished finished =
      sweetspot({"tune", "--dry-run", "--min", "16", "--prepare", "touch made-{batch}", "--env",
                 "A_KEY=hidden", "--", "touch", "made", "--password", "hunter2", "{batch}"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(found_in(finished.out + finished.err, {"hunter2", "hidden"}), IsEmpty());
  EXPECT_WORDS(finished.out);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST_F(Command, WhatCannotBeRunIsOneSentence) {
  expect_sentence(sweetspot({"tune", "--"}), 2);
  expect_sentence(sweetspot({"train", "--", "python3"}), 2);
  expect_sentence(sweetspot({"tune", "--", "no-such-program", "{batch}"}), 2);
  expect_sentence(sweetspot({"tune", "--", "python3", "train.py"}), 2);
  expect_sentence(sweetspot({"tune", "python3", "train.py"}), 2);
  expect_sentence(sweetspot({"tune", "--cwd", "nowhere", "--", "true", "{batch}"}), 2);
  expect_sentence(sweetspot({"tune", "--steps-regex", "(", "--", "true", "{batch}"}), 2);
  expect_sentence(sweetspot({"tune", "--env", "A", "--", "true", "{batch}"}), 2);
}

TEST_F(Command, FlagsOfTheOtherKindAreToldNotIgnored) {
  expect_sentence(sweetspot({"tune", "--model", "mlp", "--", "true", "{batch}"}), 2);
  expect_sentence(sweetspot({"tune", "--prepare", "true"}), 2);
  expect_sentence(sweetspot({"sweep", "--dry-run"}), 2);
  expect_sentence(sweetspot({"tune", "--global-batch", "64", "--", "true", "{batch}"}), 2);
  expect_sentence(sweetspot({"tune", "--global-batch", "64", "--for", "max-batch"}), 2);
  EXPECT_FALSE(fs::exists(folder / "sweetspot.db"));
}

TEST_F(Command, AnIgnoredBatchIsAskedAboutNotMultiplied) {
  const Finished finished =
      sweetspot({"tune", "--repeat", "1", "--precision-of-estimate", "20%", "--json", "--",
                 "python3", programs + "log.py", "{batch}", "ignores"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  const Json json = json_of(finished);
  EXPECT_EQ(json["status"], "batch_unconfirmed");
  EXPECT_TRUE(json["recommendation"].is_null());
  EXPECT_TRUE(json["measured"].is_null());
  EXPECT_EQ(json["doubt"]["doubt"], "ignored");
  EXPECT_WORDS(without_numbers(last_sentence(finished)));
  EXPECT_EQ(json["trials"].size(), 3u) << "what was measured is kept";
  const Finished shown = sweetspot({"studies", "show", "1"});
  EXPECT_THAT(shown.out, HasSubstr(json["doubt"]["text"].get<std::string>()));
  EXPECT_TRUE(json_of(sweetspot({"studies", "show", "1", "--json"}))["answer"].is_null());
}

TEST_F(Command, NothingThatMovesIsNoAnswerUnlessTheUserSaysSo) {
  const auto tune = [&](std::vector<std::string> flags) {
    std::vector<std::string> all{"tune",
                                 "--repeat",
                                 "1",
                                 "--max",
                                 "16",
                                 "--precision-of-estimate",
                                 "20%",
                                 "--json",
                                 "--steps-regex",
                                 R"(update (\d+))"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "python3", programs + "log.py", "{batch}", "uncounted"});
    return sweetspot(all);
  };
  const Finished asked = tune({});
  EXPECT_EQ(asked.exit_code, 2) << asked.err;
  EXPECT_EQ(json_of(asked)["doubt"]["doubt"], "silent");
  const Finished told = tune({"--batch-arrives"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(json_of(told)["recommendation"]["batch"], 16);
  EXPECT_EQ(json_of(told)["cost"]["resumed_trials"], json_of(asked)["trials"].size());
}

TEST_F(Command, ASweepOfAnIgnoredBatchEndsInTheSameQuestion) {
  const Finished finished =
      sweetspot({"sweep", "--batch", "1,16,64", "--precision-of-estimate", "20%", "--", "python3",
                 programs + "log.py", "{batch}", "ignores"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_WORDS(without_numbers(last_sentence(finished)));
  EXPECT_EQ(headings_of(finished.out).find('\n'), headings_of(finished.out).size() - 1)
      << "no word of a fastest";
}

TEST_F(Command, TheAnswerDoesNotExceedAClamp) {
  const Finished finished =
      sweetspot({"tune", "--repeat", "1", "--precision-of-estimate", "20%", "--json", "--",
                 "python3", programs + "log.py", "{batch}", "clamps"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json made = json_of(finished)["recommendation"];
  EXPECT_LE(made["batch"], 64);
  EXPECT_EQ(made["clamp_batch"], 64);
}

TEST_F(Command, StepsAreNotTheLinesThatTellOfThem) {
  const Finished finished = sweetspot({"sweep", "--batch", "4", "--precision-of-estimate", "20%",
                                       "--json", "--", "python3", programs + "log.py", "{batch}"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json trial = json_of(finished)["trials"][0];
  // A line tells of four; on a busy machine two lines may be read at once.
  EXPECT_EQ(trial["steps"].get<std::int64_t>() % 4, 0);
  EXPECT_GE(trial["steps"], 4 * trial["timings"].get<std::int64_t>());
  EXPECT_EQ(trial["steps_total"], 15000);
  const std::vector<Cells> rows = cells_of(sweetspot({"studies", "show", "1"}).out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_WORDS(without_numbers(rows[1].at(4)));
}

// It was "finished", and the same command told of the typo again without running anything.
TEST_F(Command, AProgramThatWasMendedIsMeasuredAnew) {
  const std::string script = (folder.path() / "train.py").string();
  const auto tune = [&] {
    return sweetspot({"tune", "--min", "4", "--max", "8", "--repeat", "1",
                      "--precision-of-estimate", "20%", "--json", "--", "python3", script,
                      "{batch}"});
  };
  const fs::path module = folder.path() / "training.py";  // an edited script is another question
  write_file(script, "import training\n");
  write_file(module, "imprt sys\n");
  EXPECT_EQ(tune().exit_code, 3);
  EXPECT_EQ(json_of(sweetspot({"studies", "list", "--json"}))["studies"][0]["state"], "stopped");
  write_file(module, "import runpy\nrunpy.run_path('" + programs + "log.py')\n");
  const Finished mended = tune();
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_WORDS(mended.err.substr(0, mended.err.find('\n')));
  EXPECT_EQ(json_of(mended)["cost"]["resumed_trials"], 0);
}

TEST_F(Command, AFailureIsAShortReasonAndItsLastLinesOnce) {
  const Finished finished = sweetspot({"tune", "--min", "64", "--max", "64", "--", "python3",
                                       programs + "faulty.py", "lacks_a_module", "{batch}"});
  EXPECT_EQ(finished.exit_code, 3);
  const std::string reason =
      "exit code 1: ModuleNotFoundError: No module named 'sweetspot_lacks_this'";
  EXPECT_EQ(cells_of(finished.out).at(1).back(), "crashed: " + reason);
  const std::size_t block = finished.out.find("\n  Traceback (most recent call last):\n    File ");
  ASSERT_NE(block, std::string::npos) << finished.out;
  EXPECT_EQ(finished.out.find("Traceback", block + 4), std::string::npos) << "once";
  EXPECT_THAT(finished.err, AllOf(HasSubstr(reason), Not(HasSubstr("Traceback"))));
  const Finished trial = sweetspot({"studies", "show", "1", "1"});
  EXPECT_THAT(trial.out, AllOf(HasSubstr("\n  about to import\n"), HasSubstr(reason)));
  expect_sentence(sweetspot({"studies", "show", "1", "7"}), 2);
  EXPECT_THAT(sweetspot({"report", "--markdown"}).out,
              HasSubstr("\n    Traceback (most recent call last):\n      File "));
  const Json json = json_of(sweetspot({"studies", "show", "1", "1", "--json"}))["trial"];
  EXPECT_EQ(json["note"], reason);
  EXPECT_THAT(json["last_output"].get<std::string>(), HasSubstr("\nTraceback"));
}

TEST_F(Command, TheAdviceComesBeforeTheBudgetIsSpent) {
  const Finished finished =
      sweetspot({"tune", "--budget", "12s", "--terminal", "no", "--json", "--", "python3",
                 programs + "chatter.py", "{batch}", "checkpoint"});
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
  EXPECT_WORDS(without_numbers(last_sentence(finished)));
  EXPECT_FALSE(fs::exists(folder / "checkpoint"));
}

TEST_F(Command, TheBatchOfEachGpuIsHandedOver) {
  const Finished finished =
      sweetspot({"tune", "--max", "8", "--min", "4", "--gpus", "2", "--batch-is", "per-gpu",
                 "--repeat", "1", "--precision-of-estimate", "50%", "--multiple-of", "4", "--",
                 "python3", programs + "bar.py", "{batch}"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json made = json_of(sweetspot({"report", "--json"}))["recommendation"];
  EXPECT_EQ(made["batch"], 8);
  EXPECT_EQ(made["gpus"], 2);
  EXPECT_THAT(on_one_line(finished.out), HasSubstr("\n  python3 " + programs + "bar.py 4\n"));
  expect_sentence(sweetspot({"sweep", "--batch", "3", "--gpus", "2", "--batch-is", "per-gpu", "--",
                             "python3", programs + "bar.py", "{batch}"}),
                  2);
}

// A made-up GPU of 16 GiB (fake_nvml/folder.h) on which a batch takes 100 MB a sample. In the
// second round it is known that batch 8 does not fit, whatever the order of the first.
TEST_F(Command, AMemoryLimitMayBeOfTheGpu) {
  fs::create_directory(folder / "gpu0");
  write_file(folder / "train.sh",
             "exec 9>$FAKE_NVML_FOLDER/nvidiactl\n"
             "echo $((500000000 + $1 * 100000000)) > $FAKE_NVML_FOLDER/gpu0/$$\n"
             "i=0; while :; do i=$((i+1)); echo step $i/100000; sleep 0.00$1; done\n");
  Launch made;
  made.arguments = {"sweep",
                    "--batch",
                    "1,8",
                    "--repeat",
                    "2",
                    "--json",
                    "--precision-of-estimate",
                    "50%",
                    "--memory-limit",
                    "host=8GiB,gpu=1GiB",
                    "--",
                    "sh",
                    "train.sh",
                    "{batch}"};
  made.environment = {{"SWEETSPOT_DB", ""},
                      {"LC_ALL", "C"},
                      {"SWEETSPOT_NVML", FAKE_NVML},
                      {"FAKE_NVML_FOLDER", folder.path().string()}};
  made.folder = folder.path().string();
  const Json json = json_of(run(made));
  ASSERT_EQ(json["trials"].size(), 4u);
  EXPECT_EQ(json["limits"]["memory_bytes"], std::uint64_t{1} << 30);
  int refused = 0;
  for (const Json& trial : json["trials"]) {
    const std::uint64_t batch = trial["setting"]["batch"];
    if (trial["outcome"] == "refused") {
      EXPECT_EQ(batch, 8u);
      EXPECT_EQ(trial["note"], "1.2 GiB predicted, 1.0 GiB allowed");
      ++refused;
      continue;
    }
    EXPECT_EQ(trial["device"], "cuda:0");
    EXPECT_EQ(trial["memory_bytes"]["measured"], 500'000'000 + batch * 100'000'000);
    EXPECT_EQ(trial["memory_bytes"]["source"], "NVML, of 1 process");
    EXPECT_EQ(trial["gpus"][0]["name"], "NVIDIA Made-Up");
  }
  EXPECT_EQ(refused, 1);
}

TEST_F(Command, AMemoryLimitOfNoKnownDeviceIsRefused) {
  const auto with = [&](std::vector<std::string> limits) {
    std::vector<std::string> arguments = {"tune"};
    for (const std::string& limit : limits)
      arguments.insert(arguments.end(), {"--memory-limit", limit});
    arguments.insert(arguments.end(), {"--", "true", "{batch}"});
    return sweetspot(arguments);
  };
  expect_sentence(with({"tpu=3GiB"}), 2);
  expect_sentence(with({"gpu=3GiB", "gpu=4GiB"}), 2);
  expect_sentence(with({"gpu=much"}), 2);
}

// Above its cap it dies as PyTorch does.
constexpr std::string_view capped_program = R"py(
import sys, time
batch, grows = int(sys.argv[1]), len(sys.argv) > 2
held = 0.9 + 0.03 * batch
for step in range(1, 100000):
    if held + (grows and step > 150) * 14 > 16:
        sys.stderr.write("Traceback (most recent call last):\n"
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
            "total capacity of 139.80 GiB of which 125.20 GiB is free. Including non-PyTorch "
            "memory, this process has 15.60 GiB memory in use. 16.00 GiB allowed; Of the allocated "
            "memory 14.80 GiB is allocated by PyTorch, and 180.50 MiB is reserved by PyTorch but "
            "unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n")
        sys.exit(1)
    time.sleep(0.002 + 0.00001 * batch)
    print("step %d" % step, flush=True)
)py";

TEST_F(Command, WhatAMessageSaysOfMemoryIsUsedAndToldInShort) {
  std::ofstream(folder.path() / "train.py") << capped_program;
  const Finished finished = sweetspot({"tune", "--for", "max-batch", "--max", "4096", "--json",
                                       "--", "python3", "train.py", "{batch}"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  int died = 0;
  for (const Json& trial : json["trials"]) {
    if (trial["outcome"] != "out_of_memory") continue;
    ++died;
    EXPECT_EQ(trial["note"], "out of memory on the GPU, 15.6 GiB in use");
    EXPECT_GT(trial["memory_bytes"]["wanted"], 16.8 * (1 << 30)) << trial.dump();
    EXPECT_LT(trial["memory_bytes"]["capacity"], 16.8 * (1 << 30)) << trial.dump();
    EXPECT_THAT(trial["last_output"].get<std::string>(), HasSubstr("to avoid fragmentation."));
  }
  EXPECT_GE(died, 1);
  EXPECT_GE(json["recommendation"]["batch"], 400);
  EXPECT_LE(json["recommendation"]["batch"], 503);
}

TEST_F(Command, AnAnswerThatDoesNotLastIsSteppedDownFrom) {
  std::ofstream(folder.path() / "train.py") << capped_program;
  const std::vector<std::string> tune = {"tune", "--max",   "64",       "--min",   "16",   "--json",
                                         "--",   "python3", "train.py", "{batch}", "grows"};
  std::vector<std::string> lasting = tune;
  lasting.insert(lasting.begin() + 1, {"--confirm", "400"});
  const Finished finished = sweetspot(lasting);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json made = json_of(finished)["recommendation"];
  EXPECT_EQ(made["confirmation"]["asked"], "400 steps");
  // 0.9 + 14 + 0.03 · 36 is all there is.
  EXPECT_LE(made["batch"], 36) << made.dump();
  EXPECT_TRUE(made["confirmation"]["confirmed"].get<bool>()) << made.dump();
  EXPECT_GE(made["confirmation"]["batch"], made["batch"]);
  EXPECT_GE(made["confirmation"]["steps"], 400);
  expect_sentence(sweetspot({"tune", "--confirm", "soon", "--", "python3", "train.py", "{batch}"}),
                  2);
}

}  // namespace
}  // namespace sweetspot::tests
