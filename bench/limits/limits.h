#pragma once
#include <cstdint>
#include <memory>

namespace sweetspot::model {
struct Network;
}

namespace sweetspot::bench {

// Billions of fp32 operations per second (a multiply-add is two) of independent multiply-adds in
// registers, summed over `threads` threads running for about `seconds`: the measured rate, and that
// of an idle machine, judged by each thread's best millisecond.
struct FmaSpeed {
  double mean_gflops = 0, best_gflops = 0;
};
FmaSpeed fma_speed(int threads, double seconds);
// The same for pairs of bf16 summed in fp32 (AVX512-BF16); zeros if the CPU lacks them.
FmaSpeed bf16_speed(int threads, double seconds);

// STREAM triad over arrays larger than any cache, 3 × 4 bytes per element, without write-allocate.
double triad_gigabytes_per_second(int threads);

// Operations of one training step per sample. `live` excludes the positions of convolutions that no
// later window reads.
struct StepFlops {
  std::int64_t nominal = 0, live = 0;
};
StepFlops step_flops(const model::Network& network);

// The oneDNN primitives of a training step in oneDNN's preferred layouts, back to back: no reorder,
// loss, dropout, activation backward or optimizer.
class BarePrimitives {
 public:
  BarePrimitives(const model::Network& network, std::int64_t batch);
  ~BarePrimitives();
  double run(std::int64_t steps);  // seconds

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sweetspot::bench
