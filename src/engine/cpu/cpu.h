#pragma once
#include <memory>

#include "engine/trainer.h"

namespace sweetspot::engine::cpu {

// Samples evaluated in one pass.
constexpr std::int64_t evaluation_batch = 256;

// Plans without allocating: what a trainer with this micro-batch (and, if asked, with an evaluation
// plan of evaluation_batch samples) will hold.
std::unique_ptr<Plan> plan(const model::Network& network, const TrainerOptions& options,
                           std::int64_t micro_batch, bool with_evaluation);

std::unique_ptr<Trainer> make_trainer(const model::Network& network, const TrainerOptions& options);

// What oneDNN will use here, and why: for doctor.
struct Backend {
  std::string library;  // "oneDNN 2.6.3 (OpenMP)"
  std::string isa;      // "avx512_core_bf16"
  std::string reason;
};
Backend backend();

}  // namespace sweetspot::engine::cpu
