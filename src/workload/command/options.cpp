#include "workload/command/options.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/config_files.h"
#include "workload/command/output/reader.h"
#include "workload/command/redact.h"
#include "workload/command/template.h"

namespace sweetspot::workload::command {
namespace {

bool has_batch(const std::string& text) {
  const Placeholders found = used({text});
  return found.contains("{batch}") || found.contains("{micro_batch}");
}

// Whether a shell's line reads the variable from the environment itself.
bool names_the_variable(const std::string& text) {
  return text.find("SWEETSPOT_BATCH") != std::string::npos ||
         text.find("SWEETSPOT_MICRO_BATCH") != std::string::npos;
}

std::string argument_place(const Options& options, std::size_t i) {
  if (options.shell || options.argv[i].find(' ') != std::string::npos)
    return "in the command line";  // for a shell line, arguments cannot be counted
  std::string place = fmt::format("as argument {}", i);
  const std::string& argument = options.argv[i];
  const bool alone = argument == "{batch}" || argument == "{micro_batch}";
  if (!alone) return fmt::format("{} ({})", place, core::printable(argument));
  if (i > 0 && options.argv[i - 1].starts_with('-'))
    place += fmt::format(", behind {}", core::printable(options.argv[i - 1]));
  return place;
}

}  // namespace

std::vector<std::string> batch_destinations(const Options& options) {
  std::vector<std::string> places;
  const auto add = [&](std::string place) {
    if (places.empty() || places.back() != place) places.push_back(std::move(place));
  };
  for (std::size_t i = 0; i < options.argv.size(); ++i)
    if (has_batch(options.argv[i])) add(argument_place(options, i));
  for (const auto& [name, value] : options.environment)
    if (has_batch(value)) add(fmt::format("in the environment variable {}", core::printable(name)));
  if (reads_batch_variable(options)) add("in the environment variable SWEETSPOT_BATCH");
  for (const Template& one : options.templates) {
    const std::string file = core::printable(template_name(one));
    if (!is_edited(options, one)) {
      if (has_batch(one.text)) add(fmt::format("in {}", file));
      continue;
    }
    for (const Edit& edit : edits_of(options, one))
      if (has_batch(edit.value)) add(fmt::format("as {} in {}", core::printable(edit.key), file));
  }
  if (options.prepare && has_batch(*options.prepare)) add("in --prepare");
  if (options.folder && has_batch(options.folder->string())) add("in --cwd");
  return places;
}

bool reads_batch_variable(const Options& options) {
  return options.batch_from_environment || std::ranges::any_of(options.argv, names_the_variable) ||
         (options.prepare && names_the_variable(*options.prepare));
}

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // its keys are sorted: one text per key

fs::path absolute_folder(const Options& options) {
  return fs::absolute(options.folder.value_or(".")).lexically_normal();
}

// The scripts among the arguments: an edited one is a different program. Other files are ignored,
// because the program may write them.
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
    scripts[argument] = core::fingerprint(std::string{std::istreambuf_iterator<char>(file), {}});
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
  // Absent if unused: what was measured before there were templates stays known.
  for (const Template& one : options.templates)
    json["templates"][one.file.string()] = {
        {"text", core::fingerprint(one.text)},
        {"copy", one.copy ? Json(one.copy->string()) : Json(nullptr)}};
  for (const Edit& edit : options.edits)
    json["set"].push_back(redacted(edit.key + "=" + edit.value));
  if (options.metric_regex) json["metric_regex"] = *options.metric_regex;
  if (options.scratch) json["scratch"] = true;
  if (options.gpus) json["gpus"] = *options.gpus;
  if (options.batch_is == trial::BatchIs::per_gpu) json["batch_is"] = "per_gpu";
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

bool is_on_path(const std::string& program, const Options& options) {
  std::istringstream folders(variable(options, "PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_there(options.folder.value_or(".") / fs::path(folder.empty() ? "." : folder) / program))
      return true;
  return false;
}

}  // namespace

std::optional<std::string> variable(const Options& options, const std::string& name) {
  std::optional<std::string> last;
  if (const char* ours = std::getenv(name.c_str())) last = ours;
  for (const auto& [known, value] : options.environment)
    if (known == name) last = value;
  return last;
}

void check_program_file(const Options& options) {
  std::error_code error;
  if (options.prepare) return;
  if (options.folder && options.folder->string().find('{') != std::string::npos) return;
  if (options.folder && !fs::is_directory(*options.folder, error))
    throw core::InputError(fmt::format("--cwd {} is no folder; name one that is there",
                                       core::printable(options.folder->string())));
  const std::string& program = options.argv.front();
  if (options.shell || program.find('{') != std::string::npos) return;
  const bool is_path = program.find('/') != std::string::npos;
  if (is_path ? is_there(options.folder.value_or(".") / fs::path(program))
              : is_on_path(program, options))
    return;
  const char* way_out = is_path ? "is no program that can be run; check its path, chmod +x it, or "
                                  "name its interpreter before it"
                                : "was not found on PATH; install it, or give its path";
  throw core::InputError(fmt::format("{} {}", core::printable(program), way_out));
}

namespace {

void check_hooks(const Options& options) {
  const std::pair<const char*, const std::optional<std::string>*> once[] = {
      {"--setup", &options.setup}, {"--cleanup", &options.cleanup}};
  for (const auto& [flag, hook] : once)
    if (*hook && !used({**hook}).empty())
      throw core::InputError(fmt::format(
          "{} is run once, for no batch in particular; put what has a placeholder into {}", flag,
          hook == &options.setup ? "--prepare" : "--conclude"));
}

bool is_stream_socket(int number) {
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
         ::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX &&
         type == SOCK_STREAM;
}

}  // namespace

void check(const Options& options) {
  if (options.argv.empty() || options.argv.front().empty())
    throw core::InputError("there is no command after --; write one, like -- python train.py");
  check_templates(options);
  check_hooks(options);
  if (batch_destinations(options).empty())
    throw core::InputError(fmt::format(
        "the command '{}' does not say where its batch size goes; write {{batch}} in its place "
        "among the arguments, or use --env NAME={{batch}}, --template FILE with {{batch}} in the "
        "file or with --set KEY={{batch}}, --prepare or --cwd with {{batch}}, or --batch-from-env "
        "when the program reads SWEETSPOT_BATCH or opens a session",
        title(options)));
  if (options.caller && !is_stream_socket(*options.caller))
    throw core::InputError(fmt::format(
        "--attach {} is no open Unix stream socket; it is for a program that starts sweetspot and "
        "trains itself (docs/protocol.md)",
        *options.caller));
  if (!(options.timeout.count() > 0))
    throw core::InputError("--timeout must be more than 0 seconds; leave it out for 2 minutes");
  if (!(options.grace.count() >= 0))
    throw core::InputError("--grace must not be negative; leave it out for 5 seconds");
  if (options.samples_per_run && *options.samples_per_run < 1)
    throw core::InputError("--samples-per-run must be at least 1; say how many a run trains on");
  if (options.metric) output::MetricRegex(*options.metric, options.metric_regex);
  if (options.steps_regex) output::Reader{options.steps_regex};  // throws for an invalid one
}

std::string title(const Options& options) {
  constexpr std::size_t longest = 80;
  std::string text = core::printable(fmt::format("{}", fmt::join(redacted(options.argv), " ")));
  return text.size() <= longest ? text : std::string(core::shortened(text, longest)) + "…";
}

}  // namespace sweetspot::workload::command
