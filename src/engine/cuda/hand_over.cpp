#include "engine/cuda/hand_over.h"

#include <algorithm>

namespace sweetspot::engine::cuda {

void hand_over_functions(Program& program) {
  const auto& ops = program.ops;
  for (std::size_t i = 0; i + 1 < ops.size(); ++i)
    if (const auto* product = dynamic_cast<const ProductOp*>(ops[i].get());
        product && ops[i + 1]->in() == product->out() && ops[i + 1]->passes_through_function())
      product->out()->gradient_function = product->function;
}

void hand_over_terms(Program& program, const Planner& planner) {
  const int terms = packed_terms(planner.math());
  for (std::size_t i = 1; i < program.ops.size() && terms <= 2; ++i) {
    Op &before = *program.ops[i - 1], &op = *program.ops[i];
    if (before.out() != op.in()) continue;
    const ValueTerms as{terms, planner.math() == Math::fp16,
                        program.micro_batch * op.in()->floats()};
    if (before.writes_terms() && op.reads_terms(planner) &&
        (op.packs_floats() || before.writes_terms_freely()))
      op.in()->value_terms = as;
    const bool sums = before.reads_gradient_sums();
    if (program.training && before.reads_gradient_terms(planner) &&
        op.writes_gradient_terms(planner) && (op.applies_codes() || !before.routes_gradient()) &&
        (op.writes_gradient_sums() || !sums))
      op.in()->gradient_terms = as,
      op.in()->gradient_sum_slices = sums ? op.gradient_sum_slices(planner) : 0;
  }
}

void leave_updates(Program& program, Math math) {
  const auto& ops = program.ops;
  program.first_overflow = ops.size();
  if (math != Math::fp16) return;
  const auto first = std::ranges::find_if(ops, [](const auto& op) { return op->rounds(); });
  program.first_overflow = static_cast<std::size_t>(first - ops.begin());
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (i > program.first_overflow ||
        std::any_of(ops.begin() + static_cast<std::ptrdiff_t>(i), ops.end(),
                    [](const auto& op) { return op->shows_overflow_late(); }))
      ops[i]->leave_update();
}

}  // namespace sweetspot::engine::cuda
