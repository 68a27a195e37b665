#pragma once
#include <memory>
#include <span>

#include "engine/trainer.h"

namespace sweetspot::engine::cpu {

// Samples evaluated in one pass.
constexpr std::int64_t evaluation_batch = 256;

// Plans without allocating: what a trainer with this micro-batch (and, on request, an evaluation
// plan of evaluation_batch samples) will hold.
std::unique_ptr<Plan> plan(const model::Network& network, const TrainerOptions& options,
                           std::int64_t micro_batch, bool with_evaluation);

// What a trainer with all these plans at once will hold.
struct Plans {
  std::span<const std::int64_t> micro_batches{};
  bool evaluation = false;
  bool evaluation_gradients = false;
};
core::MemoryByUse planned_memory(const model::Network& network, const TrainerOptions& options,
                                 const Plans& plans);

// InputError for a precision that this CPU does not have.
std::unique_ptr<Trainer> make_trainer(const model::Network& network, const TrainerOptions& options);

// The kernels that run here, and why: for doctor.
struct Backend {
  std::string library;
  std::string isa;  // "avx512", "avx2", "neon", "generic"
  std::string reason;
  std::string bf16;         // "avx512bf16"; empty: none
  std::string bf16_reason;  // why, or why not: one sentence
};
Backend backend();

}  // namespace sweetspot::engine::cpu
