// The real binary on a real Slurm of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/support.h"
#include "slurm/cluster.h"
#include "store_postgres/server.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

// What is left in the queue after a while; nothing, unless a job was forgotten there.
std::string left_in_queue() {
  std::string jobs;
  for (int look = 0; look < 300; ++look) {
    jobs = ask("squeue --noheader");
    if (jobs.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return jobs;
}

class Slurm : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new SlurmCluster; }
  static void TearDownTestSuite() { delete cluster_; }
  // A trial is there before its task has ended: the next test must not take it for its own.
  void SetUp() override { ASSERT_EQ(left_in_queue(), ""); }

  Slurm() {
    // Prints steps until it is ended; a batch of 3000 takes 600 MB and then does nothing, so that
    // no trial can end before Slurm looks at its memory; one of 5000 does nothing, and one of 9
    // does nothing the first time.
    write_file(folder_ / "train.py",
               "import os, sys, time\n"
               "batch = int(sys.argv[1])\n"
               "if batch == 9:\n"
               "    open('runs', 'a').write('x')\n"
               "    if os.path.getsize('runs') == 1: time.sleep(1000)\n"
               "held = bytearray(600 << 20) if batch == 3000 else b''\n"
               "for step in range(1, 100000):\n"
               "    time.sleep(1000 if batch in (3000, 5000) else 0.02)\n"
               "    print('step', step, flush=True)\n");
  }

  Launch launch(std::vector<std::string> arguments) const {
    Launch launch;
    launch.arguments = std::move(arguments);
    launch.folder = folder_.path().string();
    return launch;
  }
  // A sweep of train.py over these batches.
  Launch program(const std::string& batches, std::vector<std::string> more) const {
    std::vector<std::string> arguments{
        "sweep", "--cluster", "slurm", "--batch", batches, "--json", "--precision-of-estimate",
        "30%"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    for (const char* word : {"--batch-arrives", "--", "python3", "train.py", "{batch}"})
      arguments.emplace_back(word);
    return launch(arguments);
  }
  static std::map<std::int64_t, Json> by_batch(const Finished& finished) {
    std::map<std::int64_t, Json> found;
    const Json result = json_of(finished);
    for (const Json& trial : result["trials"])
      found[trial["setting"]["batch"].get<std::int64_t>()] = trial;
    return found;
  }

  static SlurmCluster* cluster_;
  TemporaryFolder folder_;
};
SlurmCluster* Slurm::cluster_ = nullptr;

TEST_F(Slurm, AStudyByArrayJobsGivesTheTrialsOfALocalOne) {
  const std::vector<std::string> asked{
      "sweep",   "--workload", "fake:fixed=2ms,sample=10us,oom-above=64,side-by-side=false",
      "--batch", "16..128*2",  "--repeat",
      "2",       "--json",     "--db"};
  std::vector<std::string> here = asked, there = asked;
  here.push_back("here.db");
  for (const char* word : {"there.db", "--cluster", "slurm", "--partition", "low", "--share-nodes"})
    there.emplace_back(word);
  const Finished local = run(launch(here)), cluster = run(launch(there));
  ASSERT_EQ(local.exit_code, 0) << local.err;
  ASSERT_EQ(cluster.exit_code, 0) << cluster.err;
  const Json one = json_of(local)["trials"], other = json_of(cluster)["trials"];
  ASSERT_EQ(one.size(), 8u);
  ASSERT_EQ(other.size(), 8u);
  for (const Json& trial : one) {
    const auto same = [&](const Json& t) {
      return t["setting"] == trial["setting"] && t["outcome"] == trial["outcome"] &&
             t["samples_per_second"] == trial["samples_per_second"] &&
             t["steps"] == trial["steps"] && t["stop_reason"] == trial["stop_reason"];
    };
    EXPECT_EQ(std::count_if(one.begin(), one.end(), same),
              std::count_if(other.begin(), other.end(), same))
        << trial;
  }
  // Known points are not run again, and the next machine's answer is the stored one.
  const Finished again = run(launch(there));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json_of(again)["trials"].size(), 8u);
  EXPECT_THAT(again.err, testing::Not(HasSubstr("Slurm job")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_FALSE(entry.is_directory()) << entry.path() << " was left behind";
}

// Each task leaves its trial there as a study of its own, which is gone when it was taken in.
TEST_F(Slurm, TrialsComeThroughAStoreOnAServer) {
  const std::string url = the_server().new_database();
  const auto sweep = [&](const std::string& fixed) {
    Launch asked =
        launch({"sweep", "--workload", "fake:fixed=" + fixed + ",side-by-side=false", "--batch",
                "16..64*2", "--json", "--cluster", "slurm", "--partition", "low", "--share-nodes"});
    asked.environment["SWEETSPOT_DB"] = url;
    return asked;
  };
  const auto studies = [&](const std::string& what) {
    return std::stoi(sql(url, "SELECT " + what + " FROM sweetspot.study"));
  };
  // A node that does not reach the server leaves a file.
  Launch cut_off = sweep("3ms");
  cut_off.arguments.emplace_back(
      "--sbatch=--export=ALL,SWEETSPOT_DB=postgresql://sweetspot@/none?host=/nowhere");
  const Finished by_files = run(cut_off);
  ASSERT_EQ(by_files.exit_code, 0) << by_files.err;
  EXPECT_EQ(json_of(by_files)["trials"].size(), 3u);
  EXPECT_EQ(studies("max(id)"), 1);
  sql(url, "CREATE TABLE public.made (title text)");
  sql(url,
      "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN INSERT INTO public.made VALUES (NEW.workload); RETURN NEW; END'");
  sql(url,
      "CREATE TRIGGER note AFTER INSERT ON sweetspot.study FOR EACH ROW "
      "EXECUTE FUNCTION note()");
  const Finished finished = run(sweep("2ms"));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(json_of(finished)["trials"].size(), 3u);
  EXPECT_EQ(sql(url, "SELECT count(*) FROM public.made"), "4")
      << "of three tasks, and theirs together";
  EXPECT_EQ(studies("count(*)"), 2);
  const std::string own = "sweep fake:fixed=2ms,side-by-side=false";
  EXPECT_EQ(sql(url, "SELECT count(*) FROM public.made WHERE title = '" + own + "'"), "1");
  EXPECT_EQ(sql(url, "SELECT count(*) FROM sweetspot.study WHERE workload = '" + own + "'"), "1");
}

TEST_F(Slurm, MemoryThatAJobDoesNotHaveIsAnOutcome) {
  const Finished finished = run(program("8,3000", {"--sbatch=--mem=300M", "--share-nodes"}));
  const auto trials = by_batch(finished);
  ASSERT_EQ(trials.size(), 2u) << finished.err;
  EXPECT_EQ(trials.at(8)["outcome"], "ok");
  EXPECT_EQ(trials.at(3000)["outcome"], "out_of_memory") << trials.at(3000);
}

// The number of the running task, once there is one.
std::string running_job() {
  for (int look = 0; look < 300; ++look) {
    const std::string job = ask("squeue --noheader --states=RUNNING --format=%A");
    if (!job.empty()) return job.substr(0, job.find('\n'));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return "";
}

// Slurm requeues it, or the sweep submits it again if it ended before Slurm had taken it off.
TEST_F(Slurm, ATaskThatIsTakenOffItsNodeRunsAgain) {
  Finished finished;
  std::atomic<bool> ended{false};
  std::jthread sweep([&] {
    finished = run(program("9", {"--partition", "low"}));
    ended = true;
  });
  const std::string job = running_job();
  ASSERT_NE(job, "");
  for (int look = 0; look < 300 && !std::filesystem::exists(folder_ / "runs"); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string other =
      ask("sbatch --parsable --partition=high --exclusive --output=/dev/null --wrap=true");
  // Slurm delays a requeued task for two minutes: not here.
  for (int look = 0; look < 300 && !ended; ++look) {
    if (ask("squeue --noheader --states=PENDING --jobs=" + job + " --format=%T").find("PENDING") ==
        0)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (int look = 0; look < 300 && !ended; ++look) {
    if (ask("scontrol update JobId=" + job + " StartTime=now 2>&1").find("error") ==
        std::string::npos)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  sweep.join();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(by_batch(finished).at(9)["outcome"], "ok");
  EXPECT_EQ(read_file(folder_ / "runs"), "xx") << other;
}

TEST_F(Slurm, ATaskThatOthersCancelIsNoTrial) {
  Finished finished;
  std::jthread sweep([&] { finished = run(program("5000", {"--share-nodes"})); });
  const std::string job = running_job();
  ASSERT_NE(job, "");
  ask("scancel " + job);
  sweep.join();
  EXPECT_NE(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("cancelled by others"));
  EXPECT_TRUE(json_of(finished)["trials"].empty());
}

TEST_F(Slurm, CtrlCCancelsTheJob) {
  Launch stopped = program("5000", {"--share-nodes"});
  stopped.signal_when_seen = "Slurm job";
  stopped.signal = SIGINT;
  const Finished finished = run(stopped);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_EQ(left_in_queue(), "");
}

TEST_F(Slurm, TheScriptIsShownBeforeItIsSubmitted) {
  const Finished finished = run(
      program("8,16", {"--dry-run", "--gres", "gpu:1", "--time", "0:30:00", "--account", "me"}));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  for (const char* line :
       {"#!/bin/bash\n", "#SBATCH --array=0-1\n", "#SBATCH --gres=gpu:1\n",
        "#SBATCH --time=0:30:00\n", "#SBATCH --account=me\n", "python3 train.py"})
    EXPECT_THAT(finished.out, HasSubstr(line));
  EXPECT_EQ(ask("squeue --noheader"), "");
}

// Through the shell, in the test's folder; its output, stdout and then stderr.
class SlurmShell : public Slurm {
 protected:
  struct Printed {
    int status = 0;
    std::string out, err;
  };
  Printed shell(const std::string& command) const {
    Printed printed;
    printed.status =
        std::system(("cd " + folder_.path().string() + " && " + command + " >out 2>err").c_str());
    printed.out = read_file(folder_ / "out"), printed.err = read_file(folder_ / "err");
    return printed;
  }
};

TEST_F(SlurmShell, RanksThatSrunStartedTrainAndTuneTogether) {
  const std::string ranks = "srun -p low -n 2 --overcommit --mpi=pmix " SWEETSPOT_BINARY " ";
  const std::string model = " --model small-cnn --data synthetic:500 --threads 1 --json";
  const Printed trained = shell(ranks + "train --batch 20 --max-steps 5 --no-eval" + model);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json train = Json::parse(trained.out);  // one object, by one rank
  EXPECT_EQ(train["setting"]["ranks"], 2);
  EXPECT_EQ(train["epochs"][0]["samples"], 100);
  const Printed tuned =
      shell(ranks + "tune --min 32 --max 32 --no-report --lr-rule none --db tune.db" + model);
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  const Json made = Json::parse(tuned.out)["recommendation"];
  EXPECT_EQ(made["ranks"], 2);
  EXPECT_EQ(made["micro_batch"], 16);
}

TEST_F(SlurmShell, TasksThatSrunDidNotConnectAreTold) {
  const Printed printed = shell("srun -p low -n 2 --overcommit --mpi=none " SWEETSPOT_BINARY
                                " train --data synthetic:500");
  EXPECT_NE(printed.status, 0);
  const std::string said = printed.err.substr(printed.err.find("sweetspot: "));
  EXPECT_WORDS(said.substr(0, said.find('\n')));  // each task says it
}

// A minute and a half of training, and MNIST.
TEST_F(SlurmShell, DISABLED_ThePapersExperimentRunsAsTasks) {
  const Printed printed =
      shell("SWEETSPOT=" SWEETSPOT_BINARY " SWEETSPOT_DB=sqlite:paper.db " SWEETSPOT_SOURCE_DIR
            "/examples/slurm/paper-array.sh --partition low --quick --json");
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr("3 tasks"));
  const Json paper = Json::parse(printed.out);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "sweetspot-paper.html"));
  EXPECT_FALSE(paper.empty());
}

TEST_F(Slurm, WhatSlurmRefusesIsASentence) {
  const Finished finished = run(program("8", {"--partition", "nowhere"}));
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_WORDS(last_sentence(finished));
}

// Slurm counts in minutes: part of the label slow.
TEST_F(Slurm, DISABLED_ATaskThatTakesTooLongIsAnOutcome) {
  write_file(
      folder_ / "train.py",
      "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)\n");
  const Finished finished = run(program("8", {"--time", "1", "--timeout", "10m", "--share-nodes"}));
  EXPECT_EQ(by_batch(finished).at(8)["outcome"], "timed_out") << finished.err;
}

}  // namespace
}  // namespace sweetspot::tests
