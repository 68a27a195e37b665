#include "probe/cpu/roofline.h"

#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <vector>

#include "core/buffer.h"
#include "probe/cpu/speed_probe.h"
#include "probe/proc/host.h"
#include "probe/text_file.h"

namespace sweetspot::probe::cpu {

void run_apart(int threads, const std::function<void(int member)>& work) {
  const std::vector<int> cores = allowed_cores();
  std::vector<std::jthread> team;
  for (int member = 0; member < threads; ++member)
    team.emplace_back([&, member] {
      const auto place = static_cast<std::size_t>(member);
      if (place < cores.size()) stay_on(cores[place]);
      work(member);
    });
}

namespace {

// Latency 4 × 2 ports per cycle needs 8 chains; 12 leave slack without spilling.
constexpr int chains = 12;
constexpr int rounds = 2048;

#if defined(__x86_64__)
using Wide = float __attribute__((vector_size(64)));
using Half = float __attribute__((vector_size(32)));

__attribute__((target("avx512f"))) double multiply_adds_avx512() {
  Wide a[chains];
  const Wide x = Wide{} + 0.999F, y = Wide{} + 0.001F;
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) asm volatile("vfmadd213ps %2, %1, %0" : "+v"(v) : "v"(x), "v"(y));
  return 2.0 * 16 * chains * rounds;
}

__attribute__((target("avx2,fma"))) double multiply_adds_avx2() {
  Half a[chains];
  const Half x = Half{} + 0.999F, y = Half{} + 0.001F;
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) asm volatile("vfmadd213ps %2, %1, %0" : "+x"(v) : "x"(x), "x"(y));
  return 2.0 * 8 * chains * rounds;
}
#endif

// The empty asm keeps a chain alive, and in a register, without storing it.
double multiply_adds_generic() {
  using Quarter = float __attribute__((vector_size(16)));
  Quarter a[chains];
  const Quarter x = Quarter{} + 0.999F, y = Quarter{} + 0.001F;
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) {
      v = v * x + y;
#if defined(__x86_64__)
      asm volatile("" : "+x"(v));
#elif defined(__aarch64__)
      asm volatile("" : "+w"(v));
#else
      asm volatile("" : "+m"(v));
#endif
    }
  return 2.0 * 4 * chains * rounds;
}

using Kernel = double (*)();
Kernel best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_adds_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_adds_avx2;
#endif
  return multiply_adds_generic;
}

// The most operations per second in any millisecond of `seconds`; at least one millisecond.
double best_millisecond(double seconds) {
  constexpr double slice_seconds = 1e-3;
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto slice = Clock::now();
    double operations = 0, elapsed = 0;
    do operations += multiply_adds();
    while ((elapsed = since(slice)) < slice_seconds);
    best = std::max(best, operations / elapsed);
  } while (since(start) < seconds);
  return best;
}

}  // namespace

double multiply_adds() {
  static const Kernel kernel = best_kernel();
  return kernel();
}

double peak_flops_per_second(int threads, double seconds) {
  std::vector<double> best(static_cast<std::size_t>(threads));
  run_apart(threads, [&](int member) {
    best[static_cast<std::size_t>(member)] = best_millisecond(seconds);
  });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

namespace {

constexpr int bandwidth_passes = 5;
constexpr core::Bytes most_bytes = 512 * core::MiB, least_bytes = 96 * core::MiB;

core::Bytes last_level_cache() {
  long largest = 0;
#if defined(_SC_LEVEL4_CACHE_SIZE)
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE})
    largest = std::max(largest, sysconf(level));
#endif
  return static_cast<core::Bytes>(largest);
}

}  // namespace

core::Bytes triad_bytes() {
  const core::Bytes wanted = std::clamp(4 * last_level_cache(), least_bytes, most_bytes);
  const auto free = proc::memory().free;
  return std::max(core::MiB, free ? std::min(wanted, *free / 8) : least_bytes);
}

