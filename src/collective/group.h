#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sweetspot::collective {

// Floats that all ranks read and change whenever they like, without the others taking part.
class SharedFloats {
 public:
  virtual ~SharedFloats() = default;
  // All of them as they were between two changes, and how many changes were made until then.
  virtual std::uint64_t read(std::span<float> to) = 0;
  // Adds to all of them, as one change; tells how many were made before it.
  virtual std::uint64_t add(std::span<const float> changes) = 0;
};

// One of several ranks that train together. Every rank makes the same calls in the same order, with
// spans of the same size; each rank's group is used by one thread at a time. Spans lie in host
// memory; NCCL takes such of its device too. MachineError where the others cannot be reached.
class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_size() const = 0;  // ranks that share this machine

  // The sum over all ranks in place, with the same bits on each of them: begins here and is there
  // after wait(). Several may be under way, and are waited for in the order they began. The span is
  // the group's until then, and nothing else is asked of it but begin_all_reduce and wait.
  using Ticket = std::uint64_t;
  virtual Ticket begin_all_reduce(std::span<float> values) = 0;
  virtual void wait(Ticket ticket) = 0;
  void all_reduce(std::span<float> values) { wait(begin_all_reduce(values)); }

  // A few numbers at once: counts and losses, which floats would round.
  virtual void sum(std::span<double> values) = 0;
  virtual void broadcast(std::span<float> values, int root) = 0;
  virtual void barrier() = 0;

  // Those of rank 0 to begin with. InputError for a group that has none.
  virtual std::unique_ptr<SharedFloats> share(std::span<const float> values) = 0;

  // This rank cannot go on: ends the others too, as soon as they ask for anything or at once.
  virtual void abandon(int exit_code, const std::string& reason) = 0;
};

}  // namespace sweetspot::collective
