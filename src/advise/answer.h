#pragma once
#include <string>
#include <variant>

#include "advise/advise.h"
#include "advise/batch_use.h"
#include "advise/critical_batch_answer.h"
#include "advise/time_to_target.h"
#include "trial/study.h"

namespace sweetspot::advise {

// The answer of a study, computed once and stored: everything that shows it renders this.
struct Answer {
  std::variant<std::monostate, Recommendation, TimeToTarget, CriticalBatchAnswer, Doubt> content{};
  trial::End end = trial::End::running;
  std::string message{};  // why there is no recommendation, or what failed; else empty

  // nullptr if it is another one.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&content);
  }
};

// As the store keeps it, next to the study's end: the kind of the content, the message, and the
// content as in `--json`.
std::string to_json(const Answer& answer);
// nullopt for any other text.
std::optional<Answer> answer_from_json(const std::string& text);

// Of a stored study; without content if there is none, or it cannot be read.
Answer answer_of(const trial::Study& study);

}  // namespace sweetspot::advise
