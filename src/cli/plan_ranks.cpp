#include "cli/plan_ranks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "cli/flags/flags.h"
#include "cli/link_file.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/study_workload.h"
#include "cluster/mpi/local_ranks.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "model/keras.h"
#include "probe/proc/host.h"
#include "workload/native/ranked_workload.h"

namespace sweetspot::cli {
namespace {

// If trials have no phases: backward does twice forward's arithmetic.
constexpr double usual_backward_share = 2. / 3;

double backward_share(std::span<const trial::Trial> trials, std::int64_t batch) {
  for (const trial::Trial& trial : trials) {
    if (trial.setting.batch != batch || !trial.phases) continue;
    const double backward = (*trial.phases)[static_cast<std::size_t>(trial::Phase::backward)];
    const double all = std::accumulate(trial.phases->begin(), trial.phases->end(), 0.0);
    if (backward > 0) return backward / all;
  }
  return usual_backward_share;
}

// Runs `link` with these flags on this many ranks on this machine.
LinkFile measured_link(int ranks, const std::vector<std::string>& asked) {
  std::string file = (std::filesystem::temp_directory_path() / "sweetspot-link-XXXXXX").string();
  const int descriptor = mkstemp(file.data());
  if (descriptor < 0)
    throw core::MachineError("no temporary file could be made; set TMPDIR, or give --link");
  close(descriptor);
  const std::atomic<int> stop{0};
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), "link",
                                 "--save", file};
  words.insert(words.end(), asked.begin(), asked.end());
  cluster::mpi::run_local_ranks(words, ranks, stop,
                                [](const std::string& line) { Output::talk(line); });
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  return text.str().empty() ? LinkFile() : read_link(text.str());  // its ranks reported the error
}

// The flags of `link` that measure steps of this workload, with the setting's batch on each rank.
std::vector<std::string> steps_asked(const NativeFlags& flags, trial::Setting setting, int ranks) {
  setting.batch *= ranks;
  report::Command train = train_command(flags);
  train.erase(train.begin());  // "sweetspot train"
  std::vector<std::string> asked;
  for (const report::CommandPart& part : train) {
    const std::vector<std::string> words = words_at(part, setting);
    asked.insert(asked.end(), words.begin(), words.end());
  }
  // As many as one process has; by default ranks would divide them.
  if (std::ranges::find(asked, "--threads") == asked.end())
    asked.insert(asked.end(), {"--threads", std::to_string(flags.options.threads)});
  return asked;
}

// Measures steps of a native workload, or all-reduces of a program's gradients, for each rank count
// that can be started here. The link fitted to the all-reduces of two ranks covers the others.
void measure_ranks(advise::RankPlanFacts& facts, const StudyFlags& study,
                   const trial::Setting& setting, std::span<const std::int64_t> ranks) {
  const bool makes_steps = !study.command.given() && !study.native.resolved().device.gpu;
  const auto measured = [&](int count) {
    trial::Setting of_rank = setting;
    if (facts.samples)  // a batch of all ranks has to fit into the data set
      of_rank.batch = std::min(
          of_rank.batch, *facts.samples / count / setting.accumulation * setting.accumulation);
    const LinkFile found = measured_link(
        count,
        makes_steps && of_rank.batch > 0
            ? steps_asked(study.native, of_rank, count)
            : std::vector<std::string>{"--gradients", fmt::format("{}B", facts.gradient_bytes)});
    if (found.steps)
      facts.machine->steps[count] = {
          of_rank.batch, found.steps->apart_seconds / found.steps->alone_seconds,
          std::max(found.steps->together_seconds - found.steps->apart_seconds, 0.0)};
    if (found.gradients_seconds) facts.machine->sum_seconds[count] = *found.gradients_seconds;
    return found.link;
  };
  const std::optional<collective::Link> link = measured(2);
  if (!link)
    throw core::MachineError("no link fits the sums that were timed here; give one with --link");
  facts.link = *link;
  for (const std::int64_t count : ranks)
    if (count > 2 && count <= most_ranks_here()) measured(static_cast<int>(count));
}

double rank_cost(const StudyFlags& study, const trial::Setting& setting) {
  constexpr core::Seconds time{1.5};
  workload::native::Options options = study.native.resolved();
  if (options.device.gpu) return 0;
  options.pipeline.batch = setting.batch;
  options.accumulation = setting.accumulation;
  return workload::native::rank_cost_seconds(
      workload::native::open(options, [](std::string_view) {}), setting, time);
}

