#pragma once
#include <optional>
#include <string>
#include <vector>

#include "advise/batch_use.h"

namespace sweetspot::advise {

// Why a study has no answer: nothing shows that the program uses its batch. Stored in its place.
struct Doubt {
  BatchUse arrival = BatchUse::silent;
  std::vector<BatchSigns> batches;  // what it showed, ascending
  std::string handover;             // "as argument 3, behind --batch-size"
  std::optional<double> scale;
  std::optional<std::int64_t> used;
  bool operator==(const Doubt&) const = default;
};

// The problem, the evidence, and what to do, for users.
std::string words(const Doubt& doubt);

// The format of the store and of `--json`.
std::string to_json(const Doubt& doubt);
// nullopt for any other text.
std::optional<Doubt> doubt_from_json(const std::string& text);

}  // namespace sweetspot::advise
