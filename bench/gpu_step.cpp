// sweetspot's side of the GPU benchmark: networks on device-resident data sets. Argument: the
// folder of MNIST ("" for the cache's). Answers each line on stdin, or prints "failed: why". MODEL
// is a zoo name or a file of Keras JSON, paper-cnn by default.
//   run PRECISION BATCH STEPS [MODEL]     seconds of that many training steps
//   forget PRECISION BATCH 0 [MODEL]      frees what `run` keeps for the next time
//   train PRECISION BATCH EPOCHS [MODEL]  total seconds, then the test accuracies
//   profile PRECISION BATCH 0 [MODEL]     microseconds of each operation, launched one by one
//   step PRECISION BATCH STEPS [MODEL]    steps fed from the host, for a profiler
//   memory PRECISION BATCH 0 [MODEL]      bytes on the device without the data set, planned
#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "engine/cuda/cuda.h"
#include "model/keras.h"
#include "samples.h"

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
  return {static_cast<std::int64_t>(samples.count), samples.bytes, samples.floats, samples.labels,
          samples.targets};
}

class Contestant {
 public:
  Contestant(const std::string& folder, const std::string& model)
      : network_(model::load_network(model)), samples_(samples_for(network_, folder)) {}

  double run(Precision precision, std::int64_t batch, std::int64_t steps) {
    auto& trainer = trainers_[{precision, batch}];
    if (!trainer) trainer = make(precision);
    trainer->prepare(batch);
    const auto at_once = static_cast<std::int64_t>(samples_.train.count) / batch;
    if (at_once == 0) throw std::runtime_error("the batch is larger than the data set");
    const std::vector<std::uint32_t> order = shuffled(0);
    const auto start = Clock::now();
    for (std::int64_t left = steps; left > 0; left -= at_once)
      trainer->start({order.data(), static_cast<std::size_t>(std::min(left, at_once) * batch)},
                     batch, batch);
    trainer->finish();
    return seconds_since(start);
  }

  void forget(Precision precision, std::int64_t batch) { trainers_.erase({precision, batch}); }

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
                           static_cast<double>(samples_.test.count));
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
    const engine::BatchView view = view_of(pixels, batch);
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
    for (int i = 0; i < steps; ++i) trainer->step(view_of(pixels, batch), batch);
    std::cout << "stepped" << std::endl;
  }

  core::Bytes memory(Precision precision, std::int64_t batch) const {
    return engine::cuda::plan(network_, options(precision), batch, false)->memory().total();
  }

 private:
  engine::cuda::Options options(Precision precision) const {
    return {.trainer = {.optimizer = {}, .loss = model::natural_loss(network_)},
            .precision = precision};
  }
  std::unique_ptr<engine::cuda::ResidentTrainer> make(Precision precision) const {
    auto trainer = engine::cuda::make_trainer(network_, options(precision));
    trainer->upload(engine::cuda::Split::train, resident(samples_.train));
    trainer->upload(engine::cuda::Split::test, resident(samples_.test));
    return trainer;
  }
  std::vector<std::uint32_t> shuffled(std::uint32_t epoch) const {
    std::vector<std::uint32_t> order(samples_.train.count);
    data::shuffle(order, 1000, epoch);
    return order;
  }
  std::vector<float> floats(std::int64_t count) const {
    const data::Samples& from = samples_.train;
    std::vector<float> pixels(static_cast<std::size_t>(count * from.sample_size()));
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = from.bytes.empty() ? from.floats[i] : static_cast<float>(from.bytes[i]) / 255;
    return pixels;
  }
  engine::BatchView view_of(const std::vector<float>& pixels, std::int64_t batch) const {
    const data::Samples& from = samples_.train;
    return {batch, pixels.data(), from.labels.empty() ? nullptr : from.labels.data(),
            from.targets.empty() ? nullptr : from.targets.data()};
  }

  model::Network network_;
  data::Dataset samples_;
  std::map<std::pair<Precision, std::int64_t>, std::unique_ptr<engine::cuda::ResidentTrainer>>
      trainers_;
};

void answer(Contestant& contestant, const std::string& what, Precision precision,
            std::int64_t batch, std::int64_t count) {
  if (what == "run")
    std::cout << std::setprecision(9) << contestant.run(precision, batch, count) << std::endl;
  else if (what == "train")
    contestant.train(precision, batch, static_cast<int>(count));
  else if (what == "profile")
    contestant.profile(precision, batch);
  else if (what == "memory")
    std::cout << contestant.memory(precision, batch) << std::endl;
  else if (what == "step")
    contestant.step(precision, batch, static_cast<int>(count));
  else if (what == "forget")
    contestant.forget(precision, batch), std::cout << "forgotten" << std::endl;
  else
    throw std::runtime_error("no command " + what);
}

void answer_lines(const std::string& folder) {
  std::map<std::string, Contestant> contestants;  // their samples take long to generate
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, precision, model = "paper-cnn";
    std::int64_t batch = 0, count = 0;
    words >> what >> precision >> batch >> count;
    words >> model;
    try {
      auto& contestant = contestants.try_emplace(model, folder, model).first->second;
      answer(contestant, what, precision_of(precision), batch, count);
    } catch (const std::exception& e) {
      std::cout << "failed: " << e.what() << std::endl;
    }
  }
}

}  // namespace
}  // namespace sweetspot::bench

int main(int argc, char** argv) {
  try {
    const auto gpu = sweetspot::engine::cuda::available();
    if (gpu.devices.empty()) throw std::runtime_error(gpu.reason);
    std::cout << R"({"version": "sweetspot on )" << gpu.devices.front().name << "\"}" << std::endl;
    sweetspot::bench::answer_lines(argc > 1 ? argv[1] : "");
  } catch (const std::exception& e) {
    std::cerr << "bench_gpu_step: " << e.what() << '\n';
    return 1;
  }
}
