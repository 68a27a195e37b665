#include "workload/command/gpu/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "core/text.h"
#include "trial/trial.h"
#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::gpu {
namespace {

std::vector<Device> all_devices() {
  std::vector<Device> devices;
  probe::gpu::Found found = probe::gpu::find();
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    std::shared_ptr<const probe::gpu::Gpu> whole = std::move(found.gpus[i]);
    const auto instances = whole->instances();
    for (std::size_t k = 0; k < instances.size(); ++k)
      devices.push_back({fmt::format("cuda:{}:{}", i, k), instances[k]});
    // If it is partitioned, programs see only its instances.
    if (instances.empty()) devices.push_back({fmt::format("cuda:{}", i), std::move(whole)});
  }
  return devices;
}

}  // namespace

Gpus::Gpus() : found_(std::async(std::launch::async, all_devices).share()) {}

const std::vector<Device>* Gpus::within(core::Seconds time) const {
  return found_.wait_for(time) == std::future_status::ready ? &found_.get() : nullptr;
}

namespace {

using process::now_seconds;

// An initialised driver answers in milliseconds; for any other, the thread waits.
constexpr core::Seconds patience{0.2};
// Between two polls of the GPUs' memory; more if a poll takes longer than its share.
constexpr double interval_seconds = 0.05, most_share = 1.0 / 200, longest_interval_seconds = 2;
// Listing processes takes milliseconds: when the GPU's memory has changed, and periodically.
constexpr double listing_interval_seconds = 1;
constexpr core::Bytes worth_a_listing = core::MiB;
// A context alone takes more; a desktop's windows come and go with less.
constexpr core::Bytes least_growth = 64 * core::MiB;
// JAX takes three quarters of a GPU, TensorFlow nearly all of it.
constexpr double preallocated_share = 0.7;

core::Bytes less(core::Bytes a, core::Bytes b) { return a - std::min(a, b); }

bool exists(std::int64_t pid) {
  return pid > 0 && access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0;
}

// Whether it has a device of this vendor's driver open; one that cannot be inspected may have.
bool has_gpu_files(pid_t pid, bool amd) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  if (access(folder.c_str(), R_OK | X_OK) != 0) return exists(pid);
  for (const std::string& entry : process::entries(folder)) {
    std::array<char, 256> target{};
    const ssize_t size = readlink((folder + "/" + entry).c_str(), target.data(), target.size() - 1);
    const std::string_view path(target.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (amd ? file == "kfd" : file.starts_with("nvidia") || file == "dxg") return true;
  }
  return false;
}

struct Preallocator {
  std::string_view name, mapped, variable, off, takes;
};
// A program that also has PyTorch's kernels may use these for something else.
constexpr std::string_view pytorch = "libtorch_cuda";
constexpr std::array<Preallocator, 2> preallocators{{
    {"JAX", "/jaxlib/", "XLA_PYTHON_CLIENT_PREALLOCATE=", "false", "most of the GPU's"},
    {"TensorFlow", "/tensorflow/", "TF_FORCE_GPU_ALLOW_GROWTH=", "true", "the GPU's"},
}};

std::string_view preallocator_of(pid_t pid) {
  const std::string maps = process::read_file(fmt::format("/proc/{}/maps", pid)).value_or("");
  if (maps.find(pytorch) != maps.npos) return "";
  const std::string environment =
      process::read_file(fmt::format("/proc/{}/environ", pid)).value_or("");
  for (const Preallocator& one : preallocators)
    if (maps.find(one.mapped) != maps.npos &&
        environment.find(std::string(one.variable) + std::string(one.off)) == environment.npos)
      return one.name;
  return "";
}

}  // namespace

struct Watch::State {
  Device device;
  std::optional<probe::gpu::Memory> before;  // before the program started
  std::map<std::int64_t, core::Bytes> others_before;
  core::Bytes now = 0, peak = 0, lowest = 0, at_begin = 0;  // held by the program
  core::Bytes free_at_begin = 0, listed_at_used = 0;
  double next_listing = 0;
  std::size_t processes = 0;  // of the program's, listed by the driver
  bool by_growth = false, lists = false, used = false, lost = false, looked_for_allocator = false;

  std::string source() const {
    if (!by_growth)
      return fmt::format("NVML, of {} process{}", processes, processes == 1 ? "" : "es");
    const std::string_view why = !lists          ? "the driver lists no processes"
                                 : processes > 0 ? "the driver tells no process's memory"
                                                 : "the driver's process numbers are not of here";
    return fmt::format("growth of the GPU since before the start: {}", why);
  }
};

Watch::Watch(const Gpus& gpus) : gpus_(gpus) {
  if (gpus_.within(patience)) take_stock();
}

Watch::~Watch() { stop(); }

