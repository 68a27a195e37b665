// A worker of a shared study, until nothing is left: the victim of the kill tests.
//   queue_worker URL SETTINGS SEED
// Prints a line on stdout after each trial that is on the server's disk: "done BATCH".
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "core/error.h"
#include "store/store.h"

namespace {

using namespace sweetspot;

// One write per line, so that a killed process leaves no partial one.
void say(const std::string& line) {
  if (write(STDOUT_FILENO, (line + "\n").data(), line.size() + 1) < 0) std::_Exit(3);
}

std::vector<trial::Setting> settings(std::int64_t count) {
  std::vector<trial::Setting> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].batch = static_cast<std::int64_t>(i) + 1;
  return all;
}

// A restarting server rejects new connections.
std::unique_ptr<store::Queue> join(store::Store& store) {
  // Lost soon, and never given up: the test is that each setting is done in the end.
  const store::QueueTerms terms{core::Seconds(0.5), 1000};
  for (int attempt = 1;; ++attempt) try {
      return store.join_study({"fake", "question"}, {"program", "machine", "{}"}, terms);
    } catch (const core::MachineError&) {
      if (attempt == 200) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

}  // namespace

int main(int, char** arguments) {
  std::mt19937 random(static_cast<unsigned>(std::atoi(arguments[3])));
  try {
    const auto store = store::open_store(arguments[1]);
    const auto queue = join(*store);
    queue->plan(settings(std::atoi(arguments[2])));
    for (;;) {
      const auto claim = queue->claim();
      if (!claim) {
        if (queue->count().running == 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      // A trial takes some time, in which most workers die.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      queue->beat(*claim, 1);
      trial::Trial trial;
      trial.setting = claim->setting;
      trial.raw.resize(1 + random() % 200, {0.001, claim->setting.batch, 1, {}, false, false, 0});
      trial.steps = static_cast<std::int64_t>(trial.raw.size());
      if (queue->finish(*claim, trial)) say("done " + std::to_string(claim->setting.batch));
    }
    say("nothing left");
  } catch (const core::Error& error) {
    say(std::string("failed ") + error.what());
    return error.exit_code();
  }
}
