// Writes the reports that the browser tests open: `samples FOLDER`; or `samples FOLDER TRIALS
// STEPS` one large report, and says how long it took.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>

#include "advise/made.h"
#include "report/compare/formats.h"
#include "report/formats.h"
#include "report/html/html.h"
#include "report/paper/formats.h"
#include "report/paper_made.h"
#include "report/shown_study.h"
#include "trial/study.h"

namespace sweetspot {
namespace {

namespace fs = std::filesystem;

constexpr const char* study_key = R"({"terms": {"kind": "tune", "memory_share": 0.9, "limits":
  {"tolerance": 0.05, "min": 1, "max": 60000}}, "workload": {"model": {"name": "paper-cnn"}}})";

// A step time that varies as real ones do, with no randomness in it.
double wobble(std::size_t i) {
  const auto at = static_cast<double>(i);
  return 1 + 0.02 * std::sin(1.7 * at) + 0.01 * std::sin(0.31 * at);
}

void add_steps(trial::Trial& trial, std::size_t steps) {
  trial.warm_up_steps = static_cast<std::int64_t>(std::min<std::size_t>(5, steps));
  for (std::size_t i = 0; i < steps; ++i) {
    const bool warm_up = i < 5 || i % 97 == 80, outlier = i % 97 == 60;
    const double seconds = *trial.step_seconds_median * wobble(i) *
                           (warm_up   ? 1.5
                            : outlier ? 2
                                      : 1);
    trial.raw.push_back({seconds, trial.setting.batch, 1, {}, warm_up, outlier, 0});
  }
}

void add_trace(trial::Trial& trial) {
  for (int i = 0; i < 60; ++i) {
    const double busy = std::min(1.0, 0.3 + 0.01 * i) * wobble(static_cast<std::size_t>(i));
    trial.trace.push_back({0.1 * i, std::min(1.0, busy), *trial.memory_measured, 90 + 200 * busy});
  }
}

const std::vector<std::int64_t> batches{16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048};

// What a tune keeps of its answer.
std::string stored_answer(const std::vector<trial::Trial>& trials) {
  advise::Facts facts;
  facts.limits.max = 60000;
  advise::Recommendation made =
      *recommend(trials, tests::made_decision(batches, 0.002, 2.4e-5, 1024), facts);
  made.command = "sweetspot train --batch 1024";
  return advise::to_json({made});
}

trial::Study made_study(std::size_t steps) {
  trial::Study study;
  study.id = 3;
  study.study_key = {"tune paper-cnn on mnist", study_key};
  study.environment = {"sweetspot 0.1.0 (sample)", "a CPU of sixteen cores",
                       R"({"cpu": "a CPU", "usable_cores": 16, "memory_free_bytes": 90000000,
                         "facts": {"memory_by_use": [
                           {"batch": 64, "weights_bytes": 4000000, "activations_bytes": 7000000},
                           {"batch": 512, "weights_bytes": 4000000, "activations_bytes": 24000000}
                         ]}})"};
  study.end = trial::End::found;
  study.started_at = 1.79e9;
  std::int64_t id = 0;
  for (const std::int64_t batch : batches) {
    trial::Trial trial = tests::made_trial(batch, 0.002, 2.4e-5, batch > 600 ? 0.05 : 0.01);
    trial.id = ++id;
    trial.memory_predicted = static_cast<core::Bytes>(9'000'000 + 40'000 * batch);
    trial.memory_measured = *trial.memory_predicted * 101 / 100;
    trial.memory_by_use =
        core::MemoryByUse{{4'000'000, 0, 0, *trial.memory_measured - 4'000'000, 0, 0}};
    add_steps(trial, steps);
    add_trace(trial);
    study.trials.push_back(std::move(trial));
  }
  trial::Trial too_large;
  too_large.id = ++id;
  too_large.setting.batch = 4096;
  too_large.outcome = trial::Outcome::out_of_memory;
  too_large.note = "the limit of 160 MiB was reached";
  study.trials.push_back(too_large);
  study.answer = stored_answer(study.trials);
  return study;
}

// Whole training runs, of three seeds.
trial::Study made_runs() {
  trial::Study study = made_study(0);
  study.study_key = {"sweep paper-cnn on mnist", R"({"terms": {"kind": "sweep"}})"};
  study.end = trial::End::finished;
  study.answer.clear();
  study.trials.clear();
  for (const std::int64_t batch : {100, 200, 400, 800, 1000})
    for (std::uint64_t seed = 1000; seed < 1003; ++seed) {
      trial::Trial trial = tests::made_trial(batch, 0.002, 2.4e-5);
      trial.id = static_cast<std::int64_t>(study.trials.size()) + 1;
      trial.setting.seed = seed;
      for (int epoch = 1; epoch <= 5; ++epoch) {
        const double lost = 0.00006 * static_cast<double>(batch) / epoch + 0.012 / epoch;
        trial.epochs.push_back({epoch, 60000 / trial.samples_per_second->mean, 0.1 / epoch, 0.95,
                                0.1, 0.99 - lost - 0.001 * (static_cast<double>(seed) - 1001)});
      }
      study.trials.push_back(std::move(trial));
    }
  return study;
}

