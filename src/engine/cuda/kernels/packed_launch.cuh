#pragma once
#include "engine/cuda/kernels/params.h"

// From sizes known at run time to kernels that are compiled for them.
namespace sweetspot::engine::cuda {

// The launch for a number of columns, one of these, and for a kind, both known when it is compiled.
template <int value>
struct Columns {
  static constexpr int count = value;
};
template <int... some, class Launch>
cudaError_t launch_columns(int columns, const Launch& launch) {
  cudaError_t result = cudaErrorInvalidValue;
  ((columns == some && (result = launch(Columns<some>{}), true)) || ...);
  return result;
}
template <GemmKind value>
struct Kind {
  static constexpr GemmKind kind = value;
};
template <class Launch>
cudaError_t launch_kind(GemmKind kind, const Launch& launch) {
  switch (kind) {
    case GemmKind::forward:
      return launch(Kind<GemmKind::forward>{});
    case GemmKind::data:
      return launch(Kind<GemmKind::data>{});
    case GemmKind::weights:
      return launch(Kind<GemmKind::weights>{});
  }
  return cudaErrorInvalidValue;
}

}  // namespace sweetspot::engine::cuda
