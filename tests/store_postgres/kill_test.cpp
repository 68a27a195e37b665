// Workers of one study are killed at any moment, and so is its server: no finished trial is lost,
// and every setting is done in the end, once.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "store/store.h"
#include "store_postgres/server.h"

namespace sweetspot::tests {
namespace {

// A queue_worker process with its stdout in a pipe.
class Worker {
 public:
  Worker(const std::string& url, std::int64_t settings, unsigned seed) {
    const std::string count = std::to_string(settings), number = std::to_string(seed);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl(QUEUE_WORKER, QUEUE_WORKER, url.c_str(), count.c_str(), number.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  ~Worker() {
    if (pid_ > 0) end(true);
    close(pipe_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Everything it printed until its end, by itself or by us.
  std::string end(bool by_force) {
    if (by_force) kill(pid_, SIGKILL);
    std::string said;
    char bytes[4096];
    for (ssize_t count; (count = read(pipe_, bytes, sizeof bytes)) > 0;)
      said.append(bytes, static_cast<std::size_t>(count));
    waitpid(std::exchange(pid_, -1), nullptr, 0);
    return said;
  }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

// The batches that were acknowledged.
void collect(const std::string& said, std::set<std::int64_t>& done) {
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("failed")));
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("done ")) {
      const bool is_new = done.insert(std::stoll(line.substr(5))).second;
      EXPECT_TRUE(is_new) << line << " twice";
    }
}

struct Kills {
  int rounds, rounds_of_a_study, rounds_of_a_server;
};

void expect_nothing_lost(const Kills& kills) {
  constexpr std::size_t workers_at_once = 4;
  constexpr unsigned longest_us = 60000;
  PostgresServer server;
  std::mt19937 random(1000);
  unsigned seed = 0;
  for (int round = 0; round < kills.rounds;) {
    const std::string url = server.new_database();
    const std::int64_t settings = 20 * kills.rounds_of_a_study;
    std::set<std::int64_t> acknowledged;
    std::vector<std::unique_ptr<Worker>> workers(workers_at_once);
    for (auto& worker : workers) worker = std::make_unique<Worker>(url, settings, ++seed);
    for (int i = 0; i < kills.rounds_of_a_study; ++i, ++round) {
      SCOPED_TRACE(testing::Message() << "round " << round);
      // The exact moment is what is tested; there is nothing to wait for.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % longest_us));
      auto& victim = workers[random() % workers.size()];
      collect(victim->end(true), acknowledged);
      if (round % kills.rounds_of_a_server == kills.rounds_of_a_server - 1) {
        server.kill();
        server.start();
      }
      victim = std::make_unique<Worker>(url, settings, ++seed);
      if (testing::Test::HasFailure()) return;
    }
    for (auto& worker : workers) {
      const std::string said = worker->end(false);
      EXPECT_THAT(said, testing::HasSubstr("nothing left"));
      collect(said, acknowledged);
    }
    const trial::Study study = store::open_store(url)->studies().at(0);
    std::map<std::int64_t, int> times;
    for (const trial::Trial& trial : study.trials) {
      ++times[trial.setting.batch];
      EXPECT_EQ(trial.outcome, trial::Outcome::ok);
    }
    EXPECT_EQ(times.size(), static_cast<std::size_t>(settings)) << "a setting was not done";
    EXPECT_EQ(study.trials.size(), times.size()) << "a setting was done twice";
    for (const std::int64_t batch : acknowledged)
      EXPECT_TRUE(times.contains(batch)) << batch << " was finished, and is gone";
    if (testing::Test::HasFailure()) return;
  }
}

TEST(KilledWorkers, LoseNothing) { expect_nothing_lost({6, 6, 3}); }

// Part of the label slow.
TEST(DISABLED_KilledWorkers, LoseNothingInTwoHundredRounds) { expect_nothing_lost({200, 25, 5}); }

}  // namespace
}  // namespace sweetspot::tests
