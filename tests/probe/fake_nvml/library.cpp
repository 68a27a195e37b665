// Replaces the driver's library. FAKE_NVML_AGE: 2 has every function, 1 the older names of some and
// not the newer functions, 0 none at all. If FAKE_NVML_FOLDER is set it reports the GPUs of that
// folder (folder.h), which the programs under test use by writing files.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "probe/fake_nvml/folder.h"
#include "probe/fake_nvml/state.h"

using sweetspot::probe::nvml::FieldValue;
using sweetspot::probe::nvml::Handle;
using sweetspot::probe::nvml::MemoryInfo;
using sweetspot::probe::nvml::MemoryInfo2;
using sweetspot::probe::nvml::PciInfo;
using sweetspot::probe::nvml::ProcessInfo;
using sweetspot::probe::nvml::ProcessUtilization;
using sweetspot::probe::nvml::Status;
using sweetspot::probe::nvml::Utilization;

namespace {

FakeNvml state;

template <class T>
Status answer(Handle handle, T* to, T value) {
  if (folder() && is_lost(handle)) return Status::gpu_is_lost;
  if (state.device == Status::ok) *to = value;
  return state.device;
}

[[maybe_unused]] Status answer_text(char* to, unsigned room, const char* text) {
  if (std::strlen(text) >= room) return Status::insufficient_size;
  std::strcpy(to, text);
  return Status::ok;
}

template <class T>
Status answer_list(const std::vector<T>& list, unsigned* count, T* to) {
  if (state.device != Status::ok) return state.device;
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (room < list.size()) return Status::insufficient_size;
  std::copy(list.begin(), list.end(), to);
  return Status::ok;
}

}  // namespace

extern "C" {

FakeNvml* fake_nvml_state() { return &state; }

#if FAKE_NVML_AGE >= 1
Status nvmlInit_v2() {
  std::atomic_ref(state.starts) += state.init == Status::ok;  // several threads may open it
  return state.init;
}
Status nvmlShutdown() { return ++std::atomic_ref(state.stops), Status::ok; }
Status nvmlDeviceGetCount_v2(unsigned* count) {
  if (folder()) return *count = folder_gpus(), Status::ok;
  *count = state.count;
  return state.count_status;
}
Status nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  if (folder()) return *handle = folder_gpu(index), Status::ok;
  *handle = reinterpret_cast<Handle>(&state + index);
  return state.handle;
}
Status nvmlDeviceGetMemoryInfo(Handle handle, MemoryInfo* memory) {
  return answer(handle, memory, {1000, 400, 600});
}
Status nvmlDeviceGetPowerUsage(Handle handle, unsigned* mw) { return answer(handle, mw, 300'000u); }
#endif

#if FAKE_NVML_AGE == 1
Status nvmlDeviceGetCurrentClocksThrottleReasons(Handle handle, unsigned long long* reasons) {
  return answer(handle, reasons, state.clock_reasons);
}
Status nvmlDeviceGetComputeRunningProcesses_v2(Handle, unsigned* count, ProcessInfo* list) {
  return answer_list(state.computing, count, list);
}
#endif

#if FAKE_NVML_AGE == 2
const char* nvmlErrorString(Status) { return "made-up trouble"; }
Status nvmlSystemGetDriverVersion(char* text, unsigned room) {
  return answer_text(text, room, "570.1");
}
Status nvmlDeviceGetName(Handle, char* text, unsigned room) {
  return answer_text(text, room, "NVIDIA Made-Up");
}
Status nvmlDeviceGetUUID(Handle, char* text, unsigned room) {
  return answer_text(text, room, "GPU-1-2");
}
Status nvmlDeviceGetPciInfo_v3(Handle, PciInfo* pci) {
  std::strcpy(pci->bus_id, "00000000:1B:00.0");
  return Status::ok;
}
Status nvmlDeviceGetMigMode(Handle handle, unsigned* now, unsigned* pending) {
  *pending = 0;
  if (folder()) return *now = instances_of(handle) > 0, Status::ok;
  return answer(handle, now, state.mig);
}
Status nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* count) {
  return folder() ? (*count = instances_of(handle), Status::ok) : Status::not_supported;
}
Status nvmlDeviceGetMigDeviceHandleByIndex(Handle parent, unsigned index, Handle* handle) {
  return folder() ? (*handle = instance_of(parent, index), Status::ok) : Status::not_supported;
}
Status nvmlDeviceGetMemoryInfo_v2(Handle handle, MemoryInfo2* memory) {
  if (memory->version != (40u | 2u << 24)) return Status::not_supported;
  if (folder()) return memory_of(handle, *memory);
  memory->total = 1000, memory->reserved = 150, memory->free = 400, memory->used = 600;
  return state.device;
}
Status nvmlDeviceGetUtilizationRates(Handle handle, Utilization* busy) {
  return answer(handle, busy, {state.gpu_percent, 12});
}
Status nvmlDeviceGetEnforcedPowerLimit(Handle handle, unsigned* mw) {
  return answer(handle, mw, 700'000u);
}
Status nvmlDeviceGetPowerManagementLimit(Handle handle, unsigned* mw) {
  if (folder()) return limit_of(handle, *mw);
  return answer(handle, mw, state.limit_mw);
}
Status nvmlDeviceGetPowerManagementLimitConstraints(Handle, unsigned* least, unsigned* most) {
  *least = 200'000, *most = 700'000;
  return state.device;
}
Status nvmlDeviceSetPowerManagementLimit(Handle handle, unsigned mw) {
  if (folder()) return set_limit(handle, mw);
  if (state.setting == Status::ok) state.limit_mw = mw;
  return state.setting;
}
Status nvmlDeviceGetTotalEnergyConsumption(Handle handle, unsigned long long* mj) {
  if (folder()) return energy_of(handle, *mj);
  return answer(handle, mj, state.energy_mj);
}
Status nvmlDeviceGetFieldValues(Handle handle, int count, FieldValue* field) {
  if (count != 1 || field->field != 186) return Status::not_supported;
  if (folder()) {
    field->status = power_of(handle, field->value.whole);
    return Status::ok;
  }
  field->status = state.instant;
  field->value.whole = 450'500;
  return state.device;
}
Status nvmlDeviceGetTemperature(Handle handle, unsigned sensor, unsigned* celsius) {
  return answer(handle, celsius, 40 + sensor);
}
Status nvmlDeviceGetClockInfo(Handle handle, unsigned clock, unsigned* mhz) {
  return answer(handle, mhz, clock == 1 ? 1980u : 3201u);
}
Status nvmlDeviceGetCurrentClocksEventReasons(Handle handle, unsigned long long* reasons) {
  return answer(handle, reasons, state.clock_reasons);
}
Status nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned* count, ProcessInfo* list) {
  if (folder()) {
    std::vector<ProcessInfo> found;
    const Status status = processes_of(handle, found);
    return status == Status::ok ? answer_list(found, count, list) : status;
  }
  return answer_list(state.computing, count, list);
}
Status nvmlDeviceGetGraphicsRunningProcesses_v3(Handle, unsigned* count, ProcessInfo* list) {
  return answer_list(state.drawing, count, list);
}
Status nvmlDeviceGetProcessUtilization(Handle, ProcessUtilization* list, unsigned* count,
                                       unsigned long long) {
  return answer_list(state.used, count, list);
}
#endif

}  // extern "C"
