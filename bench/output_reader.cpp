// The speed of the output parser, in MB/s for each kind of output: floods of plain lines, logs with
// a counter, bars. Argument: MB of each (64). The best of three, in pipe-sized chunks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "workload/command/output/reader.h"

namespace {

using sweetspot::workload::command::output::Reader;
using Clock = std::chrono::steady_clock;

constexpr std::size_t chunk_bytes = 64 << 10;

template <class Line>
std::string repeated(std::size_t bytes, Line line) {
  std::string text;
  for (int step = 0; text.size() < bytes; ++step) text += line(step);
  return text;
}

double megabytes_per_second(const std::string& text) {
  Reader reader;
  const auto start = Clock::now();
  double seconds = 0;
  for (std::size_t at = 0; at < text.size(); at += chunk_bytes) {
    reader.feed(std::string_view(text).substr(at, chunk_bytes), seconds += 0.01);
    reader.take();
  }
  return static_cast<double>(text.size()) * 1e-6 /
         std::chrono::duration<double>(Clock::now() - start).count();
}

void measure(const char* name, const std::string& text) {
  double best = 0;
  for (int round = 0; round < 3; ++round) best = std::max(best, megabytes_per_second(text));
  fmt::print("{:<24}{:8.0f} MB/s\n", name, best);
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t bytes =
      static_cast<std::size_t>(count > 1 ? std::atoi(arguments[1]) : 64) * 1000000;
  measure(
      "words", repeated(bytes, [](int) {
        return std::string("the quick brown fox jumps over the lazy dog and runs away from it\n");
      }));
  measure("compiler output", repeated(bytes, [](int step) {
            return fmt::format(
                "[{}/9000] Building CXX object src/core/CMakeFiles/core.dir/text_{}.cpp.o\n",
                step % 9000, step % 77);
          }));
  measure("numbers", repeated(bytes, [](int step) {
            return fmt::format("{} {:.4f} {:.4f} {:.4f} {:.4f}\n", step, step * 0.1, 0.5,
                               1e-3 * step, 2.25);
          }));
  measure(
      "log of steps", repeated(bytes, [](int step) {
        return fmt::format(
            "2026-01-01 10:00:00,123 INFO train: epoch=1 step={} loss={:.4f} lr=0.001 time=0.123\n",
            step, 2.5 / (step + 1));
      }));
  measure("log of steps of total", repeated(bytes, [](int step) {
            return fmt::format("Epoch 1/10 | step {}/100000000 | loss {:.4f} | lr 0.001\n", step,
                               2.5 / (step + 1));
          }));
  measure("log of brackets", repeated(bytes, [](int step) {
            return fmt::format(
                "Epoch: [0][{:5d}/99999999]\tTime  0.500 ( 0.600)\tLoss {:.4e} (6.9e+00)\n", step,
                2.5 / (step + 1));
          }));
  measure("JSON lines", repeated(bytes, [](int step) {
            return fmt::format("{{\"step\": {}, \"loss\": {:.4f}, \"lr\": 0.001, \"epoch\": 1}}\n",
                               step, 2.5 / (step + 1));
          }));
  measure("tqdm", repeated(bytes, [](int step) {
            return fmt::format(
                "\rEpoch 1:  12%|█▏        | {}/100000000 [00:01<00:09, 17.64it/s, loss=0.5]",
                step);
          }));
}