// As the ranks sum them: the CPU engine pads layers to whole vectors.
core::Bytes gradient_bytes(const model::Network& network, bool on_gpu) {
  if (!on_gpu) return engine::cpu::planned_memory(network, {}, {})[core::Use::gradients];
  core::Bytes bytes = 0;
  for (const model::Parameter& parameter : model::parameters(network))
    if (parameter.trainable) bytes += static_cast<core::Bytes>(parameter.size()) * sizeof(float);
  return bytes;
}

}  // namespace

collective::Link parse_link(const std::string& text) {
  const auto refuse = [&] {
    return core::InputError(fmt::format(
        "--link '{}' is no bandwidth and latency; write for example 400Gb/s,2us or 10GB/s,5us",
        core::printable(text)));
  };
  const std::size_t comma = text.find(',');
  const std::size_t unit = text.find_first_not_of("0123456789.eE+-");
  if (comma == std::string::npos || unit == std::string::npos || unit > comma) throw refuse();
  const std::string word = text.substr(unit, comma - unit);
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr Unit units[] = {
      {"b/s", 1. / 8}, {"Kb/s", 1e3 / 8}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
      {"B/s", 1},      {"KB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12}};
  const auto found = std::ranges::find(units, word, &Unit::name);
  if (found == std::end(units)) throw refuse();
  collective::Link link;
  link.bytes_per_second =
      found->bytes * core::parse_real(text.substr(0, unit), "--link", {0, false}, {1e15});
  link.latency_seconds = core::parse_duration(text.substr(comma + 1), "--link").count();
  return link;
}

void add_plan_flags(CLI::App& app, PlanFlags& flags) {
  app.add_option("--plan-ranks", flags.ranks,
                 "predict speed, efficiency and the best global batch for these numbers of ranks, "
                 "such as 1..4096*2, without running them")
      ->type_name("RANGE");
  text_flag(app, "--link", "SPEED",
            "for --plan-ranks: the link between ranks on separate machines, such as 400Gb/s,2us "
            "[they share this machine, and all-reduces are timed]",
            [&flags](const std::string& text) { flags.link = parse_link(text); });
  text_flag(app, "--gradients", "SIZE",
            "for --plan-ranks: the gradients' bytes, for a program whose model is unknown",
            [&flags](const std::string& text) {
              flags.gradient_bytes = core::parse_bytes(text, "--gradients");
            });
}

void check_plan(const PlanFlags& flags, const StudyFlags& study) {
  if (flags.ranks.empty()) {
    if (flags.link || flags.gradient_bytes)
      throw core::InputError("--link and --gradients are for --plan-ranks; add it");
    return;
  }
  core::parse_range(flags.ranks, "--plan-ranks");
  if (study.command.given() && !flags.gradient_bytes)
    throw core::InputError(
        "what ranks of a program would sum is not known; add --gradients with the bytes of its "
        "trainable weights, such as --gradients 100MiB");
}

advise::RankPlan plan_of(const PlanFlags& flags, const StudyFlags& study,
                         const advise::Recommendation& made, std::span<const trial::Trial> trials,
                         std::optional<std::int64_t> samples) {
  advise::RankPlanFacts facts;
  for (const advise::BatchRow& row : made.rows)
    if (row.samples_per_second)
      facts.speeds.push_back(
          {row.batch, static_cast<double>(row.batch) / row.samples_per_second->mean});
  facts.backward_share = backward_share(trials, made.batch);
  if (!study.command.given()) facts.rank_seconds = rank_cost(study, made.setting);
  if (!flags.link)
    facts.machine = {
        probe::proc::usable_cores(),
        study.command.given() ? probe::proc::usable_cores() : study.native.options.threads,
        {},
        {}};
  facts.gradient_bytes = flags.gradient_bytes
                             ? *flags.gradient_bytes
                             : gradient_bytes(model::load_network(study.native.options.model),
                                              study.native.resolved().device.gpu.has_value());
  facts.link_measured = !flags.link;
  if (flags.link) facts.link = *flags.link;
  if (const auto noise = advise::noise_scale(made)) facts.noise_scale = noise->mean;
  facts.samples = samples;
  facts.tolerance = made.tolerance;
  std::vector<std::int64_t> ranks = core::parse_range(flags.ranks, "--plan-ranks");
  constexpr std::size_t most_rows = 20;
  if (ranks.size() > most_rows) {  // "1..4096" means the scale, not every number
    std::vector<std::int64_t> doubled;
    for (std::int64_t n = ranks.front(); n < ranks.back(); n *= 2) doubled.push_back(n);
    doubled.push_back(ranks.back());
    ranks = doubled;
  }
  if (facts.machine) measure_ranks(facts, study, made.setting, ranks);
  return advise::plan_ranks(facts, ranks);
}

}  // namespace sweetspot::cli
