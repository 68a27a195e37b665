#pragma once
#include <string>

#include "cli/output.h"
#include "workload/native/train.h"

namespace sweetspot::cli {

// "epoch 2/5 ━━━━╸──── 24,000/60,000 · loss 0.0812 · 9,123 samples/s · ETA 12.0 s", in at most
// `width` columns.
std::string progress_line(const workload::native::Progress& progress, std::size_t width);

// Shows progress on stderr: one line that is rewritten on a terminal, periodic plain lines
// elsewhere.
class LiveLine {
 public:
  LiveLine();
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const workload::native::Progress& progress);
  void clear();  // before anything else is printed

 private:
  bool terminal_ = false, colour_ = false, shown_ = false;
  core::Seconds next_plain_{0};
};

}  // namespace sweetspot::cli
