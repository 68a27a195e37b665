#include "workload/command/process/streams.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;
// A program that prints while we are busy should not block.
constexpr int pipe_bytes = 1024 * 1024;

Pair make_output_pipe() {
  Pair pipe = make_pipe();
  fcntl(pipe.write.number(), F_SETPIPE_SZ, pipe_bytes);  // or its default size
  return pipe;
}

// Raw: the bytes arrive as written, and "\n" stays "\n".
Pair make_terminal() {
  Descriptor ours = checked(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "a terminal");
  std::array<char, 64> name{};
  int theirs = -1;
  if (grantpt(ours.number()) == 0 && unlockpt(ours.number()) == 0 &&
      ptsname_r(ours.number(), name.data(), name.size()) == 0)
    theirs = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  Descriptor program = checked(theirs, "a terminal");
  termios mode{};
  tcgetattr(program.number(), &mode);
  cfmakeraw(&mode);
  tcsetattr(program.number(), TCSANOW, &mode);
  winsize size{};
  size.ws_row = 24, size.ws_col = 200;
  ioctl(program.number(), TIOCSWINSZ, &size);
  return {std::move(ours), std::move(program)};
}

// Reads one chunk; false if nothing is available. A stream that has ended is closed: a terminal
// reports EIO, a pipe zero bytes.
bool read_chunk(Descriptor& from, bool error_stream, std::vector<Chunk>& chunks) {
  if (!from) return false;
  std::array<char, chunk_bytes> buffer;
  ssize_t got = 0;
  do got = ::read(from.number(), buffer.data(), buffer.size());
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    from.close();
    return false;
  }
  chunks.push_back({error_stream, {buffer.data(), static_cast<std::size_t>(got)}, now_seconds()});
  return true;
}

}  // namespace

Streams::Streams(bool terminal) : piped_(!terminal) {
  Pair pair = terminal ? make_terminal() : make_output_pipe();
  output_ = std::move(pair.read);
  program_output_ = std::move(pair.write);
  if (!terminal) {
    Pair second = make_output_pipe();
    errors_ = std::move(second.read);
    program_errors_ = std::move(second.write);
  }
  for (const int number : open()) fcntl(number, F_SETFL, O_NONBLOCK);
}

void Streams::close_program_ends() {
  program_output_.close();
  program_errors_.close();
}

std::vector<int> Streams::open() const {
  std::vector<int> found;
  if (output_) found.push_back(output_.number());
  if (errors_) found.push_back(errors_.number());
  return found;
}

void Streams::read(std::vector<Chunk>& chunks, std::size_t limit) {
  // Alternating, so that a flood on one does not starve the other.
  std::size_t bytes = 0;
  for (bool more = true; more && bytes < limit;) {
    const std::size_t known = chunks.size();
    const bool some = read_chunk(output_, false, chunks);
    more = read_chunk(errors_, true, chunks) || some;
    bool full = false;
    for (std::size_t i = known; i < chunks.size(); ++i) {
      bytes += chunks[i].bytes.size();
      full = full || chunks[i].bytes.size() == chunk_bytes;
    }
    // A pipe returns all it has; a terminal some 4 KiB at a time.
    more = more && (full || !piped_);
  }
}

}  // namespace sweetspot::workload::command::process
