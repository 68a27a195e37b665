// Writes trials until it is killed or fails: the victim of the fault tests.
//   store_writer DATABASE SEED        with seed 0 it opens its study, writes nothing and waits
// A line on stdout for each thing that is on the disk: "opened ID" once, "trial N" after each
// add(); "failed SENTENCE" at the end of a run that failed.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <string>

#include "core/error.h"
#include "store/store.h"

namespace {

using namespace sweetspot;

// One write for each line, so that a killed process leaves no half of one.
void say(const std::string& line) {
  if (write(STDOUT_FILENO, (line + "\n").data(), line.size() + 1) < 0) std::_Exit(3);
}

trial::Trial trial_of(std::int64_t number, std::mt19937& random) {
  trial::Trial trial;
  trial.setting.batch = number;
  trial.samples_per_second = {9.0 * static_cast<double>(number), 1, 2};
  trial.raw.resize(random() % 2000, {0.001, number, {}, false, false});
  trial.steps = static_cast<std::int64_t>(trial.raw.size());
  return trial;
}

}  // namespace

int main(int, char** arguments) {
  std::signal(SIGXFSZ, SIG_IGN);  // as the program itself does
  std::mt19937 random(static_cast<unsigned>(std::atoi(arguments[2])));
  try {
    const auto store = store::open_store(arguments[1]);
    const auto writer =
        store->open_study({"fake", "question"}, {"program", "machine", "{}"}, false);
    say("opened " + std::to_string(writer->study().id));
    while (std::atoi(arguments[2]) == 0) pause();
    for (auto number = static_cast<std::int64_t>(writer->study().trials.size()) + 1;; ++number) {
      writer->add(trial_of(number, random));
      say("trial " + std::to_string(number));
    }
  } catch (const core::Error& error) {
    say(std::string("failed ") + error.what());
    return error.exit_code();
  }
}
