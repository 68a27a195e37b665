// sweetspot's side of the GPU benchmark: paper-cnn on a data set that stays on the device.
// Argument: the folder of MNIST; the cache's unless given. Answers each line on stdin:
//   run PRECISION BATCH STEPS       seconds of that many training steps
//   train PRECISION BATCH EPOCHS    seconds of the whole, then the test accuracy after each epoch
//   profile PRECISION BATCH         microseconds of each operation, launched one by one
//   step PRECISION BATCH STEPS      steps fed from the host: what a profiler can look at
#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "data/order.h"
#include "data/sources.h"
#include "engine/cuda/cuda.h"
#include "model/keras.h"

namespace sweetspot::bench {
namespace {

using engine::cuda::Precision;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Precision precision_of(const std::string& text) {
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16})
    if (name(p) == text) return p;
  throw std::runtime_error("no precision " + text);
}

engine::cuda::ResidentSamples resident(const data::Samples& samples) {
  return {static_cast<std::int64_t>(samples.count), samples.bytes, {}, samples.labels, {}};
}

class Contestant {
 public:
  explicit Contestant(const std::string& folder)
      : network_(model::load_network("paper-cnn")),
        digits_(data::read_folder(folder.empty() ? data::cache_folder("mnist").string() : folder)) {
  }

  double run(Precision precision, std::int64_t batch, std::int64_t steps) {
    auto& trainer = trainers_[precision];
    if (!trainer) trainer = make(precision);
    trainer->prepare(batch);
    const auto at_once = static_cast<std::int64_t>(digits_.train.count) / batch;
    const std::vector<std::uint32_t> order = shuffled(0);
    const auto start = Clock::now();
    for (std::int64_t left = steps; left > 0; left -= at_once)
      trainer->start({order.data(), static_cast<std::size_t>(std::min(left, at_once) * batch)},
                     batch, batch);
    trainer->finish();
    return seconds_since(start);
  }

  void train(Precision precision, std::int64_t batch, int epochs) {
    const auto trainer = make(precision);
    trainer->prepare(batch);
    trainer->evaluate_resident();  // start-up
    const auto start = Clock::now();
    std::vector<double> accuracies, losses;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      trainer->start(shuffled(static_cast<std::uint32_t>(epoch)), batch, batch);
      const auto steps = trainer->finish();
      double loss = 0;
      for (const auto& step : steps) loss += step.loss / static_cast<double>(steps.size());
      losses.push_back(loss);
      accuracies.push_back(static_cast<double>(trainer->evaluate_resident().correct) /
                           static_cast<double>(digits_.test.count));
    }
    std::cout << seconds_since(start);
    for (const double accuracy : accuracies) std::cout << ' ' << accuracy;
    std::cout << " losses";
    for (const double loss : losses) std::cout << ' ' << loss;
    if (precision == Precision::fp16)
      std::cout << " scale " << trainer->loss_scale() << " skipped " << trainer->skipped_updates();
    std::cout << std::endl;
  }

  void profile(Precision precision, std::int64_t batch) {
    const auto trainer = make(precision);
    const std::vector<float> pixels = floats(batch);
    const engine::BatchView view{batch, pixels.data(), digits_.train.labels.data(), nullptr};
    engine::StepProfile profile;
    for (int i = 0; i < 5; ++i) profile = trainer->profile(view, batch);
    for (std::size_t i = 0; i < profile.operations.size(); ++i) {
      const auto& times = profile.threads[0].operations[i];
      std::cout << profile.operations[i].name << ' ' << times.forward.count() * 1e6 << ' '
                << times.backward.count() * 1e6 << ' ' << times.update.count() * 1e6 << "; ";
    }
    std::cout << std::endl;
  }

  void step(Precision precision, std::int64_t batch, int steps) {
    const auto trainer = make(precision);
    const std::vector<float> pixels = floats(batch);
    for (int i = 0; i < steps; ++i)
      trainer->step({batch, pixels.data(), digits_.train.labels.data(), nullptr}, batch);
    std::cout << "stepped" << std::endl;
  }

 private:
  std::unique_ptr<engine::cuda::ResidentTrainer> make(Precision precision) const {
    auto trainer = engine::cuda::make_trainer(network_, {.trainer = {}, .precision = precision});
    trainer->upload(engine::cuda::Split::train, resident(digits_.train));
    trainer->upload(engine::cuda::Split::test, resident(digits_.test));
    return trainer;
  }
  std::vector<std::uint32_t> shuffled(std::uint32_t epoch) const {
    std::vector<std::uint32_t> order(digits_.train.count);
    data::shuffle(order, 1000, epoch);
    return order;
  }
  std::vector<float> floats(std::int64_t count) const {
    const auto* from = digits_.train.bytes.data();
    std::vector<float> pixels(static_cast<std::size_t>(count * digits_.train.sample_size()));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(from[i]) / 255;
    return pixels;
  }

  model::Network network_;
  data::Dataset digits_;
  std::map<Precision, std::unique_ptr<engine::cuda::ResidentTrainer>> trainers_;
};

void answer(Contestant& contestant) {
  std::string what, precision;
  for (std::int64_t batch = 0, count = 1; std::cin >> what >> precision >> batch;) {
    if (what != "profile") std::cin >> count;
    if (what == "run")
      std::cout << std::setprecision(9) << contestant.run(precision_of(precision), batch, count)
                << std::endl;
    else if (what == "train")
      contestant.train(precision_of(precision), batch, static_cast<int>(count));
    else if (what == "profile")
      contestant.profile(precision_of(precision), batch);
    else
      contestant.step(precision_of(precision), batch, static_cast<int>(count));
  }
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) {
  try {
    const auto gpu = sweetspot::engine::cuda::available();
    if (gpu.devices.empty()) throw std::runtime_error(gpu.reason);
    sweetspot::bench::Contestant contestant(argc > 1 ? argv[1] : "");
    std::cout << R"({"version": "sweetspot on )" << gpu.devices.front().name << "\"}" << std::endl;
    sweetspot::bench::answer(contestant);
  } catch (const std::exception& e) {
    std::cerr << "bench_gpu_step: " << e.what() << '\n';
    return 1;
  }
}
