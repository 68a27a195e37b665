#pragma once
#include <memory>

#include "store/store.h"

namespace sweetspot::cli {

// The same writer; at its end, a study that has neither a trial nor an answer is removed from the
// store, which must outlive it: a run that came to nothing leaves nothing.
std::unique_ptr<store::Writer> removed_if_empty(store::Store& store,
                                                std::unique_ptr<store::Writer> writer);

}  // namespace sweetspot::cli
