#pragma once
#include "engine/extents.h"

namespace sweetspot::engine::cpu {

// A convolution from many channels to few, as at the end of an autoencoder or of a network that
// makes images, has columns that are mostly padding: 16 for one or three. It runs as the transposed
// one of a convolution from these few channels instead, whose columns are all their taps side by
// side: 25 of 32 for one channel and a kernel of 5×5.
bool runs_from_few(const ConvGeometry& geometry);
// The convolution whose gradient it is. Its weights are flipped, with inputs and outputs exchanged.
ConvGeometry from_few(const ConvGeometry& geometry);

}  // namespace sweetspot::engine::cpu
