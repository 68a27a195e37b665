// sweetspot's side of the benchmark: training steps of paper-cnn on request.
// Argument: the number of threads. Says one line of JSON when ready, then answers each
// "run BATCH STEPS" on stdin with the seconds of that many full training steps.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "data/sources.h"
#include "engine/cpu/cpu.h"
#include "engine/trainer.h"
#include "model/keras.h"
#include "model/network.h"

namespace sweetspot::bench {
namespace {

// MNIST as floats, converted beforehand. The engine's speed depends on how many gradients are zero,
// so it has to train on real data; PyTorch's does not.
class Digits {
 public:
  Digits() : samples_(data::read_folder(data::cache_folder("mnist")).train) {
    pixels_.reserve(samples_.bytes.size());
    for (const std::uint8_t byte : samples_.bytes)
      pixels_.push_back(static_cast<float>(byte) / 255);
  }

  // The next `count` samples, from the beginning again when too few are left.
  engine::BatchView next(std::int64_t count) {
    if (at_ + count > static_cast<std::int64_t>(samples_.count)) at_ = 0;
    const engine::BatchView view{.count = count,
                                 .inputs = pixels_.data() + at_ * samples_.sample_size(),
                                 .labels = samples_.labels.data() + at_};
    at_ += count;
    return view;
  }

 private:
  data::Samples samples_;
  std::vector<float> pixels_;
  std::int64_t at_ = 0;
};

class Contestant {
 public:
  explicit Contestant(int threads)
      : network_(model::load_network("paper-cnn")),
        trainer_(engine::cpu::make_trainer(
            network_,
            {.optimizer = {}, .loss = model::natural_loss(network_), .threads = threads})) {}

  double run(std::int64_t batch, std::int64_t steps) {
    trainer_->prepare(batch);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; step < steps; ++step) trainer_->step(digits_.next(batch), batch);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  model::Network network_;
  std::unique_ptr<engine::Trainer> trainer_;
  Digits digits_;
};

void serve(int threads) {
  Contestant contestant(threads);
  const auto backend = engine::cpu::backend();
  std::cout << R"({"version": "sweetspot ()" << backend.library << ", " << backend.isa << ")\"}\n"
            << std::setprecision(9) << std::flush;
  std::string command;
  for (std::int64_t batch = 0, steps = 0; std::cin >> command >> batch >> steps;)
    std::cout << contestant.run(batch, steps) << std::endl;
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  sweetspot::bench::serve(argc > 1 ? std::atoi(argv[1]) : 1);
} catch (const std::exception& error) {
  std::cerr << "bench_cpu_step: " << error.what() << "\n";
  return 1;
}
