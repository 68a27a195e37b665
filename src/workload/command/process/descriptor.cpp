#include "workload/command/process/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace sweetspot::workload::command::process {

Descriptor checked(int number, const char* what) {
  Descriptor given(number);
  if (given && number > STDERR_FILENO) return given;
  if (given) given = Descriptor(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!given)
    throw core::MachineError(
        fmt::format("cannot make {} for a program: {}; see the limits on open files (ulimit -n)",
                    what, std::generic_category().message(errno)));
  return given;
}

Pair make_pipe() {
  int ends[2] = {-1, -1};
  const int failed = pipe2(ends, O_CLOEXEC);
  if (failed) checked(-1, "a pipe");
  Descriptor write(ends[1]);  // not lost when moving the other up fails
  Descriptor read = checked(ends[0], "a pipe");
  return {std::move(read), checked(write.release(), "a pipe")};
}

Pair make_sockets() {
  int ends[2] = {-1, -1};
  const int failed = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
  if (failed) checked(-1, "a socket");
  Descriptor write(ends[1]);
  Descriptor read = checked(ends[0], "a socket");
  return {std::move(read), checked(write.release(), "a socket")};
}

Descriptor open_null() {
  return checked(open("/dev/null", O_RDONLY | O_CLOEXEC), "an empty input");
}

}  // namespace sweetspot::workload::command::process
