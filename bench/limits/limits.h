#pragma once
#include <cstdint>
#include <memory>

namespace sweetspot::model {
struct Network;
}

namespace sweetspot::bench {

// Billions of fp32 operations a second (a multiply-add is two) of independent multiply-adds in
// registers, summed over `threads` threads running for about `seconds`: what they got, and what
// they would get on a machine of their own, judged by each thread's best millisecond.
struct FmaSpeed {
  double mean_gflops = 0, best_gflops = 0;
};
FmaSpeed fma_speed(int threads, double seconds);
// The same of pairs of bf16 summed in fp32 (AVX512-BF16); zeros where the CPU does not have them.
FmaSpeed bf16_speed(int threads, double seconds);

// STREAM triad over arrays that no cache holds, 3 × 4 bytes an element, write-allocation not
// counted.
double triad_gigabytes_per_second(int threads);

// Operations of one training step for one sample. `live` leaves out the positions of convolutions
// that no later window reads.
struct StepFlops {
  std::int64_t nominal = 0, live = 0;
};
StepFlops step_flops(const model::Network& network);

// The oneDNN primitives of a training step at the layouts oneDNN likes best, run one after the
// other with nothing between them: no reorder, loss, dropout, activation backward or optimizer.
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
