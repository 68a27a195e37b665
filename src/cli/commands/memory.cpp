#include "workload/native/memory.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/flags/flags.h"
#include "cli/flags/native_flags.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/number.h"
#include "core/text.h"
#include "model/keras.h"
#include "probe/proc/host.h"
#include "report/table.h"
#include "workload/native/data_choice.h"
#include "workload/native/resident.h"

namespace sweetspot::cli {
namespace {

namespace native = workload::native;
using Json = nlohmann::ordered_json;

struct MemoryFlags {
  NativeFlags native;
  std::string batches = "16..4096*2";
  std::optional<core::Bytes> limit;
};

struct Row {
  std::int64_t batch = 0;
  core::MemoryByUse memory;
};

struct Answer {
  std::string model, data;
  std::vector<Row> rows;
  std::optional<core::Bytes> limit;
  bool limit_is_machine = false;
  std::optional<std::int64_t> largest;
  std::size_t samples = 0;
  native::Device device;
  bool resident = false;  // the data set is on the GPU
};

// A GPU with a given limit need not exist: the plan is the same.
native::Options options_of(const MemoryFlags& flags) {
  NativeFlags asked = flags.native;
  const auto gpu = flags.limit ? native::planned_gpu(asked.device, *flags.limit) : std::nullopt;
  if (!gpu) return asked.resolved();
  asked.device = "cpu";
  native::Options options = asked.resolved();
  options.device = *gpu;
  return options;
}

// The device's free memory; for a host minus the data set, which a run also holds.
std::optional<core::Bytes> machine_limit(const native::Device& device,
                                         const data::Dataset& dataset) {
  if (device.gpu) return engine::cuda::free_memory(*device.gpu);
  const auto free = probe::proc::memory().free;
  if (!free) return std::nullopt;
  return *free - std::min(*free, native::sample_bytes(dataset));
}

// A run of several batches holds a plan for each: that does not fit this table.
void refuse_changing_batch(const std::string& batches) {
  if (batches.find('@') != std::string::npos || native::asks_for_dynamic_batch(batches))
    throw core::InputError(
        fmt::format("memory is predicted for fixed batches, not for '{}'; write them as 64,256 or "
                    "16..4096*2",
                    core::printable(batches)));
}

Answer find(const MemoryFlags& flags) {
  refuse_changing_batch(flags.batches);
  native::Options options = options_of(flags);
  const std::vector<std::int64_t> batches = core::parse_range(flags.batches, "--batch");
  const model::Network network = model::load_network(options.model);
  const model::Loss loss = native::trainer_options(options, network).loss;
  const data::Dataset dataset = native::describe_data(options.data, network, loss);
  Answer answer;
  answer.model = network.name;
  answer.data = dataset.name;
  answer.samples = dataset.train.count;
  for (const std::int64_t batch : batches) {
    options.pipeline.batch = batch;
    check(options);
    answer.rows.push_back({batch, native::predict(network, options, dataset)});
  }
  answer.device = options.device;
  answer.resident = native::is_resident(options, dataset);
  answer.limit_is_machine = !flags.limit;
  answer.limit = flags.limit ? flags.limit : machine_limit(options.device, dataset);
  if (answer.limit)
    answer.largest = native::largest_batch(network, options, dataset, *answer.limit);
  return answer;
}

Json json_of(const Answer& answer) {
  Json json = result_object();
  json["model"] = answer.model;
  json["data"] = answer.data;
  json["device"] = name(answer.device);
  json["data_on_device"] = answer.resident;
  json["rows"] = Json::array();
  for (const Row& row : answer.rows) {
    Json fields{{"batch", row.batch}, {"total_bytes", row.memory.total()}};
    for (const core::Use use : uses) fields[std::string(name(use)) + "_bytes"] = row.memory[use];
    fields["fits"] = answer.limit ? Json(row.memory.total() <= *answer.limit) : Json(nullptr);
    json["rows"].push_back(std::move(fields));
  }
  json["limit_bytes"] = answer.limit;
  json["limit_source"] = answer.limit_is_machine ? "machine" : "flag";
  json["largest_batch"] = answer.largest;
  return json;
}

std::string text_of(const Answer& answer) {
  std::vector<report::Column> columns{{"batch"}, {"total"}};
  for (const core::Use use : uses) columns.push_back({std::string(name(use))});
  columns.push_back({"fits", true});
  report::Table table(std::move(columns));
  for (const Row& row : answer.rows) {
    std::vector<std::string> cells{core::format_count(static_cast<double>(row.batch)),
                                   core::format_bytes(row.memory.total())};
    for (const core::Use use : uses) cells.push_back(core::format_bytes(row.memory[use]));
    cells.push_back(!answer.limit                         ? std::string(report::unknown)
                    : row.memory.total() <= *answer.limit ? "yes"
                                                          : "no");
    table.add(std::move(cells));
  }
  return table.text();
}

std::string limit_words(const Answer& answer) {
  if (!answer.limit_is_machine) return "of --limit";
  if (!answer.device.gpu) return "free on this machine beside the data set";
  return fmt::format("free on {} ({})", name(answer.device), answer.device.model);
}

std::string sentence_of(const Answer& answer) {
  if (!answer.limit)
    return "how much memory is free here is unknown; pass --limit to get the largest batch";
  const std::string limit =
      fmt::format("{} {}", core::format_bytes(*answer.limit), limit_words(answer));
  if (!answer.largest) return fmt::format("no batch fits in the {}", limit);
  std::string text = fmt::format("the largest batch that fits in the {} is {}", limit,
                                 core::format_count(static_cast<double>(*answer.largest)));
  if (static_cast<std::size_t>(*answer.largest) > answer.samples)
    text += fmt::format(", more than the {} samples of {}",
                        core::format_count(static_cast<double>(answer.samples)),
                        core::printable(answer.data));
  if (answer.device.gpu)
    text += answer.resident ? "; the input column holds the data set, which lies on the GPU"
                            : "; the data set is fed from the host";
  return text;
}

int memory(const MemoryFlags& flags, Output& output) {
  const Answer answer = find(flags);
  if (flags.native.json) {
    output.print_json(json_of(answer));
  } else {
    output.print(text_of(answer));
    output.print(fmt::format("\n{}\n", sentence_of(answer)));
  }
  return answer.limit && !answer.largest ? nothing_feasible_exit : 0;
}

}  // namespace

void add_memory(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "memory",
      "memory by category over batch sizes, and the largest batch that fits; runs nothing");
  const auto flags = std::make_shared<MemoryFlags>();
  command
      ->add_option("--batch", flags->batches,
                   "batches: 128 or 16,32,64 or 16..4096*2 or 100..1000+100")
      ->type_name("RANGE")
      ->capture_default_str();
  text_flag(
      *command, "--limit", "BYTES", "memory limit of a run, such as 4GiB [the free memory here]",
      [flags](const std::string& text) { flags->limit = core::parse_bytes(text, "--limit"); });
  add_memory_flags(*command, flags->native);
  command->footer(
      "\nExample:\n  sweetspot memory --model rgb128-cnn --batch 8..512*2 --limit 4GiB");
  command->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return memory(*flags, output); }; });
}

}  // namespace sweetspot::cli
