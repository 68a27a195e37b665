#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sweetspot::collective {

// Floats that all ranks read and change at any time, without the others' participation (one-sided).
class SharedFloats {
 public:
  virtual ~SharedFloats() = default;
  // A consistent copy, and the number of changes made until then.
  virtual std::uint64_t read(std::span<float> to) = 0;
  // Adds to all of them as one change; returns the number of changes made before it.
  virtual std::uint64_t add(std::span<const float> changes) = 0;
};

// One of several ranks that train together. Every rank makes the same calls in the same order, with
// spans of the same size; each rank's group is used by one thread at a time. Spans are in host
// memory; NCCL also takes device memory. MachineError if the others cannot be reached.
class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_size() const = 0;  // ranks that share this machine

  // The sum over all ranks in place, bitwise the same on each: starts here and is complete after
  // wait(). Several may be in flight, and are waited for in the order they began. The group owns
  // the span until then, and only begin_all_reduce and wait may be called.
  using Ticket = std::uint64_t;
  virtual Ticket begin_all_reduce(std::span<float> values) = 0;
  virtual void wait(Ticket ticket) = 0;
  void all_reduce(std::span<float> values) { wait(begin_all_reduce(values)); }

  // A few numbers at once: counts and losses, which floats would round.
  virtual void sum(std::span<double> values) = 0;
  virtual void broadcast(std::span<float> values, int root) = 0;
  virtual void barrier() = 0;

  // Starts with the values of rank 0. InputError for a group that does not support it.
  virtual std::unique_ptr<SharedFloats> share(std::span<const float> values) = 0;

  // This rank cannot continue: ends the others too, immediately or at their next call.
  virtual void abandon(int exit_code, const std::string& reason) = 0;
};

// Ranks that train on GPUs: they also sum values in GPU memory, in the order of a stream, so that
// neither the host nor the GPU's other streams wait.
class GpuGroup : public Group {
 public:
  // The stream of queued sums, a cudaStream_t. By events, the caller makes it wait for the values,
  // and its own streams for the sums.
  virtual void* stream() const = 0;
  // Sums these spans of GPU memory in place, behind what is on the stream already; returns
  // immediately. Also while the stream is being captured into a graph: then each launch of the
  // graph sums, as long as this group exists. Until the stream is idle, no other call is made.
  virtual void queue_all_reduce(std::span<const std::span<float>> values) = 0;
  // When the stream is idle: MachineError if one of the queued sums failed.
  virtual void check_queued() = 0;
};

}  // namespace sweetspot::collective
