#include "workload/command/output/keras_epochs.h"

#include "workload/command/output/cursor.h"

namespace sweetspot::workload::command::output {

void KerasEpochs::read_line(std::string_view text) {
  Cursor cursor(text);
  if (cursor.take("Epoch ")) {
    if (!cursor.take_count()) return;
    cursor.take_spaces();
    if (!cursor.take("/")) return;
    cursor.take_spaces();
    if (cursor.take_count() && trimmed(cursor.rest()).empty()) any_announced_ = announced_ = true;
  } else if (cursor.take("Train on ")) {
    const auto samples = cursor.take_count();
    if (samples && cursor.take(" samples")) samples_ = samples;
  }
}

bool KerasEpochs::admits(Refresh& refresh) {
  const bool begins =
      announced_ || refresh.total != total_ || refresh.count < count_ || refresh.whole_epoch;
  if (begins) in_training_ = announced_ || !any_announced_;
  announced_ = false;
  total_ = refresh.total;
  count_ = refresh.count;
  if (samples_ && refresh.total == samples_) refresh.counts = Counts::samples;
  return in_training_;
}

}  // namespace sweetspot::workload::command::output
