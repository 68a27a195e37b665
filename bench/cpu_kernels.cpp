// The kernels of paper-cnn's step on one thread, next to oneDNN's primitives for the same layers in
// oneDNN's preferred layouts, and how often oneDNN allocates when it runs one. Prints markdown.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "core/buffer.h"
#include "engine/cpu/kernels/kernels.h"

namespace {
std::atomic<long> allocations{0};
}
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) { return ++allocations, __libc_malloc(size); }

namespace sweetspot::bench {
namespace {

using namespace engine::cpu;
using dnnl::memory;
using engine::unit;
using Tag = memory::format_tag;

// The thread's CPU time: excludes other load on the machine, except for shared caches.
double thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

// The median of 25 rounds of `calls` calls, in microseconds per call.
template <class Work>
double microseconds(Work work, int calls = 20) {
  std::vector<double> rounds;
  for (int round = 0; round < 28; ++round) {
    const double start = thread_microseconds();
    for (int i = 0; i < calls; ++i) work();
    if (round >= 3) rounds.push_back((thread_microseconds() - start) / calls);
  }
  std::nth_element(rounds.begin(), rounds.begin() + 12, rounds.end());
  return rounds[12];
}

// Aligned to cache lines, like the engine's.
struct Numbers {
  core::Buffer buffer;
  float* data() const { return buffer.as<float>(); }
};

Numbers numbers(std::int64_t count) {
  Numbers made{core::Buffer(static_cast<core::Bytes>(count) * sizeof(float), core::Use::workspace)};
  for (std::int64_t i = 0; i < count; ++i)
    made.data()[i] = static_cast<float>(i * 2654435761u % 1000) / 1000 - 0.5f;
  return made;
}

void row(const char* what, double mflop, double ours, std::optional<double> onednn) {
  fmt::print("| {} | {:.1f} | {:.0f} | {} |\n", what, ours, mflop / ours * 1e3,
             onednn ? fmt::format("{:.1f}", *onednn) : "–");
}

// paper-cnn's second convolution, live positions only: 11×11×32 → 8×8×64, 4×4 kernels.
struct Convolution {
  static constexpr int samples = 8;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive_attr attributes = [] {
    dnnl::primitive_attr a;
    a.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return a;
  }();
  memory::desc in{{samples, 32, 11, 11}, memory::data_type::f32, Tag::any};
  memory::desc weights{{64, 32, 4, 4}, memory::data_type::f32, Tag::any};
  memory::desc out{{samples, 64, 8, 8}, memory::data_type::f32, Tag::any};
  const memory::dims one{1, 1}, none{0, 0};
  static constexpr dnnl::algorithm direct = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc forward{
      {dnnl::prop_kind::forward_training, direct, in, weights, out, one, none, none},
      attributes,
      engine};

