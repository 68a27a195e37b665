#pragma once
#include "engine/cuda/streams.h"

namespace sweetspot::engine::cuda {

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
