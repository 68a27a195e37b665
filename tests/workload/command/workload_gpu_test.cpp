// Programs on fake GPUs: their memory as reported by the driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "temporary_folder.h"
#include "words.h"
#include "workload/command/workload_support.h"

namespace sweetspot::workload::command {
namespace {

using namespace testing_support;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using trial::Outcome;

// The fake creates this file when it has listed a process.
const std::string until_read = "until [ -e $G/gpu0/read ]; do sleep 0.01; done";

constexpr core::Bytes fixed = 500'000'000, per_sample = 10'000'000;

// GPUs in a folder (fake_nvml/folder.h) that programs use by writing how much they hold.
struct CommandOnGpu : testing::Test {
  CommandOnGpu() {
    ::setenv("SWEETSPOT_NVML", FAKE_NVML, 1);
    ::setenv("FAKE_NVML_FOLDER", std::string(folder / "").c_str(), 1);
    std::filesystem::create_directory(folder / "gpu0");
  }
  ~CommandOnGpu() override {
    ::unsetenv("SWEETSPOT_NVML");
    ::unsetenv("FAKE_NVML_FOLDER");
  }

  void put(const std::string& file, const std::string& text = "") const {
    std::filesystem::create_directories(std::filesystem::path(folder / file).parent_path());
    std::ofstream(folder / file) << text;
  }

  // In a shell; `$G` is the folder.
  static Options script(const std::string& begin, const std::string& step = "") {
    Options options;
    options.shell = true;
    options.argv = {"G=$FAKE_NVML_FOLDER; " + begin +
                    "; i=0; while :; do i=$((i+1)); echo step $i/100000; " + step +
                    " sleep 0.01; done"};
    options.batch_from_environment = true;
    return options;
  }
  // Takes the memory of a batch on this GPU, as the shell process.
  static std::string take(const std::string& gpu = "gpu0") {
    return "exec 9>$G/nvidiactl; echo $((500000000 + {batch} * 10000000)) > $G/" + gpu + "/$$";
  }

  // In Python, holding 9 GB; `tell` sends what a client says after its hello.
  Options with_client(const std::string& training) const {
    put("train.py",
        std::string("import json, os, socket, time\n"
                    "folder = os.environ['FAKE_NVML_FOLDER']\n"
                    "with open('%s/gpu0/%d' % (folder, os.getpid()), 'w') as held: "
                    "held.write('9000000000')\n"
                    "link = socket.socket(socket.AF_UNIX)\n"
                    "link.connect(os.environ['SWEETSPOT_SOCKET'])\n"
                    "def tell(**what): link.sendall((json.dumps(what) + '\\n').encode())\n"
                    "tell(type='hello', protocol=1, client='made up')\n") +
            training);
    Options options;
    options.argv = {"python3", "-B", folder / "train.py", "{batch}"};
    return options;
  }

  static trial::Trial trial_of(const Options& options, std::int64_t batch = 32) {
    CommandWorkload workload(options);
    return measured(workload, at(batch));
  }

  tests::TemporaryFolder folder;
};

TEST_F(CommandOnGpu, ItsMemoryIsTheGpus) {
  const trial::Trial trial = trial_of(script(take()));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.device, "cuda:0");
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
  EXPECT_EQ(trial.memory_source, "NVML, of 1 process");
  EXPECT_EQ(trial.memory_capacity, 16 * core::GiB);
  ASSERT_TRUE(trial.host_memory);
  EXPECT_LT(*trial.host_memory, 100 * core::MiB);
  ASSERT_THAT(trial.gpus, SizeIs(1));
  EXPECT_EQ(trial.gpus[0].name, "NVIDIA Made-Up");
  EXPECT_EQ(trial.gpus[0].memory_peak, trial.memory_measured);
  EXPECT_EQ(trial.gpus[0].memory_free, trial.memory_capacity);
  EXPECT_THAT(trial.note, IsEmpty());
}

TEST_F(CommandOnGpu, ItsReadingsAreTheGpusToo) {
  const trial::Trial trial = trial_of(script(take()));
  ASSERT_THAT(trial.gpus, SizeIs(1));
  const trial::GpuUse& gpu = trial.gpus[0];
  EXPECT_EQ(gpu.utilisation_share, 0.37);
  EXPECT_EQ(gpu.core_clock_mhz, 1980);
  ASSERT_TRUE(gpu.power_watts);
  EXPECT_NEAR(*gpu.power_watts, 300, 3);
  EXPECT_GT(gpu.energy_joules.value_or(0), 0);
  EXPECT_EQ(trial.energy_joules, gpu.energy_joules);
  ASSERT_THAT(trial.trace, Not(IsEmpty()));
  EXPECT_EQ(trial.trace.back().power_watts, 300);
  EXPECT_EQ(trial.trace.back().memory, trial.memory_measured);
}

TEST_F(CommandOnGpu, WithoutOneItsMemoryIsTheHosts) {
  const trial::Trial trial = trial_of(script("echo 100000000 > $G/gpu0/1"));  // another process
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.device, "cpu");
  EXPECT_THAT(trial.gpus, IsEmpty());
  EXPECT_LT(trial.memory_measured.value_or(0), 100 * core::MiB);
  EXPECT_FALSE(trial.host_memory);
  EXPECT_FALSE(trial.memory_capacity);
}

