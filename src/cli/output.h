#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/buffer.h"

namespace sweetspot::cli {

// Results on stdout, messages on stderr. A failing stdout is remembered and reported at the end, so
// that a training run is not lost to a full disk under its log.
class Output {
 public:
  void print(std::string_view text);  // flushed immediately
  void print_json(const nlohmann::ordered_json& result);
  bool has_failed() const { return error_ != 0; }  // nobody reads any more
  void finish();  // MachineError if anything could not be written; silent if the reader left

  static void talk(std::string_view line);

 private:
  int error_ = 0;
};

// An object that begins with its schema version.
nlohmann::ordered_json result_object();

constexpr core::Use uses[] = {core::Use::weights,     core::Use::gradients, core::Use::optimizer,
                              core::Use::activations, core::Use::workspace, core::Use::input};

}  // namespace sweetspot::cli
