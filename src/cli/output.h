#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sweetspot::cli {

// Results on stdout, talk on stderr. A failing stdout is remembered and told at the end, so that a
// training run is not lost to a full disk under its log.
class Output {
 public:
  void print(std::string_view text);  // at once, for whoever reads along
  void print_json(const nlohmann::ordered_json& result);
  bool has_failed() const { return error_ != 0; }  // nobody reads on
  void finish();  // MachineError if any of it could not be written; silent where the reader left

  static void talk(std::string_view line);

 private:
  int error_ = 0;
};

}  // namespace sweetspot::cli