constexpr const char* hostile =
    "</script><script>document.title='taken'</script><img src=x "
    "onerror=\"document.title='taken'\">"
    "<a href=\"javascript:document.title='taken'\">x</a> \x1b[31m \u202egnp.exe \" ' <!-- "
    "\xff\xfe";

report::ShownStudy hostile_answer() {
  report::ShownStudy answer = report::shown_study(made_study(20));
  answer.workload = answer.number = answer.answer.message = answer.machine = hostile;
  answer.program = hostile;
  auto& made = std::get<advise::Recommendation>(answer.answer.content);
  made.command = made.contention_reason = made.setting.configuration.precision = hostile;
  made.notes = {hostile, "javascript:document.title='taken'"};
  made.reasons = {advise::Reason::note, advise::Reason::contended};
  const double infinity = std::numeric_limits<double>::infinity();
  for (trial::Trial& trial : answer.trials) {
    trial.note = trial.memory_source = hostile;
    trial.trace.push_back({infinity, NAN, {}, -infinity});
  }
  answer.trials[0].note += std::string(10'000'000, '<');
  answer.trials[0].outcome = trial::Outcome::crashed;
  answer.trials[1].setting.configuration.precision = hostile;
  answer.trials[2].samples_per_second = trial::Interval{NAN, -infinity, infinity};
  answer.trials[3].phases = trial::PhaseSeconds{NAN, infinity, 1, 0, 0};
  answer.trials[4].raw[3].seconds = NAN;
  return answer;
}

void speed_up(trial::Study& study, double factor) {
  study.answer.clear();  // by the trials alone
  for (trial::Trial& trial : study.trials)
    if (trial.samples_per_second)
      for (double* part : {&trial.samples_per_second->mean, &trial.samples_per_second->low,
                           &trial.samples_per_second->high})
        *part *= factor;
}

// Two studies of which the second is a quarter faster, on another machine; both so fast that the
// axis has long numbers.
std::string made_comparison() {
  trial::Study study = made_study(0), faster = made_study(0);
  faster.environment.machine = "a CPU of thirty-two cores";
  speed_up(study, 100), speed_up(faster, 125);
  return report::compare::html(report::compare::compare({"study 3", study}, {"study 4", faster}));
}

std::string hostile_comparison() {
  trial::Study study = made_study(0);
  study.study_key.workload = study.environment.program = study.environment.machine = hostile;
  study.study_key.json = R"({"terms": {"</script><script>document.title='taken'</script>": 1}})";
  for (trial::Trial& trial : study.trials)
    trial.device = trial.setting.configuration.precision = hostile;
  const double infinity = std::numeric_limits<double>::infinity();
  study.trials[1].samples_per_second = trial::Interval{NAN, -infinity, infinity};
  study.trials[2].samples_per_second = trial::Interval{infinity, 0, infinity};
  study.trials[3].samples_per_second = trial::Interval{-1, -2, 0};
  return report::compare::html(report::compare::compare({hostile, study}, {"B", made_study(0)}));
}

void write_samples(const fs::path& folder) {
  report::write_file(folder / "tune.html", report::html(report::shown_study(made_study(200))));
  report::write_file(folder / "runs.html", report::html(report::shown_study(made_runs())));
  report::write_file(folder / "hostile.html", report::html(hostile_answer()));
  report::write_file(folder / "compare.html", made_comparison());
  report::write_file(folder / "compare-hostile.html", hostile_comparison());
  const report::paper::Experiment paper =
      report::paper::made_experiment({{}, report::paper::slow_launches()});
  report::write_file(folder / "paper.html",
                     report::paper::html(paper, report::paper::judge(paper)));
  trial::Study nothing = made_study(0);
  nothing.trials.clear();
  nothing.answer.clear();
  report::write_file(folder / "nothing.html", report::html(report::shown_study(nothing)));
  const report::Live live{"events", "steps?trial=", ""};
  report::write_file(folder / "live.html", report::html(report::shown_study(made_study(20)), live));
}

void write_large(const fs::path& folder, std::size_t trials, std::size_t steps) {
  trial::Study study = made_study(0);
  study.trials.clear();
  for (std::size_t i = 0; i < trials; ++i) {
    trial::Trial trial = tests::made_trial(static_cast<std::int64_t>(8 + i), 0.002, 2.4e-5);
    trial.id = static_cast<std::int64_t>(i) + 1;
    add_steps(trial, steps);
    study.trials.push_back(std::move(trial));
  }
  study.study_key.json = R"({"terms": {"kind": "sweep"}})";
  study.answer.clear();
  report::ShownStudy answer = report::shown_study(std::move(study));
  const auto start = std::chrono::steady_clock::now();
  const std::string page = report::html(std::move(answer));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  report::write_file(folder / "large.html", page);
  fmt::print("{{\"generate_seconds\": {:.3f}, \"bytes\": {}}}\n", took.count(), page.size());
}

}  // namespace
}  // namespace sweetspot

int main(int count, char** arguments) {
  if (count == 2) sweetspot::write_samples(arguments[1]);
  if (count == 4)
    sweetspot::write_large(arguments[1], std::stoul(arguments[2]), std::stoul(arguments[3]));
  return count == 2 || count == 4 ? 0 : 2;
}
