#include "workload/command/process/descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <sstream>
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
  Descriptor write(ends[1]);  // not leaked if moving the other one fails
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

void wait_for_input(const std::vector<int>& numbers, double seconds) {
  std::vector<pollfd> all;
  for (const int number : numbers) all.push_back({number, POLLIN, 0});
  poll(all.data(), all.size(), static_cast<int>(std::ceil(std::max(0.0, seconds) * 1e3)));
}

std::optional<std::string> read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(file.number(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto text = read_file(path);
  std::uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{})
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> field(const std::string& text, const std::string& key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, key.size(), key) == 0) {
      const std::size_t from =
          text.find_first_not_of(" \t", at + key.size() + (text[at + key.size()] == ':'));
      std::uint64_t value = 0;
      if (from > at + key.size() && from < end &&
          std::from_chars(text.data() + from, text.data() + end, value).ec == std::errc{})
        return value;
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::vector<pid_t> numbers(const std::string& text) {
  std::vector<pid_t> found;
  std::istringstream words(text);
  for (pid_t number = 0; words >> number;) found.push_back(number);
  return found;
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  DIR* listing = opendir(folder.c_str());
  if (!listing) return names;
  while (const dirent* entry = readdir(listing))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  closedir(listing);
  return names;
}

bool write_file(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file &&
         write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace sweetspot::workload::command::process
