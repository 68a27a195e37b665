#pragma once
#include "report/answer.h"
#include "trial/study.h"

namespace sweetspot::report {

// A stored study as an answer: what its command said of it, and its trials. A study that is still
// running has the status "running".
Answer answer_of(const trial::Study& study);

}  // namespace sweetspot::report
