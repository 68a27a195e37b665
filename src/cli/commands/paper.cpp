#include "sweep/paper.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/cluster.h"
#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/flags/flags.h"
#include "cli/flags/study_flags.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/study_workload.h"
#include "core/error.h"
#include "core/text.h"
#include "report/formats.h"
#include "report/paper/formats.h"
#include "store/store.h"
#include "workload/native/device.h"

namespace sweetspot::cli {
namespace {

namespace paper = report::paper;

struct PaperFlags {
  bool quick = false, sharpness = false;
  int seeds = 1;
  std::string device = "all";
  std::filesystem::path output = "sweetspot-paper.html";
  StudyFlags study;  // common to all studies: the store, --fresh, --json, --data
  ClusterFlags cluster;
};

// One device's part of the experiment, as a separate study.
struct Part {
  study::Result result;
  paper::Device device;
};

// The trials with their readings, which a writer does not keep in memory.
std::vector<trial::Trial> with_readings(const store::Store& store, std::int64_t study,
                                        const study::Result& result) {
  if (result.answer.end == trial::End::store_failed) return result.trials;
  const auto kept = store.study(study);
  return kept ? kept->trials : result.trials;
}

// For any batches and seeds: a quick run's trials count in the full one.
advise::Request request_of(const PaperFlags& flags, const sweep::PaperPlan& plan,
                           const StudyWorkload& opened) {
  advise::Request request = request_of(flags.study, opened, advise::Request::Kind::paper);
  request.epochs = plan.epochs;
  request.sharpness = flags.sharpness && !opened.device.gpu;
  return request;
}

sweep::SweepOptions options_of(const PaperFlags& flags, const sweep::PaperPlan& plan,
                               const StudyWorkload& opened) {
  sweep::SweepOptions options = sweep::paper_sweep(plan, opened.base);
  options.limits = advise::limits_of(request_of(flags, plan, opened), opened.facts);
  return options;
}

trial::StudyKey study_key_of(const PaperFlags& flags, const sweep::PaperPlan& plan,
                             const StudyWorkload& opened) {
  return advise::study_key(opened.title, request_of(flags, plan, opened));
}

// The trials as tasks of a cluster, and the study that has them.
study::Result run_on_cluster(const PaperFlags& flags, const sweep::PaperPlan& plan,
                             const StudyWorkload& opened, store::Store& store,
                             trial::Study& study) {
  const sweep::SweepOptions options = options_of(flags, plan, opened);
  study::Observer nobody;
  const ClusterSweep found =
      sweep_on_cluster(flags.cluster, flags.study, opened, study_key_of(flags, plan, opened),
                       options, store, [&](store::Writer& whole) {
                         return sweep::sweep(*opened.training, plan.epochs, whole, options, nobody,
                                             CountSignals::presses());
                       });
  if (!found.note.empty()) Output::talk(fmt::format("sweetspot: {}", found.note));
  if (found.study) study = *found.study;
  return found.result;
}

study::Result run_here(const PaperFlags& flags, const sweep::PaperPlan& plan,
                       const StudyWorkload& opened, store::Store& store, trial::Study& study) {
  const std::unique_ptr<store::Writer> writer = store.open_study(
      study_key_of(flags, plan, opened), store_environment(opened), flags.study.fresh);
  study = writer->study();
  LiveStudy live({fmt::format("the paper on the {}", opened.device.gpu ? "GPU" : "CPU"),
                  flags.study.precision, plan.batches.size() * plan.seeds.size()});
  return sweep::sweep(*opened.training, plan.epochs, *writer, options_of(flags, plan, opened), live,
                      CountSignals::presses());
}

Part run_part(const PaperFlags& flags, const sweep::PaperPlan& plan, const StudyWorkload& opened,
              store::Store& store) {
  Part part;
  trial::Study study;
  study.environment = store_environment(opened);
  part.result = flags.cluster.given() ? run_on_cluster(flags, plan, opened, store, study)
                                      : run_here(flags, plan, opened, store, study);
  part.device.name = name(opened.device);
  part.device.hardware = opened.device.gpu ? opened.device.model : study.environment.machine;
  part.device.study = std::to_string(study.id);
  part.device.trials = with_readings(store, study.id, part.result);
  return part;
}

std::string started(const paper::Experiment& experiment) {
  double first = 0;
  for (const paper::Device& device : experiment.devices)
    for (const trial::Trial& trial : device.trials)
      if (trial.started_at > 0 && (first == 0 || trial.started_at < first))
        first = trial.started_at;
  if (first == 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(first)));
}

void show(const PaperFlags& flags, const paper::Experiment& experiment, Output& output) {
  const std::vector<paper::Claim> claims = paper::judge(experiment);
  report::write_file(flags.output, paper::html(experiment, claims));
  if (flags.study.markdown)
    report::write_file(*flags.study.markdown, paper::markdown(experiment, claims));
  if (flags.study.native.json) {
    nlohmann::ordered_json json = paper::json(experiment, claims);
    json["output"] = flags.output.string();
    output.print_json(json);
  } else {
    output.print(paper::text(experiment, claims));
  }
  Output::talk(fmt::format("the figures are in {}", core::printable(flags.output.string())));
}

std::string training_words(const PaperFlags& flags) {
  const engine::Optimizer& optimizer = flags.study.native.resolved().optimizer;
  return fmt::format("{} at {:g} with Keras' other defaults, fp32", name(optimizer.kind),
                     optimizer.learning_rate);
}

bool any_ok(const std::vector<paper::Device>& devices) {
  for (const paper::Device& device : devices)
    for (const trial::Trial& trial : device.trials)
      if (trial.outcome == trial::Outcome::ok) return true;
  return false;
}

// Opens the workload on each device that takes part; without a GPU, says why.
std::vector<StudyWorkload> open_devices(const PaperFlags& flags, std::string& no_gpu) {
  std::vector<StudyWorkload> opened;
  StudyFlags asked = flags.study;
  if (flags.device != "cuda") {
    asked.native.device = "cpu";
    opened.push_back(open_training(asked, flags.sharpness));
  }
  if (flags.device == "cpu") return no_gpu = "--device cpu left it out", std::move(opened);
  asked.native.device = "cuda";
  try {
    workload::native::choose_device(asked.native.device);
  } catch (const core::InputError& error) {
    if (flags.device == "cuda") throw;
    no_gpu = error.what();
    // The remedy, which is the CPU, is already taken.
    no_gpu.resize(std::min(no_gpu.find(';'), no_gpu.size()));
    return opened;
  }
  opened.push_back(open_training(asked));
  return opened;
}

int run(const PaperFlags& flags, Output& output) {
  report::check_can_write(flags.output, "--output");
  check_exports(flags.study);
  const std::unique_ptr<store::Store> store = store::open_store(store::store_url(flags.study.db));
  const sweep::PaperPlan plan = sweep::paper_plan(flags.quick, flags.seeds);
  paper::Experiment experiment;
  experiment.batches = plan.batches;
  experiment.epochs = plan.epochs;
  experiment.quick = flags.quick;
  experiment.training = training_words(flags);
  const CountSignals signals;
  if (const auto task = cluster_task(); task && flags.cluster.given()) {
    std::string ignored;
    const StudyWorkload opened = std::move(open_devices(flags, ignored).front());
    return run_cluster_task(*task, flags.study, opened, study_key_of(flags, plan, opened),
                            options_of(flags, plan, opened), plan.epochs);
  }
  study::Result last;
  for (const StudyWorkload& opened : open_devices(flags, experiment.no_gpu)) {
    if (experiment.workload.empty()) experiment.workload = opened.title;
    experiment.test_samples = opened.training->test_samples().value_or(1);
    const trial::Environment environment = store_environment(opened);
    experiment.program = environment.program;
    experiment.environment_json = environment.json;
    const Part part = run_part(flags, plan, opened, *store);
    experiment.devices.push_back(part.device);
    experiment.seconds += part.result.spent.count();
    experiment.resumed += part.result.resumed;
    last = part.result;
    if (is_cut_short(last.answer.end)) break;
  }
  experiment.started = started(experiment);
  // One device is enough.
  if (last.answer.end == trial::End::nothing_feasible && any_ok(experiment.devices))
    last.answer.end = trial::End::finished, last.answer.message.clear();
  experiment.status = name(last.answer.end);
  experiment.message = last.answer.message;
  show(flags, experiment, output);
  if (!experiment.message.empty()) Output::talk(fmt::format("sweetspot: {}", experiment.message));
  return exit_code(last.answer.end);
}

}  // namespace

