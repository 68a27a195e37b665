// read_keras on any bytes: a network that can be counted, or InputError; nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "model/counts.h"
#include "model/keras.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sweetspot;
  try {
    const model::Network network =
        model::read_keras({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    if (model::total_counts(network).training_flops < 0) __builtin_trap();
  } catch (const core::InputError&) {
  }
  return 0;
}
