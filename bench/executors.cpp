// Trainers of one model and one batch in one process, each with its own executor, for
// bench/executors: do they run at the same speed, whatever their memory layout? Arguments: model,
// batch, trainers, threads. Prints one line of JSON when ready, then answers each "run TRAINER
// STEPS" on stdin with the seconds of each of that many training steps.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/cpu/cpu.h"
#include "workload/native/train.h"

namespace sweetspot::bench {
namespace {

constexpr std::int64_t batches = 8;  // of data; every trainer uses the same ones

workload::native::Options options(const std::string& model, std::int64_t batch, int threads) {
  workload::native::Options options;
  options.model = model;
  options.pipeline.batch = batch;
  options.threads = threads;
  return options;
}

class Contestants {
 public:
  Contestants(const workload::native::Options& options, int count)
      : run_(workload::native::open(options, [](std::string_view) {})), batch_(options.batch()) {
    const data::Samples& train = run_.dataset.train;
    if (train.bytes.empty() || train.labels.empty())
      throw core::InputError(
          "this bench has images with labels only; choose a model that classifies");
    const auto floats = static_cast<std::size_t>(batches * batch_ * train.sample_size());
    for (std::size_t i = 0; i < floats; ++i)
      inputs_.push_back(static_cast<float>(train.bytes.at(i % train.bytes.size())) / 255);
    for (int i = 0; i < count; ++i) trainers_.push_back(make_trainer(run_, options));
  }

  std::vector<double> run(std::size_t index, std::int64_t steps) {
    engine::Trainer& trainer = *trainers_.at(index);
    std::vector<double> seconds;
    for (std::int64_t i = 0; i < steps; ++i) {
      const engine::BatchView view = batch_at(trainer.steps_done() % batches);
      const auto start = std::chrono::steady_clock::now();
      trainer.step(view, batch_);
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return seconds;
  }

 private:
  engine::BatchView batch_at(std::int64_t index) const {
    const data::Samples& train = run_.dataset.train;
    const std::int64_t whole = static_cast<std::int64_t>(train.count) / batch_;
    return {.count = batch_,
            .inputs = inputs_.data() + index % whole * batch_ * train.sample_size(),
            .labels = train.labels.data() + index % whole * batch_};
  }

  workload::native::Run run_;
  std::int64_t batch_;
  std::vector<float> inputs_;
  std::vector<std::unique_ptr<engine::Trainer>> trainers_;
};

void serve(Contestants contestants) {
  const auto backend = engine::cpu::backend();
  std::cout << R"({"version": "sweetspot ()" << backend.library << ", " << backend.isa << ")\"}\n"
            << std::setprecision(9) << std::flush;
  std::string command;
  std::size_t index = 0;
  for (std::int64_t steps = 0; std::cin >> command >> index >> steps;) {
    for (const double seconds : contestants.run(index, steps)) std::cout << seconds << ' ';
    std::cout << std::endl;
  }
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) try {
  using namespace sweetspot::bench;
  serve(Contestants(options(argc > 1 ? argv[1] : "paper-cnn", argc > 2 ? std::atoll(argv[2]) : 64,
                            argc > 4 ? std::atoi(argv[4]) : 1),
                    argc > 3 ? std::atoi(argv[3]) : 10));
} catch (const std::exception& error) {
  std::cerr << "bench_executors: " << error.what() << "\n";
  return 1;
}
