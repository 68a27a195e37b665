#pragma once
#include "study/loop.h"

namespace sweetspot::cli {

// For the shell: of a study that ended so, and `when_whole` of one that came to its end.
int end_exit_code(study::End end, int when_whole);

}  // namespace sweetspot::cli
