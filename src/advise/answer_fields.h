#pragma once
#include "advise/answer.h"
#include "advise/json_form.h"

// The JSON of each kind of answer, in the file that declares its fields. A reader rejects what
// tables and charts could not rely on.
namespace sweetspot::advise {

void add_fields(JsonWriter& form, const Recommendation& made);
void add_fields(JsonReader& form, Recommendation& made);
void add_fields(JsonWriter& form, const TimeToTarget& made);
void add_fields(JsonReader& form, TimeToTarget& made);
void add_fields(JsonWriter& form, const CriticalBatchAnswer& made);
void add_fields(JsonReader& form, CriticalBatchAnswer& made);
void add_fields(JsonWriter& form, const Doubt& doubt);
void add_fields(JsonReader& form, Doubt& doubt);

// Why a search was incomplete; "no" if it was not.
template <class Form>
void cut_short_field(Form& form, auto& cut_short) {
  std::string text(cut_short ? name(*cut_short) : "no");
  form.field("cut_short", text);
  if constexpr (Form::reads) {
    cut_short = trial::end_named(text);
    form.require(cut_short ? is_cut_short(*cut_short) : text == "no");
  }
}

}  // namespace sweetspot::advise
