#include "workload/command/options.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/batch_destinations.h"
#include "workload/command/config_files.h"
#include "workload/command/output/reader.h"
#include "workload/command/redact.h"
#include "workload/command/template.h"

namespace sweetspot::workload::command {
namespace {

void check_hooks(const Options& options) {
  const std::pair<const char*, const std::optional<std::string>*> once[] = {
      {"--setup", &options.setup}, {"--cleanup", &options.cleanup}};
  for (const auto& [flag, hook] : once)
    if (*hook && used({**hook}) != Placeholders{})
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
  if (options.steps_regex) output::Reader{options.steps_regex};  // throws for a bad one
}

std::string title(const Options& options) {
  constexpr std::size_t longest = 80;
  std::string text = core::printable(fmt::format("{}", fmt::join(redacted(options.argv), " ")));
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole letters
  return text.substr(0, end) + "…";
}

}  // namespace sweetspot::workload::command
