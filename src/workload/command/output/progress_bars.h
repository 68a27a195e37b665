#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace sweetspot::workload::command::output {

enum class Format : std::uint8_t { tqdm, keras, ultralytics, rich, drawn, log_line, regex };
enum class Counts : std::uint8_t { updates, samples, epochs, something_else };

// One refresh of a bar, as printed. The description points into the source text.
struct Refresh {
  Format format = Format::tqdm;
  Counts counts = Counts::updates;
  std::string_view description = {};
  std::int64_t count = 0;
  std::optional<std::int64_t> total = {};
  bool whole_epoch = false;       // Keras with verbose=2 prints each epoch once, at its end
  bool after_validation = false;  // Keras ends the bar of an epoch after its validation
};

// Each parses one kind of bar, or returns nullopt.
std::optional<Refresh> read_tqdm(std::string_view text);
std::optional<Refresh> read_keras(std::string_view text);
// Ultralytics' own bar, and rich's as Lightning uses it.
std::optional<Refresh> read_heavy_bar(std::string_view text);
// Whichever of them the text is.
std::optional<Refresh> read_bar(std::string_view text);
// A program's own bar, with the counter after or before it. Only for whole lines that are none of
// those above: the beginning of a tqdm bar looks the same.
std::optional<Refresh> read_drawn_bar(std::string_view text);

}  // namespace sweetspot::workload::command::output
