// The limits of the machine and of bare oneDNN, on request; the thread count is OMP_NUM_THREADS.
// Prints one line of JSON when ready, then answers each line on stdin:
//   run BATCH STEPS   seconds of that many passes over the bare oneDNN primitives of paper-cnn
//   peak THREADS      GFLOP/s of fp32 multiply-adds in registers, each thread's best millisecond
//   bf16 THREADS      the same for pairs of bf16 (AVX512-BF16); 0 if unsupported
//   bandwidth THREADS GB/s of a STREAM triad
//   probe THREADS     their mean over 30 ms: is the machine idle at this moment?
//   flops             operations per sample of a training step: nominal, live
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "limits/limits.h"
#include "model/keras.h"
#include "model/network.h"

namespace sweetspot::bench {
namespace {

class Limits {
 public:
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::ostringstream reply;
    reply << std::setprecision(9);
    std::string command;
    std::int64_t first = 1, second = 1;
    words >> command >> first >> second;
    const int threads = static_cast<int>(first);
    if (command == "run")
      reply << bare_primitives(first).run(second);
    else if (command == "peak")
      reply << fma_speed(threads, 0.3).best_gflops;
    else if (command == "bf16")
      reply << bf16_speed(threads, 0.3).best_gflops;
    else if (command == "probe")
      reply << fma_speed(threads, 0.03).mean_gflops;
    else if (command == "bandwidth")
      reply << triad_gigabytes_per_second(threads);
    else if (command == "flops")
      reply << step_flops(network_).nominal << " " << step_flops(network_).live;
    else
      throw std::invalid_argument("no such command: " + command);
    return reply.str();
  }

 private:
  BarePrimitives& bare_primitives(std::int64_t batch) {
    return bare_.try_emplace(batch, network_, batch).first->second;
  }

  model::Network network_ = model::load_network("paper-cnn");
  std::map<std::int64_t, BarePrimitives> bare_;
};

void serve() {
  Limits limits;
  const dnnl_version_t* version = dnnl_version();
  std::cout << R"({"version": "oneDNN )" << version->major << "." << version->minor << "."
            << version->patch << "\"}" << std::endl;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << limits.answer(line) << std::endl;
}

}  // namespace
}  // namespace sweetspot::bench

int main() try { sweetspot::bench::serve(); } catch (const std::exception& error) {
  std::cerr << "bench_cpu_limits: " << error.what() << "\n";
  return 1;
}
