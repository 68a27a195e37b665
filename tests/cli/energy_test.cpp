// Energy and power limits of programs on made-up GPUs (probe/fake_nvml/folder.h) through the real
// binary, and what is left of the limits when it is gone.
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

struct Energy : testing::Test {
  Energy() { fs::create_directory(folder / "gpu0"); }

  // A program whose steps take 20 ms and 0.2 ms a sample on the first GPU.
  std::vector<std::string> program(const std::string& step = "") const {
    return {
        "--shell", "--",
        "G=$FAKE_NVML_FOLDER; exec 9>$G/nvidiactl; echo 500000000 > "
        "$G/gpu0/$$; i=0; while :; do i=$((i+1)); sleep $(awk 'BEGIN{print 0.02+{batch}*0.0002}'); "
        "echo step $i/100000 loss: 2.5; " +
            step + " done"};
  }
  Launch launch(std::vector<std::string> arguments, const std::vector<std::string>& more) const {
    Launch made;
    made.arguments = std::move(arguments);
    made.arguments.insert(made.arguments.end(), more.begin(), more.end());
    made.environment = {{"SWEETSPOT_DB", ""},
                        {"LC_ALL", "C"},
                        {"CUDA_VISIBLE_DEVICES", ""},
                        {"SWEETSPOT_NVML", FAKE_NVML},
                        {"FAKE_NVML_FOLDER", folder.path().string()}};
    made.folder = folder.path().string();
    return made;
  }
  void put(const std::string& file, const std::string& text = "") const {
    write_file(folder / file, text);
  }
  std::string limit() const { return read_file(folder / "gpu0/limit"); }
  // The guard needs a moment after its sweetspot is gone; how long is up to the machine.
  bool limit_becomes(const std::string& milliwatts) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (limit() != milliwatts && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    return limit() == milliwatts;
  }

  TemporaryFolder folder;
};

TEST_F(Energy, OfAProgramIsToldAndSearched) {
  const Finished finished =
      run(launch({"tune", "--for", "energy", "--max", "256", "--json", "--no-report"}, program()));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished), made = json["recommendation"];
  EXPECT_EQ(made["objective"], "energy");
  EXPECT_EQ(made["tolerance_share"], 0.1);
  EXPECT_GT(made["joules_per_sample"], 0.0);
  for (const Json& trial : json["trials"]) {
    // 300 W all the time.
    const double speed = trial["samples_per_second"]["mean"];
    EXPECT_NEAR(trial["joules_per_sample"].get<double>(), 300 / speed, 0.3 * 300 / speed);
    EXPECT_EQ(trial["loss"]["value"], 2.5);
  }
}

TEST_F(Energy, LimitsAreSetAndPutBack) {
  put("gpu0/limit", "600000");
  const Finished finished =
      run(launch({"sweep", "--power-limits", "250W,700W", "--batch", "64", "--json"}, program()));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  ASSERT_EQ(json["trials"].size(), 2u);
  EXPECT_EQ(json["trials"][0]["setting"]["power_limit_watts"], 250.0);
  EXPECT_EQ(json["trials"][1]["setting"]["power_limit_watts"], 700.0);
  EXPECT_EQ(limit(), "600000");
}

TEST_F(Energy, TheCommandSetsTheLimit) {
  const Finished finished =
      run(launch({"tune", "--for", "energy", "--slower-at-most", "50%", "--power-limits",
                  "250W,700W", "--min", "64", "--max", "64", "--no-report"},
                 program()));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("sudo nvidia-smi -i 0 -pl 250 && "), HasSubstr("700 W")));
}

TEST_F(Energy, WhoMayNotSetLimitsIsToldSo) {
  put("fixed"), put("gpu0/limit", "600000");
  expect_sentence(run(launch({"sweep", "--power-limits", "300W", "--batch", "64"}, program())), 2);
  const Finished finished = run(launch({"tune", "--for", "energy", "--power-limits", "300W,500W",
                                        "--min", "64", "--max", "64", "--json", "--no-report"},
                                       program()));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_WORDS(finished.err.substr(0, finished.err.find('\n')));
  const Json made = json_of(finished)["recommendation"];
  EXPECT_GT(made["joules_per_sample"], 0.0);
  EXPECT_TRUE(made["power_limit_watts"].is_null());
  EXPECT_EQ(limit(), "600000");
}