double triad_bytes_per_second(int threads, core::Bytes bytes) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float) / 3);
  const core::Buffer memory(3 * static_cast<core::Bytes>(count) * sizeof(float),
                            core::Use::workspace);
  float* const a = memory.as<float>();
  float* const b = a + count;
  float* const c = b + count;
  std::barrier together(threads);
  double best_seconds = 0;
  run_apart(threads, [&](int member) {
    const std::int64_t begin = count * member / threads, end = count * (member + 1) / threads;
    // First touch on the core that uses the pages, so that no pass reads the kernel's shared zero
    // page.
    for (std::int64_t i = begin; i < end; ++i) a[i] = 0, b[i] = 1, c[i] = 2;
    for (int pass = 0; pass < bandwidth_passes; ++pass) {
      together.arrive_and_wait();
      const auto start = Clock::now();
      for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] + 0.5F * c[i];
      together.arrive_and_wait();
      const double seconds = since(start);
      if (member == 0) best_seconds = pass == 0 ? seconds : std::min(best_seconds, seconds);
    }
  });
  return 3.0 * static_cast<double>(count) * sizeof(float) / best_seconds;
}

Roofline measure_roofline(int threads) {
  // Long enough for clocks to rise and for a neighbour to pause for a millisecond.
  constexpr double seconds = 0.1;
  return {peak_flops_per_second(threads, seconds), triad_bytes_per_second(threads, triad_bytes())};
}

Roofline roofline(int threads, bool again) {
  const RooflineKey key{proc::cpu().model.value_or("unknown"), threads};
  const auto file = roofline_file();
  if (file && !again)
    if (const auto known = read_roofline(*file, key)) return *known;
  const Roofline measured = measure_roofline(threads);
  if (file) write_roofline(*file, key, measured);
  return measured;
}

namespace fs = std::filesystem;

std::optional<fs::path> cache_file(const std::string& name) {
  // The XDG specification says to ignore a relative path.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "sweetspot" / name;
  if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
    return fs::path(home) / ".cache" / "sweetspot" / name;
  return std::nullopt;
}

bool write_cache(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path fresh = file.string() + "." + std::to_string(getpid());
  std::ofstream out(fresh);
  out << text;
  out.close();
  if (out) fs::rename(fresh, file, error);
  if (out && !error) return true;
  fs::remove(fresh, error);
  return false;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int roofline_schema = 1;  // a file with another one is measured again, and replaced

// The entries, or none if the file is missing, truncated or not ours.
Json entries_of(const fs::path& file) {
  const Json json = Json::parse(read_text(file).value_or(""), nullptr, false);
  if (!json.is_object() || json.value("schema_version", Json()) != roofline_schema)
    return Json::array();
  const Json entries = json.value("entries", Json());
  return entries.is_array() ? entries : Json::array();
}

bool is_of(const Json& entry, const RooflineKey& key) {
  return entry.is_object() && entry.value("cpu", Json()) == key.cpu &&
         entry.value("threads", Json()) == key.threads;
}

std::optional<double> positive(const Json& entry, const char* name) {
  const Json value = entry.value(name, Json());
  if (!value.is_number() || !(value.get<double>() > 0)) return std::nullopt;
  return value.get<double>();
}

}  // namespace

std::optional<Roofline> read_roofline(const fs::path& file, const RooflineKey& key) {
  for (const Json& entry : entries_of(file)) {
    if (!is_of(entry, key)) continue;
    const auto flops = positive(entry, "flops_per_second");
    const auto bytes = positive(entry, "bytes_per_second");
    if (flops && bytes) return Roofline{*flops, *bytes};
  }
  return std::nullopt;
}

bool write_roofline(const fs::path& file, const RooflineKey& key, const Roofline& roofline) {
  Json kept = Json::array();
  for (const Json& entry : entries_of(file))
    if (!is_of(entry, key)) kept.push_back(entry);
  kept.push_back({{"cpu", key.cpu},
                  {"threads", key.threads},
                  {"flops_per_second", roofline.flops_per_second},
                  {"bytes_per_second", roofline.bytes_per_second}});
  return write_cache(file, Json{{"schema_version", roofline_schema}, {"entries", kept}}.dump(
                               2, ' ', false, Json::error_handler_t::replace) +
                               "\n");
}

std::optional<fs::path> roofline_file() { return cache_file("roofline.json"); }

}  // namespace sweetspot::probe::cpu