// With the mutex held, or before the thread exists.
void Watch::take_stock() {
  took_stock_ = true;
  for (const Device& device : *gpus_.within(core::Seconds(0))) {
    State state;
    state.device = device;
    state.before = device.gpu->memory();
    if (!state.before) continue;  // it reports nothing
    state.free_at_begin = state.before->free;
    if (const auto listed = device.gpu->memory_by_process())
      for (const probe::gpu::Process& process : *listed)
        state.others_before[process.pid] = process.memory.value_or(0);
    states_.push_back(std::move(state));
  }
}

void Watch::begin(Processes processes) {
  if (took_stock_ && states_.empty()) return;
  processes_ = std::move(processes);
  begun_ = true;
  thread_ = std::thread([this] { run(); });
}

void Watch::begin_setting() {
  const std::scoped_lock lock(mutex_);
  first_setting_ = false;
  for (State& state : states_) {
    state.at_begin = state.lowest = state.peak = state.now;
    if (const auto memory = state.device.gpu->memory())
      state.free_at_begin = memory->free + state.now;
  }
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!took_stock_ && !end_) {  // the driver is still initialising
    lock.unlock();
    const bool found = gpus_.within(core::Seconds(interval_seconds));
    lock.lock();
    if (found) take_stock();
  }
  if (states_.empty()) return;
  double interval = interval_seconds;
  do {
    const double start = now_seconds();
    sample();
    interval = std::clamp((now_seconds() - start) / most_share, interval_seconds,
                          longest_interval_seconds);
  } while (
      !changed_.wait_for(lock, std::chrono::duration<double>(interval), [this] { return end_; }));
}

void Watch::look() {
  const std::scoped_lock lock(mutex_);
  if (!begun_) return;
  for (State& state : states_) state.next_listing = 0;
  sample();
}

void Watch::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (end_) return;
    end_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  look();
  const std::scoped_lock lock(mutex_);
  begun_ = false;
  processes_ = {};
}

bool Watch::owns(std::int64_t pid) const {
  const std::scoped_lock lock(mutex_);
  return begun_ && processes_.has(static_cast<pid_t>(pid));
}

// With the mutex held, like all below.
void Watch::sample() {
  const double now = now_seconds();
  for (State& state : states_) sample(state, now);
}

void Watch::sample(State& state, double now) {
  const auto memory = state.device.gpu->memory();
  state.lost = !memory;
  if (!memory) return;
  const core::Bytes change =
      std::max(memory->used, state.listed_at_used) - std::min(memory->used, state.listed_at_used);
  if (now < state.next_listing && change < worth_a_listing) return;
  state.next_listing = now + listing_interval_seconds;
  state.listed_at_used = memory->used;
  const auto bytes = held(state, *memory);
  if (!bytes) return;
  state.used = true;
  state.now = *bytes;
  state.peak = std::max(state.peak, state.now);
  state.lowest = std::min(state.lowest, state.now);
  if (state.looked_for_allocator ||
      static_cast<double>(state.now) < preallocated_share * static_cast<double>(memory->total))
    return;
  state.looked_for_allocator = true;
  for (const pid_t pid : processes_.list())
    if (preallocator_.empty()) preallocator_ = preallocator_of(pid);
}

// The program's current memory there; nullopt if it is not known to use it.
std::optional<core::Bytes> Watch::held(State& state, const probe::gpu::Memory& memory) {
  const auto listed = state.device.gpu->memory_by_process();
  state.lists = listed.has_value();
  std::size_t processes = 0;
  core::Bytes sum = 0;
  bool all_known = true;
  if (listed)
    for (const probe::gpu::Process& process : *listed) {
      if (process.pid <= 0 || !processes_.has(static_cast<pid_t>(process.pid))) continue;
      ++processes;
      if (const auto before = state.others_before.find(process.pid);
          before !=
          state.others_before.end()) {  // it ran when the watch began: its memory is its own
        state.free_at_begin += before->second;
        state.others_before.erase(before);
      }
      sum += process.memory.value_or(0);
      all_known = all_known && process.memory;
    }
  matched_ = matched_ || processes > 0;
  state.processes = std::max(state.processes, processes);
  if (processes > 0 && all_known) {
    state.by_growth = false;
    return sum;
  }
  if (processes == 0 && state.used && !state.by_growth) return 0;  // they have released it
  if (processes == 0 && matched_ && listed) return std::nullopt;   // other processes
  auto grown = growth(state, memory, listed ? &*listed : nullptr);
  if (processes == 0 && grown && *grown < least_growth && !state.used) return std::nullopt;
  if (grown) state.by_growth = true;
  return grown;
}

