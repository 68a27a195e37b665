#pragma once
#include <optional>
#include <string>
#include <vector>

#include "advise/arrival.h"

namespace sweetspot::advise {

// Why a study has no answer: nothing shows that the program uses its batch. Stored in its place.
struct Doubt {
  Arrival arrival = Arrival::silent;
  std::vector<BatchSigns> batches;  // what it showed, ascending
  std::string handover;             // "as argument 3, behind --batch-size"
  std::optional<double> scale;
  std::optional<std::int64_t> used;
  bool operator==(const Doubt&) const = default;
};

// What is the matter, what shows it, and what to do, for people.
std::string words(const Doubt& doubt);

// As the store keeps it and `--json` prints it.
std::string to_json(const Doubt& doubt);
// Nothing of a text that is no such thing.
std::optional<Doubt> doubt_from_json(const std::string& text);

}  // namespace sweetspot::advise
