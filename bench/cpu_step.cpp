// sweetspot's side of the benchmark: training steps of a network on request. Arguments: the number
// of threads, and a zoo name or a file of Keras JSON, paper-cnn by default. Prints one line of JSON
// when ready, then answers each line on stdin:
//   run BATCH STEPS [fp32|bf16]  seconds of that many full training steps
//   memory BATCH 0               bytes of training with this batch in fp32, planned but not
//                                allocated
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/cpu/cpu.h"
#include "engine/trainer.h"
#include "model/keras.h"
#include "model/network.h"
#include "samples.h"

namespace sweetspot::bench {
namespace {

// A data set as floats, converted in advance.
class Floats {
 public:
  explicit Floats(data::Samples samples) : samples_(std::move(samples)) {
    samples_.floats.reserve(samples_.floats.size() + samples_.bytes.size());
    for (const std::uint8_t byte : samples_.bytes)
      samples_.floats.push_back(static_cast<float>(byte) / 255);
  }

  // The next `count` samples, starting over when too few are left.
  engine::BatchView next(std::int64_t count) {
    const auto all = static_cast<std::int64_t>(samples_.count);
    if (count > all) throw std::runtime_error("there are only " + std::to_string(all) + " samples");
    if (at_ + count > all) at_ = 0;
    engine::BatchView view{.count = count,
                           .inputs = samples_.floats.data() + at_ * samples_.sample_size()};
    if (samples_.targets.empty())
      view.labels = samples_.labels.data() + at_;
    else
      view.targets = samples_.targets.data() + at_ * samples_.target_size;
    at_ += count;
    return view;
  }

 private:
  data::Samples samples_;
  std::int64_t at_ = 0;
};

class Contestant {
 public:
  Contestant(int threads, const std::string& model)
      : network_(model::load_network(model)), samples_(samples_for(network_, "").train) {
    options_.loss = model::natural_loss(network_), options_.threads = threads;
  }

  double run(std::int64_t batch, std::int64_t steps, engine::Precision precision) {
    engine::Trainer& trainer = trainer_in(precision);
    trainer.prepare(batch);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; step < steps; ++step) trainer.step(samples_.next(batch), batch);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  core::Bytes memory(std::int64_t batch) const {
    return engine::cpu::plan(network_, options_, batch, false)->memory().total();
  }

 private:
  engine::Trainer& trainer_in(engine::Precision precision) {
    std::unique_ptr<engine::Trainer>& trainer = trainers_[precision];
    engine::TrainerOptions options = options_;
    options.precision = precision;
    if (!trainer) trainer = engine::cpu::make_trainer(network_, options);
    return *trainer;
  }

  model::Network network_;
  engine::TrainerOptions options_;
  std::map<engine::Precision, std::unique_ptr<engine::Trainer>> trainers_;
  Floats samples_;
};

void serve(int threads, const std::string& model) {
  Contestant contestant(threads, model);
  const auto backend = engine::cpu::backend();
  std::cout << R"({"version": "sweetspot ()" << backend.library << ", " << backend.isa << ")\"}\n"
            << std::setprecision(9) << std::flush;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, precision;
    std::int64_t batch = 0, steps = 0;
    words >> command >> batch >> steps >> precision;
    if (command == "memory")
      std::cout << contestant.memory(batch) << std::endl;
    else
      std::cout << contestant.run(
                       batch, steps,
                       precision == "bf16" ? engine::Precision::bf16 : engine::Precision::fp32)
                << std::endl;
  }
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  sweetspot::bench::serve(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? argv[2] : "paper-cnn");
} catch (const std::exception& error) {
  std::cerr << "bench_cpu_step: " << error.what() << "\n";
  return 1;
}
