#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/trainer.h"

namespace sweetspot::engine::cuda {

using engine::name;
using engine::Precision;
using engine::precisions;

struct Options {
  TrainerOptions trainer;  // `threads` is ignored here
  Precision precision = Precision::fp32;
  int device = 0;
};

// A GPU as reported by the driver.
struct Device {
  int index = 0;
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0, multiprocessors = 0;
  core::Bytes memory = 0;
  int driver = 0, runtime = 0;  // 13000 is 13.0
  std::string bus_id;           // "0000:1b:00.0", as in other libraries
  // At its highest clocks; 0 if the driver does not report them.
  double clock_hz = 0, memory_bytes_per_second = 0;
};
// The peak of its multiprocessors at that clock; nullopt if unknown.
std::optional<double> peak_flops_per_second(const Device& device, Precision precision);
struct Availability {
  std::vector<Device> devices;  // the usable ones
  std::string reason;           // why there is none: one sentence; empty if there is one
};
// Never throws: no toolkit at build time, no driver, an old one, no device, or a device too old are
// reported as sentences.
Availability available();

// What this process may still allocate on the device, after other processes' memory and this one's
// context, which is created if needed.
core::Bytes free_memory(int device);

// Samples evaluated in one pass.
constexpr std::int64_t evaluation_batch = 1000;

// What a trainer with this micro-batch will hold on the device, without touching any device.
std::unique_ptr<Plan> plan(const model::Network& network, const Options& options,
                           std::int64_t micro_batch, bool with_evaluation);
// What another plan adds to a trainer that has one.
core::MemoryByUse added_memory(const model::Network& network, const Options& options,
                               std::int64_t micro_batch);

// A data set's split for upload: bytes (used as [0, 1]) or floats, channels last; labels or
// targets. The caller may free its memory when upload() returns.
struct ResidentSamples {
  std::int64_t count = 0;
  std::span<const std::uint8_t> bytes;
  std::span<const float> floats;
  std::span<const std::int32_t> labels;
  std::span<const float> targets;
};
enum class Split { train, test };
// The device memory of upload(): the samples, the answers, and for training an epoch's order.
core::Bytes resident_bytes(const ResidentSamples& samples, Split split);

// A trainer that also runs epochs over a device-resident data set. An epoch is a few graph
// launches: batches are gathered on the device, which also keeps step count, position and loss
// scale, so that no step waits for the host.
//
//   auto trainer = cuda::make_trainer(network, options);
//   trainer->upload(Split::train, train), trainer->upload(Split::test, test);
//   for (epoch …) {
//     data::shuffle(order, seed, epoch);  // while the device still runs the last epoch
//     trainer->start(order, batch, batch / accumulation); …  // the host is free
//     std::vector<StepResult> steps = trainer->finish();
//     StepResult test = trainer->evaluate_resident();
//   }
class ResidentTrainer : public Trainer {
 public:
  virtual void upload(Split split, const ResidentSamples& samples) = 0;

  // Queues the steps that take the samples of `order` once, `batch` at a time; the last one takes
  // the rest. Returns immediately, without waiting for queued steps. The results are bitwise the
  // same as those of step() over the same samples.
  virtual void start(std::span<const std::uint32_t> order, std::int64_t batch,
                     std::int64_t micro_batch) = 0;
  // Queues one step over a host batch, for data that does not fit on the device. Returns when the
  // batch's memory may be reused, while the previous step may still run: two buffers alternate
  // between the host, the copy and the step. The results are bitwise the same as those of step().
  // Waits for the batch before the last.
  virtual void queue(const BatchView& batch, std::int64_t micro_batch) = 0;
  // accumulate() over these training samples, once what is queued is done.
  virtual StepResult accumulate_resident(std::span<const std::uint32_t> order,
                                         std::int64_t micro_batch) = 0;
  // Waits for everything started or queued, and returns each step's loss and correct count, without
  // times.
  virtual std::vector<StepResult> finish() = 0;

  // Loss and accuracy over the whole test split.
  virtual StepResult evaluate_resident() = 0;

  // fp16: the current loss scale, and the number of updates skipped for it.
  virtual double loss_scale() const = 0;
  virtual std::int64_t skipped_updates() const = 0;

  // What the trainer holds on the device now, by use; the tests compare plan().memory() with it.
  virtual core::MemoryByUse memory() const = 0;
};

// InputError if the device cannot be used, with available()'s reason.
std::unique_ptr<ResidentTrainer> make_trainer(const model::Network& network,
                                              const Options& options);

}  // namespace sweetspot::engine::cuda