void add_paper(CLI::App& app, Action& chosen, const std::vector<std::string>& given) {
  CLI::App* command = app.add_subcommand(
      "paper", "run the paper's experiment on this machine, and judge each of its claims");
  const auto flags = std::make_shared<PaperFlags>();
  StudyFlags& study = flags->study;
  command->add_flag("--quick", flags->quick, "only three of the ten batches: about a minute");
  whole_flag(*command, "--seeds", flags->seeds, {1, 1000},
             "runs of each batch, with seeds from the paper's 1000 on");
  command->add_flag("--sharpness", flags->sharpness,
                    "measure where each run on the CPU ends: are the minima of larger batches "
                    "sharper, and do they generalise worse?");
  command->add_option("--output", flags->output, "the page to write, with the figures")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--export-markdown", study.markdown, "write the verdicts and tables here too")
      ->type_name("FILE");
  text_flag(*command, "--device", "NAME", "all: the CPU, and the GPU if one can be used; cpu; cuda",
            [flags](const std::string& word) {
              index_of(word, {"all", "cpu", "cuda"}, "--device");
              flags->device = word;
            })
      ->default_str(flags->device);
  whole_flag(*command, "--threads", study.native.options.threads, {1, most_threads},
             "threads that compute");
  command->add_option("--data", study.native.options.data)->group("");  // hidden: small, for tests
  command->add_flag("--fresh", study.fresh, "train again what the store already has");
  db_flag(*command, study.db);
  command->add_flag("--json", study.native.json, "the result as one JSON object on stdout");
  add_cluster_flags(*command, flags->cluster);
  command->footer("\nExample:\n  sweetspot paper --quick");
  command->callback([&chosen, &given, flags] {
    flags->cluster.arguments = given;
    // Its tasks use one device; which nodes have a GPU is unknown here.
    if (flags->cluster.given() && flags->device == "all") flags->device = "cpu";
    chosen = [flags](Output& output) { return run(*flags, output); };
  });
}

}  // namespace sweetspot::cli