TEST_F(Energy, FlagsThatDoNotGoTogetherAreSentences) {
  const auto asked = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "tune");
    return run(launch(more, program()));
  };
  expect_sentence(asked({"--for", "energy", "--power-limits", "100W"}), 2);
  expect_sentence(asked({"--for", "energy", "--power-limits", "300W,900W"}), 2);
  expect_sentence(asked({"--for", "energy", "--power-limits", "much"}), 2);
  expect_sentence(asked({"--power-limits", "300W"}), 2);
  expect_sentence(asked({"--slower-at-most", "5%"}), 2);
  expect_sentence(asked({"--for", "energy", "--tolerance", "5%"}), 2);
  expect_sentence(asked({"--precisions", "fp32,bf16"}), 2);
  EXPECT_FALSE(fs::exists(folder / "sweetspot.db"));
  EXPECT_FALSE(fs::exists(folder / "gpu0/limit"));
}

TEST_F(Energy, WhereNoneCanBeReadNothingIsMeasured) {
  Launch made = launch({"tune", "--for", "energy"}, program());
  made.environment["SWEETSPOT_NVML"] = "/there/is/none.so";
  if (fs::exists("/sys/class/powercap/intel-rapl:0/energy_uj"))
    GTEST_SKIP() << "this machine tells the energy of its CPU";
  expect_sentence(run(made), 2);
  made.arguments[2] = "energy-to-accuracy=0.9";
  expect_sentence(run(made), 2);
  EXPECT_FALSE(fs::exists(folder / "sweetspot.db"));
}

TEST_F(Energy, ALimitThatSomebodyElseSetIsLeftAndItsTrialRefused) {
  const Finished finished =
      run(launch({"sweep", "--power-limits", "250W", "--batch", "64", "--json"},
                 program("[ $i -eq 5 ] && echo 444000 > $G/gpu0/limit;")));
  const Json json = json_of(finished);
  ASSERT_EQ(json["trials"].size(), 1u);
  EXPECT_WORDS(json["trials"][0]["note"].get<std::string>());
  EXPECT_EQ(json["trials"][0]["outcome"], "refused");
  EXPECT_EQ(limit(), "444000\n");
}

// However it ends. The program ends its sweetspot, which is the parent of its own supervisor.
TEST_F(Energy, LimitsArePutBackAfterAnySignal) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    put("gpu0/limit", "600000");
    const std::string end = "[ $i -eq 3 ] && cp $G/gpu0/limit $G/seen; [ $i -eq 3 ] && kill -" +
                            std::to_string(signal) + " $(awk '{print $4}' /proc/$PPID/stat);";
    run(launch({"sweep", "--fresh", "--power-limits", "250W", "--batch", "64"}, program(end)));
    EXPECT_TRUE(limit_becomes("600000")) << signal << ": " << limit();
    EXPECT_EQ(read_file(folder / "seen"), "250000") << signal;
  }
}

TEST_F(Energy, PrecisionsOfAProgramAreComparedWithTheirLosses) {
  const std::string script =
      "G=$FAKE_NVML_FOLDER; p={precision}; i=0; while :; do i=$((i+1)); "
      "if [ $p = bf16 ]; then sleep 0.01; else sleep 0.02; fi; "
      "echo step $i/100000 loss: $([ $p = bf16 ] && echo 2.33 || echo 2.31); done; : {batch}";
  const Finished finished = run(launch({"tune", "--precisions", "fp32,bf16", "--min", "64", "--max",
                                        "64", "--json", "--no-report", "--batch-arrives"},
                                       {"--shell", "--", script}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished), made = json["recommendation"];
  EXPECT_EQ(made["precision"], "bf16");
  ASSERT_EQ(made["variants"].size(), 2u);
  EXPECT_EQ(made["variants"][0]["loss"], 2.31);
  EXPECT_EQ(made["variants"][1]["loss"], 2.33);
  EXPECT_GE(made["loss_step"], 10);
  std::vector<std::string> reasons;
  for (const Json& reason : made["reasons"]) reasons.push_back(reason["kind"]);
  EXPECT_THAT(reasons, testing::IsSupersetOf({"precision", "loss"}));
}

}  // namespace
}  // namespace sweetspot::tests
