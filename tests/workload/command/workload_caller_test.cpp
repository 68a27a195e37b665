// The training program started us: it is asked for batch after batch, and never ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/descriptor.h"
#include "core/error.h"
#include "words.h"
#include "workload/command/workload_support.h"

namespace sweetspot::workload::command {
namespace {

using namespace testing_support;
using Json = nlohmann::json;
using testing::ElementsAre;
using trial::Outcome;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The other end, in its own thread.
class Caller {
 public:
  explicit Caller(std::function<void(Caller&)> program) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = core::Descriptor(ends[0]);
    theirs_ = ends[1];
    thread_ = std::thread([this, program] {
      say({{"type", "hello"}, {"protocol", 1}, {"client", "test"}, {"session", true}});
      program(*this);
      socket_.close();
    });
  }
  ~Caller() { wait(); }
  // Until it has ended: what it did may be read then.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

  Options options() const {
    Options options;
    options.argv = {"train({batch})"};
    options.caller = theirs_;
    return options;
  }
  void say(Json line) {
    const std::string text = line.dump() + "\n";
    ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Asks for the next batch; 0: there is none.
  std::int64_t next_batch() {
    say({{"type", "ready"}});
    Json answer;
    do answer = hear();
    while (answer["type"] == "enough");
    return answer["type"] == "setting" ? answer["batch"].get<std::int64_t>() : 0;
  }
  Json hear() {
    while (received_.find('\n') == std::string::npos) {
      char bytes[4096];
      const ssize_t got = ::recv(socket_.number(), bytes, sizeof bytes, 0);
      if (got <= 0) return {{"type", "gone"}};
      received_.append(bytes, static_cast<std::size_t>(got));
    }
    const std::string line = received_.substr(0, received_.find('\n'));
    received_.erase(0, line.size() + 1);
    return Json::parse(line);
  }
  // As many steps as it takes.
  void train(std::int64_t batch) {
    while (::recv(socket_.number(), nullptr, 0, MSG_PEEK | MSG_DONTWAIT) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the step
      say({{"type", "step"}, {"at_seconds", now()}, {"dropped", 0}, {"samples", batch}});
    }
  }

 private:
  core::Descriptor socket_;
  int theirs_ = -1;
  std::string received_;
  std::thread thread_;
};

TEST(CallingProgram, IsAskedForBatchAfterBatchAndToldTheEnd) {
  std::vector<std::int64_t> asked;
  Caller caller([&asked](Caller& self) {
    do {
      asked.push_back(self.next_batch());
      if (asked.back() > 0) self.train(asked.back());
    } while (asked.back() > 0);
  });
  CommandWorkload workload(caller.options());
  EXPECT_EQ(workload.name(), "train({batch})");
  for (const std::int64_t size : {16, 64}) {
    const trial::Trial trial = measured(workload, at(size));
    EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
    EXPECT_EQ(trial.step_source, "client (test)");
  }
  workload.finish()({});
  caller.wait();
  EXPECT_THAT(asked, ElementsAre(16, 64, 0));
}

TEST(CallingProgram, TellsOfABatchThatIsOutOfMemoryAndGoesOn) {
  Caller caller([](Caller& self) {
    self.train(self.next_batch());
    const std::int64_t large = self.next_batch();
    self.say({{"type", "step"}, {"at_seconds", now()}, {"dropped", 0}, {"samples", large}});
    self.say({{"type", "failed"},
              {"outcome", "out_of_memory"},
              {"reason", "OutOfMemoryError: CUDA out of memory"},
              {"kept_bytes", 1 << 30}});
    self.train(self.next_batch());
    self.next_batch();
  });
  CommandWorkload workload(caller.options());
  EXPECT_EQ(measured(workload, at(16)).outcome, Outcome::ok);
  const trial::Trial large = measured(workload, at(64));
  EXPECT_EQ(large.outcome, Outcome::out_of_memory);
  EXPECT_EQ(large.note,
            "OutOfMemoryError: CUDA out of memory; 1.0 GiB of memory did not come back");
  const trial::Trial after = measured(workload, at(32));
  EXPECT_EQ(after.outcome, Outcome::ok) << after.note;
  workload.finish()({});
}

TEST(CallingProgram, TellsWhatItMayTakeOfTheDevicesMemory) {
  constexpr std::int64_t gib = 1 << 30;
  Caller caller([](Caller& self) {
    for (int setting = 0; setting < 2; ++setting) {
      const std::int64_t batch = self.next_batch();
      if (setting == 0) {
        self.say({{"type", "epoch"}, {"batches", 960 / batch}});
        for (const auto& [peak, capacity] :
             {std::pair{2 * gib, 16 * gib}, {5 * gib, 12 * gib}, {3 * gib, 14 * gib}})
          self.say({{"type", "memory"},
                    {"device", "cuda:0"},
                    {"peak_bytes", peak},
                    {"allocated_bytes", peak - gib},
                    {"capacity_bytes", capacity},
                    {"how", "its word"}});
      }
      self.train(batch);
    }
    self.next_batch();
  });
  CommandWorkload workload(caller.options());
  const trial::Trial told = measured(workload, at(16));
  EXPECT_EQ(told.memory_measured, 5 * gib) << "the most";
  EXPECT_EQ(told.memory_capacity, 12 * gib) << "the least";
  EXPECT_EQ(told.memory_source, "its word");
  EXPECT_EQ(told.steps_total, 60);
  const trial::Trial silent = measured(workload, at(32));
  EXPECT_FALSE(silent.memory_capacity) << "that was said of the batch before";
  EXPECT_FALSE(silent.steps_total);
  workload.finish()({});
}

TEST(CallingProgram, ThatGoesAwayLeavesNoTrial) {
  Caller caller([](Caller& self) { self.next_batch(); });
  CommandWorkload workload(caller.options());
  EXPECT_EQ(measured(workload, at(16)).outcome, Outcome::cancelled);
  EXPECT_EQ(measured(workload, at(32)).outcome, Outcome::cancelled) << "and none that follows";
}

TEST(CallingProgram, IsWaitedForWhenAStepTakesTooLong) {
  Caller caller([](Caller& self) {
    self.next_batch();
    EXPECT_EQ(self.hear()["type"], "enough");  // the step ends long after
    self.train(self.next_batch());
    self.next_batch();
  });
  Options options = caller.options();
  options.timeout = core::Seconds(0.2), options.grace = core::Seconds(0);
  {
    CommandWorkload workload(options);
    EXPECT_EQ(measured(workload, at(64)).outcome, Outcome::timed_out);
    EXPECT_EQ(measured(workload, at(16)).outcome, Outcome::ok);
  }
}

TEST(CallingProgram, NeedsASocket) {
  Options options;
  options.argv = {"train({batch})"};
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const core::Descriptor read(ends[0]), write(ends[1]);
  for (const int number : {ends[0], 1 << 20}) {
    options.caller = number;
    try {
      check(options);
      FAIL() << number << " was taken for a socket";
    } catch (const core::InputError& error) {
      EXPECT_WORDS(tests::without_numbers(error.what()));
    }
  }
}

}  // namespace
}  // namespace sweetspot::workload::command
