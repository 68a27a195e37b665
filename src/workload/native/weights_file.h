#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "engine/trainer.h"

namespace sweetspot::workload::native {

// Weights as safetensors: eight bytes of header length (little endian), a JSON header, the numbers.
// Tensors are named as Keras names its variables and are all F32.

// Throws if `file` could not be written later, so that no training is lost.
void check_can_save(const std::filesystem::path& file);

// Throws what load_weights() would throw for any model, so that errors are reported early.
void check_can_load(const std::filesystem::path& file);

// Replaces `file` atomically: the old one stays intact until the new one is on disk. MachineError
// if it cannot be written; nothing is left behind.
void save_weights(const std::filesystem::path& file, std::string_view model,
                  std::span<const engine::Variable> variables);

// The values of `file` for these variables; InputError if it is not a safetensors file or not of
// this model.
std::vector<engine::Variable> load_weights(const std::filesystem::path& file,
                                           std::vector<engine::Variable> variables);

}  // namespace sweetspot::workload::native
