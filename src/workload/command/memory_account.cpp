#include "workload/command/memory_account.h"

#include <algorithm>

namespace sweetspot::workload::command {
namespace {

// The client's, if it reports a peak.
const client::DeviceMemory* reported_memory(const Program& program) {
  const auto& memory = program.reported().device_memory();
  return memory && memory->peak > 0 ? &*memory : nullptr;
}

void raise(std::optional<core::Bytes>& peak, core::Bytes other) {
  peak = std::max(peak.value_or(0), other);
}

void tell_host_memory(const Program& program, const process::Memory& host, Account& account) {
  const auto& earlier = program.earlier_peak();
  account.memory_source = host.how;
  if (earlier) account.memory_source += " of a kept process, where it grew";
  if (!earlier || host.peak > *earlier) raise(account.memory_peak, host.peak);
}

}  // namespace

void MemoryAccount::tell(const Program& program, Account& account) {
  const gpu::GpuAccount gpus = tell_gpus(program, account);
  const client::DeviceMemory* client = reported_memory(program);
  if (client) {
    raise(account.memory_peak, client->peak);
    account.memory_source = client->how;
    if (account.gpus.empty()) account.device = client->device;
  } else if (!account.gpus.empty()) {
    if (gpus.peak) raise(account.memory_peak, *gpus.peak);
    account.memory_source = gpus.source;
  }
  account.memory_capacity = client && client->capacity ? client->capacity : gpus.capacity;
  const auto host = program.memory();
  if (!host) return;
  if (!client && account.gpus.empty()) return tell_host_memory(program, *host, account);
  raise(account.host_memory, host->peak);
}

gpu::GpuAccount MemoryAccount::tell_gpus(const Program& program, Account& account) {
  const std::vector<gpu::Use> uses = program.gpu_watch()->uses();
  if (uses.empty()) return {};
  gpu::GpuAccount found = gpu_account(uses, program.gpu_watch()->preallocator(), batch_, history_);
  gpu::add_run(found.gpus, account.gpus);  // in addition to earlier runs of this trial
  if (!found.note.empty() && !reported_memory(program)) account.note = found.note;
  return found;
}

// For what limits it, as chosen by tell().
void MemoryAccount::look(const Program& program) {
  constexpr double interval_seconds = 0.05;
  const double now = process::now_seconds();
  if (now < next_look_at_) return;
  next_look_at_ = now + interval_seconds;
  if (const client::DeviceMemory* client = reported_memory(program)) {
    if (client->allocated) tensors_.add(now, *client->allocated);
    return course_.add(now, client->peak);
  }
  core::Bytes most = 0;
  for (const gpu::Use& use : program.gpu_watch()->uses())
    most = std::max(most, use.peak.value_or(0));
  if (most == 0 && !program.earlier_peak())
    if (const auto host = program.memory()) most = host->peak;
  if (most > 0) course_.add(now, most);
}

void MemoryAccount::ran_out(const Program& program) {
  if (const auto& failed = program.reported().failed())
    lack_.read(failed->reason);
  else
    lack_ = program.printed().findings().memory_message;
}

// A language's own memory on the host rises for many reasons.
bool MemoryAccount::is_on_device(const Program& program) {
  return program.reported().device_memory() || !program.gpu_watch()->uses().empty();
}

void MemoryAccount::tell_needs(const Program& program, Account& account) const {
  // In the same measure as its memory: of its allocator, or of the process.
  const bool of_process = !reported_memory(program);
  account.memory_wanted = lack_.wanted(of_process);
  if (const auto capacity = lack_.capacity(of_process))
    account.memory_capacity = std::min(account.memory_capacity.value_or(*capacity), *capacity);
  account.memory_margin = margin(program);
  account.inputs_vary = is_on_device(program) && course_.rises_in_jumps();
}

// An allocator's cache may grow with every new size and is given back before memory runs out: it
// needs no more than its tensors grow by, and as much again as it wastes now.
std::optional<core::Bytes> MemoryAccount::margin(const Program& program) const {
  const auto grown = course_.margin(), of_tensors = tensors_.margin();
  const auto& client = program.reported().device_memory();
  if (!grown || !of_tensors || !client || !client->allocated) return grown;
  return std::min(*grown, *of_tensors + client->peak - std::min(client->peak, *client->allocated));
}

}  // namespace sweetspot::workload::command
