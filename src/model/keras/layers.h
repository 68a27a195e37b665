#pragma once
#include <vector>

#include "model/keras/fields.h"

namespace sweetspot::model::keras {

// The layer of this class with this configuration, as one or several of ours that follow each
// other; refuses every field we do not honour. The class must be one of known_layers().
std::vector<LayerKind> read_layer(const std::string& class_name, Fields& config,
                                  const Shape& input);
std::vector<std::string_view> known_layers();

// The readers of one class each, by what they have in common.
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
// Refuses an input that is no image, or no sequence.
void need_image(const Fields& config, const Shape& input);
void need_sequence(const Fields& config, const Shape& input);
// A reader with that in front.
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