  memory make(const memory::desc& desc) {
    memory made(desc, engine);
    std::fill_n(static_cast<char*>(made.get_data_handle()), desc.get_size(), '\x3c');
    return made;
  }
  template <class Descriptor>
  double a_sample(const Descriptor& descriptor,
                  std::vector<std::pair<int, memory::desc>> arguments) {
    const dnnl::primitive primitive(descriptor.get());
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, descriptor.scratchpad_desc());
    std::vector<memory> memories;
    std::vector<dnnl_exec_arg_t> raw;
    for (const auto& [argument, desc] : arguments) memories.push_back(make(desc));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      raw.push_back({arguments[i].first, memories[i].get()});
    const auto execute = [&] {
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(raw.size()),
                             raw.data());
    };
    const double time = microseconds(execute) / samples;
    const long before = allocations;
    execute();
    allocated = allocations - before;
    return time;
  }
  double run_forward() {
    return a_sample(forward, {{DNNL_ARG_SRC, forward.src_desc()},
                              {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                              {DNNL_ARG_DST, forward.dst_desc()}});
  }
  double run_backward() {
    const dnnl::convolution_backward_data::primitive_desc data(
        {direct, in, weights, out, one, none, none}, attributes, engine, forward);
    const dnnl::convolution_backward_weights::primitive_desc gradient(
        {direct, in, weights, out, one, none, none}, attributes, engine, forward);
    return a_sample(data, {{DNNL_ARG_DIFF_SRC, data.diff_src_desc()},
                           {DNNL_ARG_WEIGHTS, data.weights_desc()},
                           {DNNL_ARG_DIFF_DST, data.diff_dst_desc()}}) +
           a_sample(gradient, {{DNNL_ARG_SRC, gradient.src_desc()},
                               {DNNL_ARG_DIFF_WEIGHTS, gradient.diff_weights_desc()},
                               {DNNL_ARG_DIFF_DST, gradient.diff_dst_desc()}});
  }
  long allocated = 0;
};

// One panel of columns from contiguous rows.
Multiply plain_product(const float* a, std::int64_t rows, std::int64_t depth, const float* b,
                       std::int64_t width, float* c, std::int64_t columns) {
  Multiply m{};
  m.a = a, m.row_stride = depth, m.rows = rows, m.segments = 1, m.run = depth;
  m.b = b, m.width = width;
  m.c = c, m.c_row_stride = columns, m.c_unit_stride = unit;
  return m;
}

void convolution() {
  constexpr std::int64_t units = 2, width = 11, plane = width * width * unit, windows = 16,
                         depth = 512, channels = 64;
  const Kernels& k = kernels();
  auto in = numbers(units * plane), weights = numbers(36 * 32 * channels),
       out = numbers(windows * 4 * channels);
  auto gradient = numbers(channels * depth), transformed = numbers(25 * windows * 32),
       product = numbers(25 * windows * channels);
  std::vector<std::uint8_t> winner(windows * channels);
  std::vector<std::int32_t> rows, segments, offsets;
  for (int w = 0; w < windows; ++w)
    for (int s = 0; s < 4; ++s)
      rows.push_back(
          static_cast<std::int32_t>(((w / 4 * 2 + s / 2) * width + w % 4 * 2 + s % 2) * unit));
  for (int u = 0; u < units; ++u)
    for (int line = 0; line < 4; ++line)
      segments.push_back(static_cast<std::int32_t>(u * plane + line * width * unit));
  const double mflop = 2e-6 * windows * 4 * channels * depth;
  Multiply direct{};
  direct.a = in.data(), direct.row_offsets = rows.data(), direct.rows = windows * 4;
  direct.segment_offsets = segments.data(), direct.segments = 8, direct.run = 64;
  direct.b = weights.data(), direct.width = channels;
  direct.c = out.data(), direct.c_row_stride = unit, direct.c_unit_stride = windows * 4 * unit;
  Convolution onednn;
  const double forward = onednn.run_forward(), backward = onednn.run_backward();
  row("convolution, direct", mflop, microseconds([&] { k.multiply(direct); }), forward);
  row("convolution with pooling, by minimal filtering", mflop, microseconds([&] {
        for (int w = 0; w < windows; ++w)
          for (int u = 0; u < units; ++u)
            k.winograd_input(4, in.data() + u * plane + rows[static_cast<std::size_t>(w * 4)],
                             width * unit, transformed.data() + w * 32 + u * unit, windows * 32);
        for (int p = 0; p < 25; ++p)
          k.multiply(plain_product(transformed.data() + p * windows * 32, windows, 32,
                                   weights.data() + p * 32 * channels, channels,
                                   product.data() + p * windows * channels, channels));
        for (int w = 0; w < windows; ++w)
          for (int c = 0; c < channels; c += unit)
            k.winograd_output(4, {product.data() + w * channels + c, windows * channels, nullptr,
                                  true, out.data() + (c * windows + w * unit),
                                  winner.data() + (c * windows + w * unit)});
      }),
      forward);
  // Ten winners in sixteen windows: what ReLU and a dropout of a quarter leave of random data.
  std::vector<float> ten(10, 0.1f);
  for (int i = 0; i < 10; ++i) offsets.push_back(rows[static_cast<std::size_t>(i * 6 + i % 4)]);
  const SparseConv conv{4, 4, width * unit, {10, offsets.data(), ten.data()}};
  const Numbers in_gradient = numbers(units * plane);
  row("convolution, both gradients, winners only", 2 * mflop, microseconds([&] {
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t u = 0; u < units; ++u) {
            k.sparse_weights(conv, in.data() + u * plane, gradient.data() + c * depth + u * 256);
            k.sparse_data(conv, weights.data() + c * depth + u * 256,
                          in_gradient.data() + u * plane);
          }
      }),
      backward);
  fmt::print("\noneDNN allocates {} times in one execution of a convolution.\n\n",
             onednn.allocated);
}

void dense() {
  constexpr std::int64_t depth = 1024, columns = 512;
  const Kernels& k = kernels();
  for (const std::int64_t samples : {1, 16, 100}) {
    auto x = numbers(samples * depth), y = numbers(samples * columns);
    auto w = numbers(depth * columns), g = numbers(depth * columns);
    const double mflop = 2e-6 * depth * columns;
    const auto a_sample = [&](double time) { return time / static_cast<double>(samples); };
    row(fmt::format("dense 1024 → 512, {} rows, forward", samples).c_str(), mflop,
        a_sample(microseconds([&] {
          for (std::int64_t n = 0; n < columns; n += panel) {
            Multiply m = plain_product(x.data(), samples, depth, w.data() + n * depth, panel,
                                       y.data() + n, columns);
            m.relu = true;
            k.multiply(m);
          }
        })),
        std::nullopt);
    row(fmt::format("dense 1024 → 512, {} rows, weight gradient", samples).c_str(), mflop,
        a_sample(microseconds([&] {
          for (std::int64_t n = 0; n < columns; n += panel) {
            Outer o{};
            o.a = x.data(), o.row_stride = depth, o.rows = samples, o.depth = depth;
            o.g = y.data() + n, o.g_row_stride = columns, o.g_unit_stride = unit;
            o.width = panel, o.d = g.data() + n * depth;
            k.outer(o);
          }
        })),
        std::nullopt);
  }
}

}  // namespace
}  // namespace sweetspot::bench

int main() {
  omp_set_num_threads(1);
  fmt::print("Kernels: {}, one thread, paper-cnn's second convolution and first dense layer.\n\n",
             sweetspot::engine::cpu::kernels().name);
  fmt::print(
      "| what | µs a sample | GFLOP/s of the direct arithmetic | oneDNN, µs a sample "
      "|\n|---|---:|---:|---:|\n");
  sweetspot::bench::dense();
  sweetspot::bench::convolution();
}
