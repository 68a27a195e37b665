#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "core/units.h"
#include "engine/cuda/device.h"

namespace sweetspot::engine::cuda {

// Blocks of a first stream go before those of the others.
enum class Priority { first, other };

class Stream {
 public:
  explicit Stream(Priority priority = Priority::first) {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "its stream");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                       priority == Priority::first ? greatest : least),
          "its stream");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A point on a stream that the host or another stream can wait for. Counts as passed until it is
// recorded.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "an event"); }
  void hold(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, event_, 0), "an event");
  }
  void wait(const char* doing) const { check(cudaEventSynchronize(event_), doing); }

 private:
  cudaEvent_t event_ = nullptr;
};

// Timestamps on a stream.
class Clock {
 public:
  explicit Clock(cudaStream_t stream) : stream_(stream) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  ~Clock() {
    for (cudaEvent_t e : events_) cudaEventDestroy(e);
  }
  void start() { used_ = 0; }
  std::size_t mark() {
    if (used_ == events_.size()) {
      events_.emplace_back();
      check(cudaEventCreate(&events_.back()), "a clock");
    }
    check(cudaEventRecord(events_[used_], stream_), "its clock");
    return used_++;
  }
  std::size_t marks() const { return used_; }
  core::Seconds between(std::size_t a, std::size_t b) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[a], events_[b]), "its clock");
    return core::Seconds(milliseconds * 1e-3);
  }

 private:
  cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

// Page-locked host memory, for asynchronous copies.
template <class T>
class Pinned {
 public:
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(data_); }
  T* data() const { return data_; }
  void resize(std::size_t count) {
    if (count <= count_) return;
    cudaFreeHost(data_);
    data_ = nullptr, count_ = 0;
    check(cudaMallocHost(&data_, count * sizeof(T)), "page-locked memory");
    count_ = count;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// A stream next to the main one for what the main one does not wait for before it joins. Outside
// of captured graphs and inside of them.
class Branch {
 public:
  // Lets it wait for all that `from` was given so far.
  void fork(cudaStream_t from) {
    forked_.record(from), forked_.hold(stream_);
    open_ = true;
  }
  // Lets `to` wait for all that it was given.
  void join(cudaStream_t to) {
    joined_.record(stream_), joined_.hold(to);
    open_ = false;
  }
  bool open() const { return open_; }
  operator cudaStream_t() const { return stream_; }

 private:
  Stream stream_{Priority::other};
  Event forked_, joined_;
  bool open_ = false;
};

// Of a backward pass: weight gradients, and the updates of weights that are no longer read.
struct Branches {
  Branch gradients, updates;
  bool joined = false;  // since the last launch of the main stream

  void join(cudaStream_t to) {
    for (Branch* branch : {&gradients, &updates})
      if (branch->open()) branch->join(to), joined = true;
  }
};

}  // namespace sweetspot::engine::cuda