TEST_F(CommandOnGpu, ChildrenAreOfTheProgram) {
  const trial::Trial trial = trial_of(script(
      "for r in 1 2; do sh -c 'echo 200000000 > $FAKE_NVML_FOLDER/gpu0/$$; sleep 1000' & done; "
      "until [ $(cat $G/gpu0/* 2>/dev/null | wc -l) = 2 ]; do sleep 0.01; done"));
  EXPECT_EQ(trial.memory_measured, 400'000'000u);
  EXPECT_EQ(trial.memory_source, "NVML, of 2 processes");
}

TEST_F(CommandOnGpu, OthersOnTheGpuAreToldApart) {
  put("gpu0/" + std::to_string(::getpid()), "3000000000");
  const trial::Trial trial = trial_of(script(take()));
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
  EXPECT_EQ(trial.memory_capacity, 16 * core::GiB - 3'000'000'000);
  EXPECT_EQ(trial.contention.other_gpu_memory, 3'000'000'000u);
}

TEST_F(CommandOnGpu, OfTwoGpusTheOneThatIsUsedCounts) {
  put("gpu1/total", "8000000000");
  const trial::Trial trial = trial_of(script(take("gpu1")));
  EXPECT_EQ(trial.device, "cuda:1");
  EXPECT_EQ(trial.memory_capacity, 8'000'000'000u);
  EXPECT_THAT(trial.gpus, SizeIs(1));
}

TEST_F(CommandOnGpu, OfTwoGpusInUseTheFullestLimits) {
  put("gpu1/total", "8000000000");
  const trial::Trial trial =
      trial_of(script(take() + "; echo 700000000 > $G/gpu1/$$; echo 800000000 > $G/gpu0/$$"));
  EXPECT_EQ(trial.device, "cuda:0,1");
  ASSERT_THAT(trial.gpus, SizeIs(2));
  EXPECT_EQ(trial.memory_measured, 700'000'000u) << "of 8 GB, not 800 of 16 GiB";
  EXPECT_EQ(trial.memory_capacity, 8'000'000'000u);
  ASSERT_TRUE(trial.energy_joules);
  EXPECT_DOUBLE_EQ(*trial.energy_joules,
                   *trial.gpus[0].energy_joules + *trial.gpus[1].energy_joules);
}

TEST_F(CommandOnGpu, AnInstanceOfADividedGpuHasItsOwnMemory) {
  put("gpu0/mig0/total", "5000000000");
  put("gpu0/mig1/total", "9000000000");
  const trial::Trial trial = trial_of(script(take("gpu0/mig1")));
  EXPECT_EQ(trial.device, "cuda:0:1");
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
  EXPECT_EQ(trial.memory_capacity, 9'000'000'000u);
}

// What a driver may not report: then the GPU's growth is used.
struct CommandOnSilentGpu : CommandOnGpu, testing::WithParamInterface<std::string> {};

TEST_P(CommandOnSilentGpu, ItsMemoryIsWhatTheGpusGrewBy) {
  put(GetParam(), "1000000000");
  put("gpu0/others", "2000000000");
  const trial::Trial trial = trial_of(script(take()));
  EXPECT_EQ(trial.device, "cuda:0");
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
  EXPECT_EQ(trial.memory_capacity, 16 * core::GiB - 2'000'000'000);
  EXPECT_THAT(trial.memory_source, StartsWith("growth of the GPU since before the start: "));
  EXPECT_EQ(trial.contention.other_gpu_share, std::nullopt);
}

TEST_P(CommandOnSilentGpu, AProgramThatHasNoGpuOpenDidNotGrow) {
  put(GetParam(), "1000000000");
  const trial::Trial trial = trial_of(script("echo 2000000000 > $G/gpu0/others"));
  EXPECT_EQ(trial.device, "cpu");
  EXPECT_THAT(trial.gpus, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, CommandOnSilentGpu, testing::Values("denied", "offset", "hidden"),
                         [](const auto& kind) { return kind.param; });

TEST_F(CommandOnGpu, GrowthLeavesOutThoseWhoWereThere) {
  put("offset", "1000000000");
  put("gpu0/" + std::to_string(::getpid()), "3000000000");
  const trial::Trial trial =
      trial_of(script(take() + "; echo 5000000000 > $G/gpu0/" + std::to_string(::getpid())));
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
}

TEST_F(CommandOnGpu, AProcessWithoutItsMemoryIsFollowedByGrowth) {
  put("secret");
  put("gpu0/others", "2000000000");
  const trial::Trial trial = trial_of(script(take()));
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
  EXPECT_WORDS(trial.memory_source);
}

TEST_F(CommandOnGpu, ThePeakIsKeptWhenItIsFreed) {
  const trial::Trial trial =
      trial_of(script(take() + "; " + until_read + "; echo 1000000 > $G/gpu0/$$"));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
}

TEST_F(CommandOnGpu, AGpuThatFallsOffIsSaid) {
  const trial::Trial trial = trial_of(script(take() + "; " + until_read + "; : > $G/gpu0/lost"));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.memory_measured, fixed + 32 * per_sample);
  EXPECT_EQ(trial.note, "cuda:0 stopped answering");
  EXPECT_EQ(trial.gpus.at(0).power_watts, std::nullopt);
}

TEST_F(CommandOnGpu, AnAllocatorThatTakesEverythingIsNoMeasure) {
  // Equal at different batches, and most of the GPU.
  const Options options = script("exec 9>$G/nvidiactl; echo 13000000000 > $G/gpu0/$$");
  CommandWorkload workload(options);
  measured(workload, at(8));
  const trial::Trial trial = measured(workload, at(64));
  EXPECT_EQ(trial.device, "cuda:0");
  EXPECT_EQ(trial.memory_measured, std::nullopt);
  EXPECT_WORDS(trial.note);
  EXPECT_EQ(trial.gpus.at(0).memory_peak, 13'000'000'000u);
}

// A known library makes the figure meaningless from the first trial on, unless preallocation is
// off.
TEST_F(CommandOnGpu, AnAllocatorIsKnownByItsLibrary) {
  put("jaxlib/xla.so", "made up");
  put("train.py",
      "import mmap, os, sys, time\n"
      "folder = os.environ['FAKE_NVML_FOLDER']\n"
      "library = open(folder + '/jaxlib/xla.so', 'rb')\n"
      "mapped = mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ)\n"
      "with open('%s/gpu0/%d' % (folder, os.getpid()), 'w') as held: held.write('13000000000')\n"
      "for step in range(100000):\n"
      "  print('step %d/100000' % step, flush=True)\n"
      "  time.sleep(0.01)\n");
  Options options;
  options.argv = {"python3", "-B", folder / "train.py", "{batch}"};
  const trial::Trial taken = trial_of(options);
  ASSERT_EQ(taken.outcome, Outcome::ok) << taken.note;
  EXPECT_EQ(taken.memory_measured, std::nullopt);
  EXPECT_WORDS(taken.note);
  options.environment = {{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}};
  EXPECT_EQ(trial_of(options).memory_measured, 13'000'000'000u);
}

// The client reports its own peak, as PyTorch's allocator does.
TEST_F(CommandOnGpu, TheClientKnowsMoreThanTheDriver) {
  const Options options = with_client(
      "tell(type='memory', device='cuda:0', peak_bytes=7000000000, capacity_bytes=8000000000,"
      " how='its own word')\n"
      "tell(type='begin', at_seconds=time.monotonic())\n"
      "while True:\n"
      "  time.sleep(0.01)\n"
      "  tell(type='step', at_seconds=time.monotonic())\n");
  const trial::Trial trial = trial_of(options);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.memory_measured, 7'000'000'000u);
  EXPECT_EQ(trial.memory_capacity, 8'000'000'000u);
  EXPECT_EQ(trial.memory_source, "its own word");
  EXPECT_EQ(trial.device, "cuda:0");
  EXPECT_EQ(trial.gpus.at(0).memory_peak, 9'000'000'000u);
}

// A cache that grows by 2 MB a step around tensors that do not: an hour of it would be several GB.
TEST_F(CommandOnGpu, ACacheIsNotAssumedToGrowMoreThanItsTensorsAndItsWaste) {
  const Options options = with_client(
      "tell(type='begin', at_seconds=time.monotonic())\n"
      "for step in range(10000):\n"
      "  time.sleep(0.01)\n"
      "  tell(type='memory', device='cuda:0', peak_bytes=7000000000 + 2000000 * step,"
      " allocated_bytes=6900000000, how='its own word')\n"
      "  tell(type='step', at_seconds=time.monotonic())\n");
  CommandWorkload workload(options);
  measure::MeasureOptions how;
  how.updates = 240;
  const std::atomic<int> go_on{0};
  const trial::Trial trial = measure::measure(workload, at(32), how, {}, {go_on});
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_GE(*trial.memory_measured, 7'400'000'000u);
  EXPECT_EQ(trial.memory_margin, *trial.memory_measured - 6'900'000'000u);
}

}  // namespace
}  // namespace sweetspot::workload::command
