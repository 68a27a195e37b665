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
  TrainerOptions trainer;  // `threads` means nothing here
  Precision precision = Precision::fp32;
  int device = 0;
};

// A GPU as the driver shows it.
struct Device {
  int index = 0;
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0, multiprocessors = 0;
  core::Bytes memory = 0;
  int driver = 0, runtime = 0;  // 13000 is 13.0
  std::string bus_id;           // "0000:1b:00.0", as other libraries know it
  // At its highest clocks; 0 where the driver does not tell.
  double clock_hz = 0, memory_bytes_per_second = 0;
};
// What its multiprocessors could do at that clock; nothing where it is not known.
std::optional<double> peak_flops_per_second(const Device& device, Precision precision);
struct Availability {
  std::vector<Device> devices;  // those that can be used
  std::string reason;           // why there is none: one sentence; empty if there is one
};
// Never throws: no toolkit at build time, no driver, an old one, no device, or a device too old are
// sentences.
Availability available();

// What a run of this process may still take on the device: other processes' memory counts against
// it, and so does this one's context, which is made if it is not there yet.
core::Bytes free_memory(int device);

// Samples evaluated in one pass.
constexpr std::int64_t evaluation_batch = 1000;

// What a trainer with this micro-batch will hold on the device, without touching any device.
std::unique_ptr<Plan> plan(const model::Network& network, const Options& options,
                           std::int64_t micro_batch, bool with_evaluation);

// A data set's split as it is uploaded: bytes (used as [0, 1]) or floats, channels last; labels or
// targets. The caller's memory is free again when upload() returns.
struct ResidentSamples {
  std::int64_t count = 0;
  std::span<const std::uint8_t> bytes;
  std::span<const float> floats;
  std::span<const std::int32_t> labels;
  std::span<const float> targets;
};
enum class Split { train, test };
// What upload() takes on the device: the samples, the answers, and for training an epoch's order.
core::Bytes resident_bytes(const ResidentSamples& samples, Split split);

// A trainer that also runs epochs over a data set which stays on the device. An epoch is a few
// graph launches: batches are gathered there, and step count, position and loss scale live there,
// so that no step waits for the host.
//
//   auto trainer = cuda::make_trainer(network, options);
//   trainer->upload(Split::train, train), trainer->upload(Split::test, test);
//   for (epoch …) {
//     data::shuffle(order, seed, epoch);              // while the device is still at the last
//     epoch trainer->start(order, batch, batch / accumulation); … // the host is free
//     std::vector<StepResult> steps = trainer->finish();
//     StepResult test = trainer->evaluate_resident();
//   }
class ResidentTrainer : public Trainer {
 public:
  virtual void upload(Split split, const ResidentSamples& samples) = 0;

  // Queues the steps that take the samples of `order` once, `batch` at a time; the last one takes
  // what is left. Returns at once; a step already queued is not waited for. The results are the
  // same bit for bit as those of step() over the same samples.
  virtual void start(std::span<const std::uint32_t> order, std::int64_t batch,
                     std::int64_t micro_batch) = 0;
  // Queues one step over a batch of the host, for data that does not fit on the device. Returns
  // when the batch's memory is free again, while the step before it may still run: two buffers take
  // turns between the host, the copy and the step. The results are the same bit for bit as those of
  // step(); the batch before the last decides how long this waits.
  virtual void queue(const BatchView& batch, std::int64_t micro_batch) = 0;
  // Waits for all that was started or queued, and gives each step's loss and correct answers,
  // without times.
  virtual std::vector<StepResult> finish() = 0;

  // Loss and accuracy over the whole test split.
  virtual StepResult evaluate_resident() = 0;

  // fp16: what the loss is multiplied by now, and how many updates were left out for it.
  virtual double loss_scale() const = 0;
  virtual std::int64_t skipped_updates() const = 0;

  // What the trainer holds on the device now, by use; the tests hold plan().memory() to it.
  virtual core::MemoryByUse memory() const = 0;
};

// InputError where the device cannot be used, in available()'s words.
std::unique_ptr<ResidentTrainer> make_trainer(const model::Network& network,
                                              const Options& options);

}  // namespace sweetspot::engine::cuda
