#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace sweetspot::workload::command::output {

enum class Format : std::uint8_t {
  tqdm,
  keras,
  ultralytics,
  rich,
  samples_log,
  step_log,
  step_line,
  regex
};
enum class Counts : std::uint8_t { updates, samples, epochs, something_else };

// One refresh of a counter, as printed. The description points into the text it was read from.
struct Refresh {
  Format format = Format::tqdm;
  Counts counts = Counts::updates;
  std::string_view description = {};
  std::string_view subject = {};  // of a plain line: the first word after its counter
  std::int64_t count = 0;
  std::optional<std::int64_t> total = {};
  bool whole_epoch = false;       // Keras with verbose=2 prints each epoch once, at its end
  bool after_validation = false;  // Keras ends the bar of an epoch after its validation
};

// Each reads one format, or nothing.
std::optional<Refresh> read_tqdm(std::string_view text);
std::optional<Refresh> read_keras(std::string_view text);
// Ultralytics' own bar, and rich's as Lightning uses it.
std::optional<Refresh> read_heavy_bar(std::string_view text);
// "Train Epoch: 1 [640/60000 (1%)]": PyTorch's examples, a counter of samples.
std::optional<Refresh> read_samples_log(std::string_view text);
std::optional<Refresh> read_step_log(std::string_view text);

// "step 12/100": the plainest of all, and so the last to be tried, on whole lines alone. A list of
// stages, "Step 2/3: building the model", reads the same but for its subject, which changes.
std::optional<Refresh> read_step_line(std::string_view text);

// Whichever format the text is in, that last one apart.
std::optional<Refresh> read_refresh(std::string_view text);

}  // namespace sweetspot::workload::command::output
