#include "workload/command/process/refusal.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::workload::command::process {
namespace {

std::string sentence(const std::string& program, int error) {
  const bool is_path = program.find('/') != program.npos;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return is_path
                 ? fmt::format(
                       "{} cannot be run: there is no such file, or its #! line names "
                       "none; check the path",
                       program)
                 : fmt::format("{} was not found on PATH; install it or give its path", program);
    case EACCES:
      return fmt::format("{} may not be executed; chmod +x it, or name its interpreter before it",
                         program);
    case ENOEXEC:
      return fmt::format("{} is no program and has no #! line; name its interpreter before it",
                         program);
    case E2BIG:
      return fmt::format("the arguments and environment of {} are too long; shorten them", program);
    default:
      return fmt::format("{} cannot be run: {}; try it by hand", program,
                         std::generic_category().message(error));
  }
}

}  // namespace

void refuse(const Launch& launch, const Word& word) {
  const std::string reason = std::generic_category().message(word.error);
  if (word.stage == Word::folder)
    throw core::InputError(fmt::format("the folder {} cannot be entered: {}; name one that can",
                                       core::printable(launch.folder->string()), reason));
  if (word.stage == Word::fork)
    throw core::MachineError(fmt::format(
        "cannot start another process: {}; see the limits on processes (ulimit -u) and free memory",
        reason));
  throw core::InputError(sentence(core::printable(launch.argv.front()), word.error));
}

}  // namespace sweetspot::workload::command::process