// The growth since before the program started, minus the growth of processes that were there
// before. nullopt if it is due to others.
std::optional<core::Bytes> Watch::growth(const State& state, const probe::gpu::Memory& memory,
                                         const std::vector<probe::gpu::Process>* listed) {
  core::Bytes others = 0, others_before = 0;
  bool numbers_are_ours = listed && !listed->empty();
  if (listed)
    for (const probe::gpu::Process& process : *listed) {
      numbers_are_ours = numbers_are_ours && exists(process.pid);
      if (state.others_before.contains(process.pid)) others += process.memory.value_or(0);
    }
  if (numbers_are_ours && state.processes == 0) return std::nullopt;
  if (!may_use_gpus(state.device.gpu->identity().vendor == "AMD")) return std::nullopt;
  for (const auto& [pid, bytes] : state.others_before) others_before += bytes;
  return less(less(memory.used, others), less(state.before->used, others_before));
}

// Another process's memory may grow too: a program without an open GPU is not the cause.
bool Watch::may_use_gpus(bool amd) {
  Files& files = files_[amd];
  const double now = now_seconds();
  if (files.open || now < files.next_look) return files.open;
  files.open =
      std::ranges::any_of(processes_.list(), [amd](pid_t pid) { return has_gpu_files(pid, amd); });
  files.next_look = now + (now_seconds() - now) / most_share;
  return files.open;
}

std::vector<Use> Watch::uses() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Use> found;
  for (const State& state : states_) {
    if (!state.used) continue;
    Use use;
    use.device = state.device;
    const bool tells = first_setting_ || state.peak > state.at_begin ||
                       state.lowest + worth_a_listing < state.at_begin;
    if (tells) use.peak = state.peak;
    use.free = state.free_at_begin, use.total = state.before->total;
    use.source = state.source();
    use.lost = state.lost;
    found.push_back(std::move(use));
  }
  return found;
}

std::string_view Watch::preallocator() const {
  const std::scoped_lock lock(mutex_);
  return preallocator_;
}

namespace {

trial::GpuUse told(const Use& use) {
  trial::GpuUse gpu;
  gpu.device = use.device.name;
  gpu.name = core::printable(use.device.gpu->identity().name);
  gpu.memory_peak = use.peak;
  gpu.memory_free = use.free;
  gpu.memory_source = use.source;
  return gpu;
}

// Equal at a very different batch, and most of the GPU: it does not depend on the batch.
bool is_the_same_at_others(core::Bytes peak, std::int64_t batch, const History& history) {
  constexpr double about = 0.005;
  constexpr std::int64_t far = 2;
  return std::ranges::any_of(history, [&](const auto& other) {
    const double apart = std::abs(static_cast<double>(other.second) - static_cast<double>(peak));
    return (other.first >= far * batch || batch >= far * other.first) &&
           apart <= about * static_cast<double>(peak);
  });
}

std::string preallocated_words(std::string_view by) {
  for (const Preallocator& one : preallocators)
    if (one.name == by)
      return fmt::format(
          "{} takes {} memory at start, whatever the batch needs of it: "
          "--env {}{} lets it be measured",
          by, one.takes, one.variable, one.off);
  return "the program holds as much of the GPU at every batch, so that what a batch needs is not "
         "known: --env XLA_PYTHON_CLIENT_PREALLOCATE=false (JAX) or "
         "--env TF_FORCE_GPU_ALLOW_GROWTH=true (TensorFlow) may let it be measured";
}

}  // namespace

GpuAccount gpu_account(const std::vector<Use>& uses, std::string_view preallocator,
                       std::int64_t batch, History& history) {
  GpuAccount account;
  std::string lost;
  core::Bytes total = 0;
  for (const Use& use : uses) {
    account.gpus.push_back(told(use));
    if (use.lost) lost += (lost.empty() ? "" : ", ") + use.device.name;
  }
  if (!lost.empty()) account.note = fmt::format("{} stopped answering", lost);
  const trial::GpuUse* full = trial::fullest(account.gpus);
  if (!full) return account;
  for (const Use& use : uses)
    if (use.device.name == full->device) total = use.total;
  account.capacity = full->memory_free;
  account.source = full->memory_source;
  const core::Bytes peak = *full->memory_peak;
  const bool most =
      static_cast<double>(peak) >= preallocated_share * static_cast<double>(total) && total > 0;
  if (most && (!preallocator.empty() || is_the_same_at_others(peak, batch, history)))
    account.note = preallocated_words(preallocator);
  else
    account.peak = peak;
  history[batch] = std::max(history[batch], peak);
  return account;
}

void add_run(const std::vector<trial::GpuUse>& more, std::vector<trial::GpuUse>& gpus) {
  for (const trial::GpuUse& one : more) {
    const auto same = std::ranges::find(gpus, one.device, &trial::GpuUse::device);
    if (same == gpus.end())
      gpus.push_back(one);
    else if (one.memory_peak)
      same->memory_peak = std::max(same->memory_peak.value_or(0), *one.memory_peak);
  }
}

}  // namespace sweetspot::workload::command::gpu
