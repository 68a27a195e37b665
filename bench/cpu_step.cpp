// sweetspot's side of the benchmark: training steps of paper-cnn on request.
// Argument: the number of threads. Says one line of JSON when ready, then answers each
// "run BATCH STEPS" on stdin with the seconds of that many full training steps.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/cpu/cpu.h"
#include "engine/trainer.h"
#include "model/keras.h"
#include "model/network.h"

namespace sweetspot::bench {
namespace {

constexpr std::size_t input_sets = 4;  // batches cycled through, as the other contestants do

struct Batch {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  engine::BatchView view() const {
    return {.count = static_cast<std::int64_t>(labels.size()),
            .inputs = inputs.data(),
            .labels = labels.data()};
  }
};

Batch random_batch(const model::Network& network, std::int64_t count, std::mt19937& random) {
  Batch batch{std::vector<float>(static_cast<std::size_t>(count * network.input.size())),
              std::vector<std::int32_t>(static_cast<std::size_t>(count))};
  std::uniform_real_distribution<float> pixel(0, 1);
  std::uniform_int_distribution<std::int32_t> label(
      0, static_cast<std::int32_t>(network.output().size() - 1));
  for (float& value : batch.inputs) value = pixel(random);
  for (std::int32_t& value : batch.labels) value = label(random);
  return batch;
}

class Contestant {
 public:
  explicit Contestant(int threads)
      : network_(model::load_network("paper-cnn")),
        trainer_(engine::cpu::make_trainer(
            network_,
            {.optimizer = {}, .loss = model::natural_loss(network_), .threads = threads})) {}

  double run(std::int64_t batch, std::int64_t steps) {
    auto& sets = batches_[batch];
    while (sets.size() < input_sets) sets.push_back(random_batch(network_, batch, random_));
    trainer_->prepare(batch);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; step < steps; ++step)
      trainer_->step(sets[static_cast<std::size_t>(step) % input_sets].view(), batch);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  model::Network network_;
  std::unique_ptr<engine::Trainer> trainer_;
  std::map<std::int64_t, std::vector<Batch>> batches_;
  std::mt19937 random_{1000};
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
