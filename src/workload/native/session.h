#pragma once
#include <map>
#include <memory>
#include <utility>

#include "workload/native/shared_trainer.h"
#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// Opens sessions of a native workload, of which those that may share a trainer do. On a GPU a step
// is as many updates as make it worth timing: they run without waiting for the host, as in
// training.
class Sessions {
 public:
  // `run` must outlive the session.
  std::unique_ptr<Session> open(const Run& run, const Options& options);

 private:
  using Key = std::pair<engine::Precision, std::uint64_t>;  // and the seed
  std::map<Key, std::weak_ptr<SharedTrainer>> trainers_;    // the sessions' own
};

}  // namespace sweetspot::workload::native
