// Output: floods, silence, and streams that end before the program does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include "workload/command/process_support.h"

namespace sweetspot::workload::command::process {
namespace {

constexpr std::size_t most_per_call = core::MiB + 2 * 64 * core::KiB;

std::size_t size_of(const std::vector<Chunk>& chunks) {
  std::size_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += chunk.bytes.size();
  return bytes;
}

TEST(ProcessOutput, AFloodComesWholeAndInBoundedPortions) {
  constexpr std::size_t flood_bytes = 200 * core::MiB;
  Process process(shell("head -c " + std::to_string(flood_bytes) + " /dev/zero"));
  std::size_t bytes = 0;
  double last = 0;
  while (!process.ended() || !process.descriptors().empty()) {
    std::vector<pollfd> wait;
    for (const int number : process.descriptors()) wait.push_back({number, POLLIN, 0});
    poll(wait.data(), wait.size(), -1);
    const auto chunks = process.take();
    ASSERT_LE(size_of(chunks), most_per_call);
    for (const Chunk& chunk : chunks) {
      ASSERT_GE(chunk.at_seconds, last);
      last = chunk.at_seconds;
    }
    bytes += size_of(chunks);
  }
  EXPECT_EQ(bytes, flood_bytes);
}

TEST(ProcessOutput, AFloodThatNobodyTookDoesNotKeepATreeFromEnding) {
  Process process(
      shell("trap 'head -c 50000000 /dev/zero; echo end; exit 0' TERM; echo ready\n"
            "while :; do read x; done"));
  read_until(process, "ready");
  EXPECT_EQ(process.end(core::Seconds(60)).exit_code, 0);
  const auto first = process.take();
  EXPECT_LE(size_of(first), 2 * most_per_call);
  EXPECT_THAT(first.back().bytes + read_all(process).out, testing::HasSubstr("end\n"));
}

TEST(ProcessOutput, AProgramMayCloseItsOutputAndLive) {
  Process process(shell("echo last; exec >&- 2>&-; while :; do read x; done"));
  std::string output;
  while (process.descriptors().size() > 1) output += read_some(process).out;
  const std::vector<int> left = process.descriptors();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(output, "last\n");
  EXPECT_FALSE(process.ended());
  pollfd wait{left.front(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0) << "nothing is readable that would keep a loop spinning";
  EXPECT_EQ(process.end(core::Seconds(0)).signal, SIGKILL);
}

TEST(ProcessOutput, BytesComeAsTheyWereWritten) {
  for (const bool terminal : {false, true}) {
    Launch launch = python("import os; os.write(1, bytes(range(256)))");
    launch.terminal = terminal;
    Process process(launch);
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
    EXPECT_EQ(read_all(process).out, all);
  }
}

}  // namespace
}  // namespace sweetspot::workload::command::process
