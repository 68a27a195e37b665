#include "advise/answer.h"

#include <array>
#include <type_traits>

#include "advise/answer_fields.h"

namespace sweetspot::advise {
namespace {

constexpr std::array<std::string_view, 5> kinds{"none", "recommendation", "time_to_target",
                                                "critical_batch", "doubt"};

// With a content of that kind.
bool begin(Answer& answer, const std::string& kind) {
  if (kind == "recommendation") answer.content = Recommendation();
  if (kind == "time_to_target") answer.content = TimeToTarget();
  if (kind == "critical_batch") answer.content = CriticalBatchAnswer();
  if (kind == "doubt") answer.content = Doubt();
  return kinds[answer.content.index()] == kind;
}

void content_field(auto& form, auto& answer) {
  std::visit(
      [&]<class T>(T& content) {
        if constexpr (!std::is_same_v<std::remove_const_t<T>, std::monostate>)
          form.group("content", [&](auto& inner) { add_fields(inner, content); });
      },
      answer.content);
}

}  // namespace

std::string to_json(const Answer& answer) {
  return written_json([&](JsonWriter& form) {
    form.field("kind", kinds[answer.content.index()]);
    form.text("message", answer.message);
    content_field(form, answer);
  });
}

std::optional<Answer> answer_from_json(const std::string& text) {
  Answer answer;
  const bool is_answer = read_json(text, [&](JsonReader& form) {
    std::string kind;
    form.field("kind", kind);
    form.text("message", answer.message);
    if (form.require(begin(answer, kind))) content_field(form, answer);
  });
  return is_answer ? std::optional(std::move(answer)) : std::nullopt;
}

Answer answer_of(const trial::Study& study) {
  Answer answer = answer_from_json(study.answer).value_or(Answer());
  answer.end = study.end;
  return answer;
}

}  // namespace sweetspot::advise
