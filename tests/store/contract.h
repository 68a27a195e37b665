#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "store/store.h"

namespace sweetspot::tests {

// A location for a store, empty at first.
class Place {
 public:
  virtual ~Place() = default;
  // The same store each time, as another process would open it.
  virtual std::shared_ptr<store::Store> open() const = 0;
  virtual bool is_untouched() const = 0;
};

// A kind of store that is tested against the contract.
struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<Place>()> make_place;
};
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  std::shared_ptr<store::Store> open() const { return place_->open(); }
  std::unique_ptr<Place> place_ = GetParam().make_place();
};

class QueueContract : public StoreContract {};

inline std::string kind_name(const testing::TestParamInfo<StoreKind>& kind) {
  return kind.param.name;
}

}  // namespace sweetspot::tests
