#pragma once
#include <vector>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// The layer of this class with this configuration, as one or several internal layers; rejects every
// field that is not implemented. The class must be one of known_layers().
std::vector<LayerKind> read_layer(const std::string& class_name, Fields& config,
                                  const Shape& input);
std::vector<std::string_view> known_layers();

// Readers for one class each, grouped by what they have in common.
using Read = std::vector<LayerKind> (*)(Fields& config, const Shape& input);
struct Reader {
  std::string_view class_name;
  Read read;
};
std::vector<Reader> convolution_readers();  // convolutions.cpp
std::vector<Reader> shaping_readers();      // shaping.cpp: what moves values and computes nothing

// "valid" or "same".
Padding read_padding(Fields& config);
void only_channels_last(Fields& config);
// Rejects an input that is not an image, or not a sequence.
void need_image(const Fields& config, const Shape& input);
void need_sequence(const Fields& config, const Shape& input);
// A reader with that check first.
template <Read read>
std::vector<LayerKind> of_image(Fields& config, const Shape& input) {
  need_image(config, input);
  return read(config, input);
}
template <Read read>
std::vector<LayerKind> of_sequence(Fields& config, const Shape& input) {
  need_sequence(config, input);
  return read(config, input);
}
// 3 or [3, 4] of an image; 3 or [3] of a sequence, whose height is 1.
std::optional<Window> read_window(Fields& config, std::string_view field, const Shape& input);

}  // namespace sweetspot::model::keras
