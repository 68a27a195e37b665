// Writes trials until it is killed or fails: the victim of the fault tests.
//   store_writer DATABASE SEED        with seed 0 it opens its study, writes nothing and waits
// It measures in rounds: each save() has a new trial, and the previous one again, grown. The answer
// is the number of trials before that. One line on stdout for everything that is on disk: "opened
// ID" once, "trial N" after each save(); "failed SENTENCE" at the end of a failed run.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>

#include "core/error.h"
#include "store/store.h"

namespace {

using namespace sweetspot;

// One write per line, so that a killed process leaves no partial one.
void say(const std::string& line) {
  if (write(STDOUT_FILENO, (line + "\n").data(), line.size() + 1) < 0) std::_Exit(3);
}

trial::Trial trial_of(std::int64_t batch) {
  trial::Trial trial;
  trial.setting.batch = batch;
  trial.samples_per_second = {9.0 * static_cast<double>(batch), 1, 2};
  return trial;
}

void grow(trial::Trial& trial, std::mt19937& random) {
  const std::int32_t round = trial.raw.empty() ? 1 : trial.raw.back().round + 1;
  trial.raw.resize(trial.raw.size() + 1 + random() % 1000,
                   {0.001, trial.setting.batch, 1, {}, false, false, round});
  trial.steps = static_cast<std::int64_t>(trial.raw.size());
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
    for (std::vector<trial::Trial> trials = writer->study().trials;;) {
      writer->set_answer(std::to_string(trials.size()));
      trials.push_back(trial_of(static_cast<std::int64_t>(trials.size()) + 1));
      const auto taking_part = std::span(trials).last(std::min<std::size_t>(trials.size(), 2));
      for (trial::Trial& trial : taking_part) grow(trial, random);
      writer->save(taking_part);
      say("trial " + std::to_string(trials.size()));
    }
  } catch (const core::Error& error) {
    say(std::string("failed ") + error.what());
    return error.exit_code();
  }
}
