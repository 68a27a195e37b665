#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "workload/command/options.h"
#include "workload/command/redact.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // its keys are sorted: one text for one question

// FNV-1a: tells an edited script from the one before, nothing more.
std::string fingerprint(const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

fs::path absolute_folder(const Options& options) {
  return fs::absolute(options.folder.value_or(".")).lexically_normal();
}

// Of the scripts among the arguments: an edited one is another program. Other files are left out,
// for they may be what the program writes.
Json scripts_json(const Options& options) {
  constexpr std::array<std::string_view, 8> endings{".py", ".sh", ".js", ".mjs",
                                                    ".ts", ".jl", ".R",  ".lua"};
  Json scripts = Json::object();
  for (const std::string& argument : options.argv) {
    const fs::path path = absolute_folder(options) / argument;
    std::error_code error;
    if (std::ranges::find(endings, path.extension().string()) == endings.end() ||
        !fs::is_regular_file(path, error))
      continue;
    std::ifstream file(path, std::ios::binary);
    scripts[argument] = fingerprint({std::istreambuf_iterator<char>(file), {}});
  }
  return scripts;
}

Json hook_json(const std::optional<std::string>& hook) {
  return hook ? Json(redacted(*hook)) : Json(nullptr);
}

template <class Number>
Json number_json(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

}  // namespace

std::string identity_json(const Options& options) {
  Json environment = Json::object();
  for (const auto& [name, value] : redacted(options.environment)) environment[name] = value;
  Json json = {{"argv", redacted(options.argv)},
               {"shell", options.shell},
               {"setup", hook_json(options.setup)},
               {"prepare", hook_json(options.prepare)},
               {"conclude", hook_json(options.conclude)},
               {"cleanup", hook_json(options.cleanup)},
               {"environment", std::move(environment)},
               {"folder", absolute_folder(options).string()},
               {"scripts", scripts_json(options)},
               {"steps_regex", number_json(options.steps_regex)},
               {"samples_per_run", number_json(options.samples_per_run)}};
  // Absent where not used: what was measured before there were templates stays known.
  for (const Template& one : options.templates)
    json["templates"][one.file.string()] = {
        {"text", fingerprint(one.text)},
        {"copy", one.copy ? Json(one.copy->string()) : Json(nullptr)}};
  for (const Edit& edit : options.edits)
    json["set"].push_back(redacted(edit.key + "=" + edit.value));
  if (options.metric_regex) json["metric_regex"] = *options.metric_regex;
  if (options.scratch) json["scratch"] = true;
  if (options.gpus) json["gpus"] = *options.gpus;
  if (options.batch_is == trial::BatchIs::per_gpu) json["batch_is"] = "per_gpu";
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sweetspot::workload::command
